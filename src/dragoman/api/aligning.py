"""Links between words by where models look: which map is taken, how links come out of it, what two directions make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.api.align_choice import check_choice, check_usual
from dragoman.api.align_settings import AlignSettings, Extraction, Symmetrization
from dragoman.api.attention import Attention, AttentionChoice, Reading, posterior
from dragoman.api.request import PairError
from dragoman.api.translator import Translator
from dragoman.api.word_alignment import Links, WordAlignment, attended
from dragoman.engines.protocol import Attentive
from dragoman.errors import ConfigError
from dragoman.evaluation.alignment_error import AlignmentError, Gold, alignment_error
from dragoman.evaluation.symmetrization import (
    SYMMETRIZATIONS,
    argmax_links,
    intersection,
    mutual_links,
    product_links,
    swapped,
    threshold_links,
)
from dragoman.text import EOS_ID, SPECIALS, merge_alignment, piece_words

__all__ = [
    "AlignSettings",
    "Extraction",
    "RankedChoice",
    "Symmetrization",
    "Tell",
    "WordMap",
    "align",
    "best_choice",
    "every_map",
    "maps_of_both",
    "word_maps",
]

Tell = Callable[[int], None]

_END = SPECIALS[EOS_ID]
_PAIRS = 128  # at a time: every layer and head of them is in memory


@dataclass(frozen=True)
class WordMap:
    """The words of a pair, and one map between them. Shapes: weights [tgt, src].

    `looked` links every target word to what it looks at most, unless that is the end of the source.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: NDArray[np.float64]
    looked: Links

    def links(self, settings: AlignSettings) -> Links:
        """Take links out of the map."""
        if settings.extraction == "threshold":
            assert settings.threshold is not None
            return threshold_links(self.weights, settings.threshold)
        found = argmax_links(self.weights) if settings.ignore_end else self.looked
        return found if settings.extraction == "argmax" else intersection(found, mutual_links(self.weights))

    def links_with(self, backward: WordMap | None, settings: AlignSettings) -> Links:
        """Links of both directions together; `backward` has the sides the other way round."""
        if backward is None:
            return self.links(settings)
        if settings.symmetrization == "product":
            return product_links(self.weights, backward.weights)
        return SYMMETRIZATIONS[settings.symmetrization](self.links(settings), swapped(backward.links(settings)))


@dataclass(frozen=True)
class RankedChoice:
    """One map of a model, and how far its links are from the gold ones."""

    choice: AttentionChoice
    error: AlignmentError

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self.choice) | self.error.to_json()


def align(
    forward: Translator,
    backward: Translator | None,
    sources: Sequence[str],
    targets: Sequence[str],
    settings: AlignSettings | None = None,
    *,
    tell: Tell | None = None,
) -> list[Links]:
    """Links between the words of sources and of their translations, source first, counted from 0.

    `backward` translates the other way round; with it links are made of both directions. `tell` learns after every
    batch how many pairs that were: with two translators each pair counts twice.
    """
    settings = settings or AlignSettings()
    maps = maps_of_both(forward, backward, sources, targets, settings, tell=tell)
    return [ahead.links_with(back, settings) for ahead, back in maps]


def maps_of_both(
    forward: Translator,
    backward: Translator | None,
    sources: Sequence[str],
    targets: Sequence[str],
    settings: AlignSettings,
    *,
    tell: Tell | None = None,
) -> list[tuple[WordMap, WordMap | None]]:
    """The maps of each pair in both directions, for those who take links out of them in several ways; see `align`."""
    back_choice = settings.backward_choice or settings.choice
    check_choice(forward, sources, targets, settings.choice, by_spaces=settings.by_spaces)
    if backward is not None:
        check_choice(backward, targets, sources, back_choice, by_spaces=settings.by_spaces, of="backward ")
    ahead = word_maps(forward, sources, targets, settings.choice, by_spaces=settings.by_spaces, tell=tell)
    if backward is None:
        return [(each, None) for each in ahead]
    back = word_maps(backward, targets, sources, back_choice, by_spaces=settings.by_spaces, tell=tell)
    _check_words(ahead, back)
    return list(zip(ahead, back, strict=True))


def word_maps(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    choice: AttentionChoice | None = None,
    *,
    by_spaces: bool = False,
    tell: Tell | None = None,
) -> list[WordMap]:
    """One map of every pair. Engines other than torch, and ensembles, have only the usual one, between usual words.

    What cannot be read is a `PairError`, which knows the place of the pair.
    """
    choice = choice or AttentionChoice()
    if not isinstance(translator.engine, Attentive):
        check_usual(translator.engine, choice, by_spaces=by_spaces)
        return _usual_maps(translator, sources, targets, tell)
    maps = []
    for attention in _attentions(translator, sources, targets, tell, likelihoods=choice.reading == "posterior"):
        maps.append(_word_map(attention.words(choice, by_spaces=by_spaces)))
        if by_spaces:
            _check_spaces(len(maps) - 1, maps[-1], sources, targets)
    return maps


