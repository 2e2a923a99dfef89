"""Align the words of sentence pairs by attention, in one or both translation directions."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.api.alignment.word_attention import OnPairs, WordAttention, check_choice, word_attention
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translator import Translator
from dragoman.api.translation.word_alignment import Links
from dragoman.config.alignment import AlignmentSettings

__all__ = ["align_pairs", "attention_both_ways"]


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
