"""Align the words of sentence pairs by attention, in one or both directions; read gold links."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.api.alignment.word_attention import OnPairs, WordAttention, check_choice, word_attention
from dragoman.api.files.input_lines import STDIN, read_lines
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translator import Translator
from dragoman.config.alignment import AlignmentSettings
from dragoman.evaluation.word_alignment import GoldLinks, Links, parse_gold_links


def align_pairs(
    forward: Translator,
    backward: Translator | None,
    sources: Sequence[str],
    targets: Sequence[str],
    settings: AlignmentSettings | None = None,
    *,
    on_pairs: OnPairs | None = None,
) -> list[Links]:
    """Return the links of each pair, source first, counted from 0; those of both directions with `backward`."""
    settings = settings or AlignmentSettings()
    maps = attention_both_ways(forward, backward, sources, targets, settings, on_pairs=on_pairs)
    return [ahead.links_with(back, settings.symmetrization) for ahead, back in maps]


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
    choice, by_spaces = settings.choice, settings.by_spaces
    check_choice(forward, sources, targets, choice, by_spaces=by_spaces)
    if backward is not None:
        check_choice(backward, targets, sources, choice, by_spaces=by_spaces)
    ahead = word_attention(forward, sources, targets, choice, by_spaces=by_spaces, on_pairs=on_pairs)
    if backward is None:
        return [(each, None) for each in ahead]
    back = word_attention(backward, targets, sources, choice, by_spaces=by_spaces, on_pairs=on_pairs)
    _check_words(ahead, back)
    return list(zip(ahead, back, strict=True))


def read_gold(
    path: Path | str,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    first: int | None = None,
    by_spaces: bool = True,
) -> list[GoldLinks]:
    """Return the gold links of each pair; a link to a missing word, by white space, is a `DataError`."""
    lines, name = read_lines(path), "standard input" if str(path) == STDIN else str(path)
    lengths = None
    if by_spaces:
        lengths = [(len(one.split()), len(other.split())) for one, other in zip(sources, targets, strict=True)]
    return parse_gold_links(lines, name=name, first=first, lengths=lengths, pairs=len(sources))


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