def best_choice(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    gold: Sequence[Gold],
    settings: AlignSettings | None = None,
    *,
    tell: Tell | None = None,
) -> tuple[RankedChoice, ...]:
    """Every layer, every head, the mean of heads, and every reading, the least error first; needs the torch engine.

    The choice that `settings` hold does not matter, and nor does what is made of two directions; for a translator from
    target to source turn everything round, `Gold.swapped` among it.
    """
    settings = settings or AlignSettings(by_spaces=True)
    if len(gold) != len(sources):
        raise ConfigError(f"gold must have links for each pair, got {len(gold)} for {len(sources)}; count the lines")
    found: dict[AttentionChoice, list[Links]] = {}
    for number, attention in enumerate(_attentions(translator, sources, targets, tell, likelihoods=True)):
        for choice, each in every_map(attention, by_spaces=settings.by_spaces):
            if settings.by_spaces:
                _check_spaces(number, each, sources, targets)
            found.setdefault(choice, []).append(each.links(settings))
    ranked = [RankedChoice(choice, alignment_error(links, gold)) for choice, links in found.items()]
    return tuple(sorted(ranked, key=lambda each: each.error.aer))  # of equals the lowest layer, the mean of its heads


def _check_words(forward: Sequence[WordMap], backward: Sequence[WordMap]) -> None:
    """Two translators must see the same words, or their links have nothing to do with each other."""
    for number, (ahead, back) in enumerate(zip(forward, backward, strict=True)):
        for words, others in ((ahead.source_words, back.target_words), (ahead.target_words, back.source_words)):
            if len(words) != len(others):
                raise PairError(
                    number,
                    f"both translators must see the same words, got {len(words)} and {len(others)}; take those whose "
                    "texts were normalised alike",
                )


def _attentions(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], tell: Tell | None, *, likelihoods: bool
) -> Iterator[Attention]:
    """All maps of every pair, some pairs at a time."""
    for first, some, others in _portions(sources, targets):
        try:
            found = translator.attention(some, others, likelihoods=likelihoods)
        except PairError as error:
            raise PairError(first + error.pair, error.fault) from None
        yield from found
        if tell is not None:
            tell(len(found))


def _usual_maps(
    translator: Translator, sources: Sequence[str], targets: Sequence[str], tell: Tell | None
) -> list[WordMap]:
    maps = []
    for first, some, others in _portions(sources, targets):
        try:
            found = translator.score(some, others, alignments=True, weights=True)
        except PairError as error:
            raise PairError(first + error.pair, error.fault) from None
        for each in found:
            shape = len(each.target_words), len(each.source_words)
            weights = np.array(attended(each.weights), dtype=np.float64).reshape(shape)
            maps.append(WordMap(each.source_words, each.target_words, weights, attended(each.alignment)))
        if tell is not None:
            tell(len(found))
    return maps


def _portions(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[int, Sequence[str], Sequence[str]]]:
    """Some pairs at a time, and the place of the first; sides of unequal length come whole, and are refused so."""
    step = _PAIRS if len(sources) == len(targets) else max(len(sources), len(targets))
    for first in range(0, max(len(sources), len(targets)), step):
        yield first, sources[first : first + step], targets[first : first + step]


def every_map(attention: Attention, *, by_spaces: bool) -> Iterator[tuple[AttentionChoice, WordMap]]:
    """What `Attention.words` gives for every choice, but words are looked for only once."""
    maps = attention.weights  # [layers, heads, tgt + 1, src + 1]
    heads: list[int | None] = [None]  # the mean, which of one head is that
    if attention.heads > 1:
        heads += range(1, attention.heads + 1)
        maps = np.concatenate([maps.mean(1, keepdims=True), maps], 1)  # [layers, 1 + heads, tgt + 1, src + 1]
    source = piece_words([*attention.source_pieces, _END], by_spaces=by_spaces)
    end = piece_words([*attention.target_pieces, _END], by_spaces=by_spaces)
    target = piece_words(attention.target_pieces, by_spaces=by_spaces)
    known = posterior(maps, attention.likelihoods)
    read = {  # [layers, 1 + heads, tgt words (+ 1), src words + 1]
        "predicted": merge_alignment(maps, source, end),
        "input": merge_alignment(maps[:, :, 1:], source, target),
        "posterior": merge_alignment(known, source, end),
    }
    for layer in range(attention.layers):
        for place, head in enumerate(heads):
            for reading in get_args(Reading):
                aligned = WordAlignment(source.words[:-1], end.words[:-1], read[reading][layer, place])
                yield AttentionChoice(layer + 1, head, reading), _word_map(aligned)


def _word_map(aligned: WordAlignment) -> WordMap:
    return WordMap(
        aligned.source_words, aligned.target_words, attended(aligned.between_words()), attended(aligned.links())
    )


def _check_spaces(number: int, found: WordMap, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Words that are counted by spaces must be those of the text as it stands, or numbers in links mean others."""
    for side, words, text in (
        ("source", found.source_words, sources[number]),
        ("translation", found.target_words, targets[number]),
    ):
        if len(words) != len(text.split()):
            raise PairError(
                number,
                f"a {side} must have as many words once it is normalised as there are between its spaces, got "
                f"{len(words)} for {len(text.split())}; look for unusual characters in it",
            )
