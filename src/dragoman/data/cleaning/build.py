"""From settings to filters, in the order in which they are applied."""

from functools import partial

from dragoman.config.corpora import CleaningConfig
from dragoman.data.cleaning.addresses import other_addresses
from dragoman.data.cleaning.contents import control_characters, other_markup
from dragoman.data.cleaning.language import other_language
from dragoman.data.cleaning.lengths import empty, few_words, long_text, long_word, many_words
from dragoman.data.cleaning.numbers import other_numbers
from dragoman.data.cleaning.repetition import repeats
from dragoman.data.cleaning.scripts import few_letters, foreign_script, uneven
from dragoman.data.cleaning.sides import identical, similar
from dragoman.data.cleaning.suspects import Filter

__all__ = ["build_filters", "build_raw_filters"]


def build_raw_filters(settings: CleaningConfig) -> dict[str, Filter]:
    """Return the filters for text that is not normalised yet, by the reason they give."""
    return {"control characters": control_characters} if settings.control_characters else {}


def build_filters(settings: CleaningConfig, *, source: str, target: str) -> dict[str, Filter]:
    """Return the filters that the settings switch on, by the reason they give; the cheap ones come first.

    They expect normalised text. Each can be sent to another process.
    """
    foreign = partial(foreign_script, source=source, target=target, least=settings.min_script)
    repeating = partial(repeats, source=source, target=target, most=settings.max_repeats)
    misplaced = partial(other_language, source=source, target=target, certainty=settings.language_certainty)
    filters: dict[str, tuple[bool, Filter]] = {
        "empty": (True, empty),
        "too long": (True, partial(long_text, most=settings.max_characters)),
        "lengths differ": (True, partial(uneven, most=settings.max_ratio)),
        "markup differs": (settings.markup, other_markup),
        "addresses differ": (settings.urls, other_addresses),
        "too few words": (True, partial(few_words, least=settings.min_words)),
        "too many words": (True, partial(many_words, most=settings.max_words)),
        "word too long": (True, partial(long_word, most=settings.max_word_characters)),
        "sides the same": (settings.identical, identical),
        "numbers differ": (settings.numbers, other_numbers),
        "few letters": (settings.min_letters > 0, partial(few_letters, least=settings.min_letters)),
        "sides alike": (settings.max_similarity < 1, partial(similar, most=settings.max_similarity)),
        "other script": (settings.min_script > 0, foreign),
        "repeats itself": (settings.max_repeats > 0, repeating),
        "other language": (settings.language, misplaced),
    }
    return {reason: filter_ for reason, (wanted, filter_) in filters.items() if wanted}
