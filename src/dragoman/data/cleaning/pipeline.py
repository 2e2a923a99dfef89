"""Build the filters that the settings enable, and drop the sentence pairs that they mark."""

from collections.abc import Iterator, Mapping
from functools import partial

import polars as pl

from dragoman.config.corpus import CleaningConfig
from dragoman.data.cleaning.filters.base import Filter
from dragoman.data.cleaning.filters.language import wrong_language
from dragoman.data.cleaning.filters.lengths_and_letters import (
    empty_side,
    few_letters,
    few_words,
    long_text,
    long_word,
    many_words,
    repetitive,
    uneven_lengths,
    wrong_script,
)
from dragoman.data.cleaning.filters.side_comparison import (
    control_characters,
    differing_addresses,
    differing_markup,
    differing_numbers,
    identical_sides,
    similar_sides,
)
from dragoman.data.reason_counts import MAX_EXAMPLES, Example, Tally
from dragoman.data.token_pairs import SIDES


def build_raw_filters(settings: CleaningConfig) -> dict[str, Filter]:
    """Return the filters for text that is not normalized yet, by reason."""
    return {"control characters": control_characters} if settings.control_characters else {}


def build_filters(settings: CleaningConfig, *, source: str, target: str) -> dict[str, Filter]:
    """Return the filters that the settings enable, by reason; cheap filters first.

    They require normalized text and can be pickled.
    """
    foreign = partial(wrong_script, source=source, target=target, minimum=settings.min_script)
    repeating = partial(repetitive, source=source, target=target, maximum=settings.max_repeats)
    misplaced = partial(wrong_language, source=source, target=target, certainty=settings.language_certainty)
    filters: dict[str, tuple[bool, Filter]] = {
        "empty": (True, empty_side),
        "too long": (True, partial(long_text, maximum=settings.max_characters)),
        "lengths differ": (True, partial(uneven_lengths, maximum=settings.max_ratio)),
        "markup differs": (settings.markup, differing_markup),
        "addresses differ": (settings.urls, differing_addresses),
        "too few words": (True, partial(few_words, minimum=settings.min_words)),
        "too many words": (True, partial(many_words, maximum=settings.max_words)),
        "word too long": (True, partial(long_word, maximum=settings.max_word_characters)),
        "sides the same": (settings.identical, identical_sides),
        "numbers differ": (settings.numbers, differing_numbers),
        "few letters": (settings.min_letters > 0, partial(few_letters, minimum=settings.min_letters)),
        "sides alike": (settings.max_similarity < 1, partial(similar_sides, maximum=settings.max_similarity)),
        "other script": (settings.min_script > 0, foreign),
        "repeats itself": (settings.max_repeats > 0, repeating),
        "other language": (settings.language, misplaced),
    }
    return {reason: filter_ for reason, (wanted, filter_) in filters.items() if wanted}


def apply_filters(frame: pl.DataFrame, filters: Mapping[str, Filter], file: str) -> tuple[pl.DataFrame, Tally]:
    """Apply the filters in order, each to the remaining pairs; return the remaining pairs and a tally of dropped ones.

    The frame has the columns ``source``, ``target`` and ``line``; other columns are kept unchanged.
    """
    tally = Tally()
    for reason, find in filters.items():
        drop = find(frame)
        if drop.any():
            tally.add(reason, int(drop.sum()), _examples(frame.filter(drop), file))
            frame = frame.filter(~drop)
    return frame, tally


def _examples(dropped: pl.DataFrame, file: str) -> Iterator[Example]:
    for line, source, target in dropped.head(MAX_EXAMPLES).select("line", *SIDES).rows():
        yield Example(file, line, source, target)
