"""Align the words of sentence pairs by attention, in one or both directions; rank heads by gold links."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from dragoman.api.alignment.word_attention import (
    OnPairs,
    WordAttention,
    all_word_attention,
    attention_maps,
    check_choice,
    check_spaces,
    word_attention,
)
from dragoman.api.files.input_lines import STDIN, read_lines
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translator import Translator
from dragoman.config.alignment import AlignmentSettings, AttentionChoice, AttentionReading
from dragoman.errors import ConfigError
from dragoman.evaluation.alignment.error_rate import AlignmentScores, GoldLinks, Links, score_alignment
from dragoman.evaluation.alignment.formats import LinkFormat, parse_gold_links


def align_pairs(
    forward: Translator,
    backward: Translator | None,
    sources: Sequence[str],
    targets: Sequence[str],
    settings: AlignmentSettings | None = None,
    *,
    on_pairs: OnPairs | None = None,
) -> list[Links]:
    """Return links between the words of sources and of their translations, source first, counted from 0.

    `backward` translates from target to source; with it the links of both directions are combined. `on_pairs` receives
    the number of pairs of each batch; with two translators each pair counts twice.
    """
    settings = settings or AlignmentSettings()
    maps = attention_both_ways(forward, backward, sources, targets, settings, on_pairs=on_pairs)
    return [ahead.links_with(back, settings) for ahead, back in maps]


def attention_both_ways(
    forward: Translator,
    backward: Translator | None,
    sources: Sequence[str],
    targets: Sequence[str],
    settings: AlignmentSettings,
    *,
    on_pairs: OnPairs | None = None,
) -> list[tuple[WordAttention, WordAttention | None]]:
    """Return the attention maps of each pair in both directions, from which links can be extracted several times."""
    back_choice, by_spaces = settings.backward_choice, settings.by_spaces
    check_choice(forward, sources, targets, settings.choice, by_spaces=by_spaces)
    if backward is not None:
        check_choice(backward, targets, sources, back_choice, by_spaces=by_spaces, prefix="backward ")
    ahead = word_attention(forward, sources, targets, settings.choice, by_spaces=by_spaces, on_pairs=on_pairs)
    if backward is None:
        return [(each, None) for each in ahead]
    back = word_attention(backward, targets, sources, back_choice, by_spaces=by_spaces, on_pairs=on_pairs)
    _check_words(ahead, back)
    return list(zip(ahead, back, strict=True))


def read_gold(
    path: Path | str,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    form: LinkFormat | None = None,
    first: int | None = None,
    by_spaces: bool = True,
) -> list[GoldLinks]:
    """Return the gold links of each pair. A link to a missing word is a `DataError`.

    Words are delimited by white space; without `by_spaces` they may be others, and only negative numbers are errors.
    See `parse_gold_links` for the other arguments.
    """
    lines, name = read_lines(path), "standard input" if str(path) == STDIN else str(path)
    lengths = None
    if by_spaces:
        lengths = [(len(one.split()), len(other.split())) for one, other in zip(sources, targets, strict=True)]
    return parse_gold_links(lines, name=name, form=form, first=first, lengths=lengths, pairs=len(sources))


def _check_words(forward: Sequence[WordAttention], backward: Sequence[WordAttention]) -> None:
    """Raise `PairError` where two translators split a text into different words: their links cannot be combined."""
    for number, (ahead, back) in enumerate(zip(forward, backward, strict=True)):
        for words, others in ((ahead.source_words, back.target_words), (ahead.target_words, back.source_words)):
            if len(words) != len(others):
                raise PairError(
                    number,
                    f"both translators must split a text into the same words, got {len(words)} and {len(others)}; use "
                    "bundles with the same normalisation",
                )


@dataclass(frozen=True)
class RankedHead:
    """One attention map of a model, and the errors of its links."""

    choice: AttentionChoice
    error: AlignmentScores

    def to_json(self) -> dict[str, Any]:
        return asdict(self.choice) | self.error.to_json()


def rank_heads(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Sequence[GoldLinks],
    settings: AlignmentSettings | None = None,
    *,
    on_pairs: OnPairs | None = None,
) -> tuple[RankedHead, ...]:
    """Rank every layer, head, mean of heads and reading by alignment error rate. Requires the torch engine.

    The choice of a map and the symmetrization in `settings` have no effect. For a translator from target to source,
    swap the texts and the gold links.
    """
    settings = settings or AlignmentSettings(words="spaces")
    if len(gold) != len(sources):
        raise ConfigError(f"gold must have links for each pair, got {len(gold)} for {len(sources)}; count the lines")
    readings = frozenset(get_args(AttentionReading))
    found: dict[AttentionChoice, list[Links]] = {}
    for number, attention in enumerate(attention_maps(translator, sources, targets, on_pairs, readings)):
        for choice, each in all_word_attention(attention, by_spaces=settings.by_spaces):
            if settings.by_spaces:
                check_spaces(number, each, sources, targets)
            found.setdefault(choice, []).append(each.links(settings))
    ranked = [RankedHead(choice, score_alignment(links, gold)) for choice, links in found.items()]
    return tuple(sorted(ranked, key=lambda each: each.error.aer))  # ties: the lowest layer, the mean of its heads
