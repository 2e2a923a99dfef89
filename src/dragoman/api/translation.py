"""A translation, as every entry point returns it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dragoman.api.word_alignment import Links
from dragoman.evaluation.quality_flags import Flag
from dragoman.search.trace import Node

__all__ = ["Translation", "Weights", "joined"]

Weights = tuple[tuple[float, ...], ...]

_DIGITS = 6  # of a weight in JSON


@dataclass(frozen=True)
class Translation:
    """A text and its translation. What was not asked for is None or empty.

    `log_prob` is log p of all that was written, and `score` what the search ranked it by; both are 0 where nothing had
    to be translated. `pieces` are what the model wrote. `alignment` links source words to target words, both counted
    from 0; it is also None where a model has no attention. A row of `weights` says how much a target word looked at
    each source word; what is missing to 1 was spent on the end of the source.

    `is_truncated`: the longest translation there may be was written, and did not end. `is_cut`: a sentence was longer
    than can be translated at once, and so was translated in parts.

    A text of several sentences has those in `sentences`. Its `log_prob` is their sum, its `score` their mean, by the
    number of pieces; its alternatives, trees and weights are theirs.
    """

    source: str
    text: str
    score: float = 0.0
    log_prob: float = 0.0
    pieces: tuple[str, ...] = ()
    source_words: tuple[str, ...] = ()
    target_words: tuple[str, ...] = ()
    alignment: Links | None = None
    weights: Weights | None = None
    flags: tuple[Flag, ...] | None = None
    nbest: tuple[Translation, ...] = ()
    tree: tuple[Node, ...] | None = None
    is_truncated: bool = False
    is_cut: bool = False
    sentences: tuple[Translation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain values. A number that JSON does not know is None.

        What was not asked for is left out; source, text, score, log_prob, is_truncated, is_cut and pieces always stand
        there.
        """
        value: dict[str, Any] = {"source": self.source, "text": self.text}
        value |= {name: _finite(getattr(self, name)) for name in ("score", "log_prob")}
        value |= {"is_truncated": self.is_truncated, "is_cut": self.is_cut, "pieces": list(self.pieces)}
        if self.flags is not None:
            value["flags"] = [asdict(flag) for flag in self.flags]
        if self.alignment is not None or self.weights is not None:
            value |= {"source_words": list(self.source_words), "target_words": list(self.target_words)}
        if self.alignment is not None:
            value["alignment"] = [list(link) for link in self.alignment]
        if self.weights is not None:
            value["weights"] = [[round(weight, _DIGITS) for weight in row] for row in self.weights]
        if self.tree is not None:
            value["tree"] = [asdict(node) | {"log_prob": _finite(node.log_prob)} for node in self.tree]
        if self.nbest:
            alike = ("source", "source_words")
            value["nbest"] = [_without(each.to_json(), alike) for each in self.nbest]
        if self.sentences:
            value["sentences"] = [each.to_json() for each in self.sentences]
        return value


def joined(source: str, text: str, sentences: Sequence[Translation], *, is_cut: bool) -> Translation:
    """Return the translation of a text whose sentences were translated one by one.

    Where nothing was found for one of them, the text is as unlikely as that.
    """
    pieces = sum(len(each.pieces) for each in sentences)
    return Translation(
        source,
        text,
        score=sum(_weighed(each) for each in sentences) / max(1, pieces),
        log_prob=sum(each.log_prob for each in sentences),
        pieces=tuple(piece for each in sentences for piece in each.pieces),
        source_words=tuple(word for each in sentences for word in each.source_words),
        target_words=tuple(word for each in sentences for word in each.target_words),
        alignment=_all_links(sentences),
        flags=_all_flags(sentences),
        is_truncated=any(each.is_truncated for each in sentences),
        is_cut=is_cut,
        sentences=tuple(sentences),
    )


def _weighed(sentence: Translation) -> float:
    """The score times the pieces; -inf stays what it is, though nothing was written."""
    return sentence.score * len(sentence.pieces) if math.isfinite(sentence.score) else sentence.score


def _all_flags(sentences: Sequence[Translation]) -> tuple[Flag, ...] | None:
    flags: list[Flag] = []
    for each in sentences:
        if each.flags is None:
            return None
        flags += each.flags
    return tuple(flags)


def _all_links(sentences: Sequence[Translation]) -> Links | None:
    links: list[tuple[int, int]] = []
    before = [0, 0]
    for each in sentences:
        if each.alignment is None:
            return None
        links += [(before[0] + source, before[1] + target) for source, target in each.alignment]
        before = [before[0] + len(each.source_words), before[1] + len(each.target_words)]
    return tuple(links)


def _without(value: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if name not in names}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
