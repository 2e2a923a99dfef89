"""Compute word-level attention maps of sentence pairs, and extract alignment links from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.attention import AttentionMaps
from dragoman.api.translation.options import PairError
from dragoman.api.translation.translator import Translator
from dragoman.api.translation.word_alignment import WordAlignment, require_attention
from dragoman.config.alignment import USUAL_MAP, AttentionChoice, AttentionReading, Symmetrization
from dragoman.engines.protocol import AttentionEngine, Engine, EnsembleEngine
from dragoman.errors import ConfigError
from dragoman.evaluation.word_alignment import SYMMETRIZATIONS, Links, product_links, swapped

OnPairs = Callable[[int], None]
"""Receives the number of pairs of each batch."""

_PAIRS = 128  # per batch: all their layers and heads are in memory


@dataclass(frozen=True)
class WordAttention:
    """The words of a pair, and one attention map between them. Shapes: weights [tgt, src].

    `links` are those of every target word to the source word with the most weight, unless the end has more.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: NDArray[np.float64]
    links: Links

    def links_with(self, backward: WordAttention | None, symmetrization: Symmetrization) -> Links:
        """Combine the links of both directions; the sides of `backward` are swapped."""
        if backward is None:
            return self.links
        if symmetrization == "product":
            return product_links(self.weights, backward.weights)
        return SYMMETRIZATIONS[symmetrization](self.links, swapped(backward.links))


def word_attention(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    choice: AttentionChoice | None = None,
    *,
    by_spaces: bool = False,
    on_pairs: OnPairs | None = None,
) -> list[WordAttention]:
    """Return one attention map per pair; a pair that is too long is a `PairError`."""
    choice = choice or USUAL_MAP
    if not isinstance(translator.engine, AttentionEngine):
        check_default(translator.engine, choice, by_spaces=by_spaces)
        return _default_maps(translator, sources, targets, on_pairs)
    maps = []
    for attention in attention_maps(translator, sources, targets, on_pairs, {choice.reading}):
        maps.append(from_alignment(attention.words(choice, by_spaces=by_spaces)))
        if by_spaces:
            _check_spaces(len(maps) - 1, maps[-1], sources, targets)
    return maps


def attention_maps(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    on_pairs: OnPairs | None,
    readings: AbstractSet[AttentionReading],
) -> Iterator[AttentionMaps]:
    """Yield all attention maps of every pair, batch by batch, with what these readings require."""
    for first, some, others in _batches(sources, targets):
        try:
            found = translator.attention(
                some, others, likelihoods="posterior" in readings, lexical="lexical" in readings
            )
        except PairError as error:
            raise PairError(first + error.pair, error.fault) from None
        yield from found
        if on_pairs is not None:
            on_pairs(len(found))


def _check_spaces(number: int, found: WordAttention, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Raise `PairError` if normalisation changes the number of words between spaces: links would name other words."""
    for side, words, text in (
        ("source", found.source_words, sources[number]),
        ("translation", found.target_words, targets[number]),
    ):
        if len(words) != len(text.split()):
            raise PairError(
                number,
                f"a {side} must have as many words once it is normalised as there are between its spaces, got "
                f"{len(words)} for {len(text.split())}; write it without unusual characters",
            )


def check_choice(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], choice: AttentionChoice, *, by_spaces: bool
) -> None:
    """Raise `ConfigError` if the model lacks the chosen layer or head; the first pair is computed for the check."""
    if not isinstance(translator.engine, AttentionEngine):
        check_default(translator.engine, choice, by_spaces=by_spaces)
    elif (choice.layer, choice.head) != (None, None) and len(sources) == len(targets):
        for attention in translator.attention(sources[:1], targets[:1]):
            attention.check(choice)


def check_default(engine: Engine, choice: AttentionChoice, *, by_spaces: bool) -> None:
    """Raise `ConfigError` for any choice but the default, which every engine provides."""
    if choice == USUAL_MAP and not by_spaces:
        return
    what = "words by spaces" if by_spaces else "a layer, a head or a reading"
    if isinstance(engine, EnsembleEngine):
        raise ConfigError(
            f"{what} cannot be chosen in an ensemble, which has one attention map only; open one of its bundles alone, "
            "or leave the choice out"
        )
    raise ConfigError(
        f"engine must be torch to choose {what}, got {engine.name}; open the translator with engine='torch', or leave "
        "the choice out"
    )


def _default_maps(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], on_pairs: OnPairs | None
) -> list[WordAttention]:
    maps = []
    for first, some, others in _batches(sources, targets):
        try:
            found = translator.score(some, others, alignment=True, attention=True, posterior=True)
        except PairError as error:
            raise PairError(first + error.pair, error.fault) from None
        for each in found:
            shape = len(each.target_words), len(each.source_words)
            weights = np.array(require_attention(each.weights), dtype=np.float64).reshape(shape)
            maps.append(WordAttention(each.source_words, each.target_words, weights, require_attention(each.alignment)))
        if on_pairs is not None:
            on_pairs(len(found))
    return maps


def _batches(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
    """Yield batches of pairs with the index of the first; sides of unequal length are one batch, which is an error."""
    step = _PAIRS if len(sources) == len(targets) else max(len(sources), len(targets))
    for first in range(0, max(len(sources), len(targets)), step):
        yield first, sources[first : first + step], targets[first : first + step]


def from_alignment(aligned: WordAlignment) -> WordAttention:
    """Return an attention map with its links; raise `ConfigError` for a model without attention."""
    weights, links = require_attention(aligned.between_words()), require_attention(aligned.links())
    return WordAttention(aligned.source_words, aligned.target_words, weights, links)
