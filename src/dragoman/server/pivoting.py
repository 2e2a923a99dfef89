"""Two translations, one of the other, as one: what the words of the last have to do with those of the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dragoman.api.reading import Reading
from dragoman.api.translation import Translation, Weights
from dragoman.api.word_alignment import Links

__all__ = ["as_one_text", "composed", "composed_text"]


def composed_text(
    first: Reading, sentences: Sequence[Translation], second: Sequence[Translation], language: str
) -> Translation:
    """The translation of a text whose `sentences` were translated, and what was made of these one by one, `second`.

    `language` is the last.
    """
    whole = replace(first, languages=(first.languages[0], language))
    return whole.joined([composed(one, other) for one, other in zip(sentences, second, strict=True)])


def as_one_text(first: Reading, second: Sequence[Reading]) -> Reading:
    """The sentences of a text as the second translator read them, put together as those of the text are."""
    parts = []
    for part, reading in zip(first.parts, second, strict=True):
        *before, last = reading.parts
        parts += [*before, replace(last, after=last.after + part.after)]
    languages = first.languages[0], second[0].languages[1] if second else first.languages[1]
    return Reading(first.text, parts, (second[0] if second else first).request, languages)


def composed(first: Translation, second: Translation) -> Translation:
    """A translation of a sentence, and the translation of that, as one from the first language to the last.

    Links and weights go through the words in the middle; where the two do not see the same text there, there are none.
    Alternatives and the tree are those of the second.
    """
    bridge = _bridge(first.target_words, second.source_words)
    return replace(
        _behind(first, second, bridge),
        flags=None if first.flags is None or second.flags is None else (*first.flags, *second.flags),
        nbest=tuple(_behind(first, each, bridge) for each in second.nbest),
        is_truncated=first.is_truncated or second.is_truncated,
        is_cut=first.is_cut or second.is_cut,
        sentences=(),
    )


def _behind(first: Translation, second: Translation, bridge: NDArray[np.float64] | None) -> Translation:
    """A second translation, or one of its alternatives, as one of the first's source."""
    return replace(
        second,
        source=first.source,
        log_prob=first.log_prob + second.log_prob,
        score=first.score + second.score,
        source_words=first.source_words,
        alignment=_links(first.alignment, second.alignment, bridge),
        weights=_weights(first.weights, second.weights, bridge),
    )


def _bridge(written: Sequence[str], read: Sequence[str]) -> NDArray[np.float64] | None:
    """How much of each word that was read is each that was written; None where the texts differ.

    Two tokenizers may see other words in one text: by their characters it is known which are which.
    Shapes: -> [read, written].
    """
    if "".join(written) != "".join(read):
        return None
    bridge = np.zeros((len(read), len(written)))
    owners = [place for place, word in enumerate(written) for _ in word]
    at = 0
    for place, word in enumerate(read):
        for owner in owners[at : at + len(word)]:
            bridge[place, owner] += 1 / len(word)
        at += len(word)
    return bridge


def _links(first: Links | None, second: Links | None, bridge: NDArray[np.float64] | None) -> Links | None:
    if first is None or second is None or bridge is None:
        return None
    before: dict[int, list[int]] = {}
    for source, middle in first:
        before.setdefault(middle, []).append(source)
    found = {
        (source, target)
        for read, target in second
        for written in np.flatnonzero(bridge[read]).tolist()
        for source in before.get(written, ())
    }
    return tuple(sorted(found))


def _weights(first: Weights | None, second: Weights | None, bridge: NDArray[np.float64] | None) -> Weights | None:
    """Shapes: [middle, source], [target, middle] -> [target, source]."""
    if first is None or second is None or bridge is None or not first or not second:
        return None
    product = np.asarray(second) @ bridge @ np.asarray(first)
    return tuple(map(tuple, product.tolist()))
