"""What CTranslate2 answers, in our terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.search.hypothesis import Hypothesis
from dragoman.search.penalties import Penalties
from dragoman.search.protocol import Floats, Watch
from dragoman.text import EOS_ID

__all__ = ["Found", "Onlooker", "hypothesis", "read_result", "whole_map"]


@dataclass
class Found:
    """A translation: its pieces without the end. `attention` has a row a word, the end among them, without the
    column of the source's end.
    """

    pieces: list[int]
    log_prob: float
    attention: list[list[float]] | None
    is_finished: bool

    @property
    def length(self) -> int:
        """How many words were written, the end among them."""
        return len(self.pieces) + self.is_finished

    def cut(self, limit: int) -> Found:
        """The first words of it; their log p is still to be found."""
        return Found(self.pieces[:limit], 0.0, self.attention and self.attention[:limit], is_finished=False)


def read_result(result: Any, numbers: Mapping[str, int], exponent: float) -> list[Found]:
    """The translations of one sentence; CTranslate2's score is log p / length^exponent."""
    found = []
    attentions = result.attention  # each look at it copies all of it
    for place, (words, score) in enumerate(zip(result.hypotheses, result.scores, strict=True)):
        pieces = [numbers[word] for word in words]
        is_finished = bool(pieces) and pieces[-1] == EOS_ID
        log_prob = score * len(pieces) ** exponent if exponent else score
        attention = attentions[place] if attentions else None
        found.append(Found(pieces[:-1] if is_finished else pieces, log_prob, attention, is_finished))
    return found


def whole_map(attention: Sequence[Sequence[float]] | None, length: int) -> Floats:
    """An alignment with the column of the source's end, which CTranslate2 leaves out: what is missing to a sum of one.

    Of an empty source there is only that column. Shapes: [tgt, src] -> [tgt, src + 1].
    """
    if attention is None:
        return np.ones((length, 1), np.float32)
    weights = np.asarray(attention, np.float32).reshape(length, -1)
    rest = (1.0 - weights.sum(1, dtype=np.float64, keepdims=True)).clip(0.0, 1.0)
    return np.concatenate([weights, rest.astype(np.float32)], 1)


def hypothesis(
    pieces: list[int], log_prob: float, alignment: Floats | None, penalties: Penalties, *, is_finished: bool
) -> Hypothesis:
    """A translation with its score by our definition. Shapes: alignment [tgt, src + 1]."""
    covered = None if alignment is None else alignment[:, :-1]
    score = penalties.score(log_prob, len(pieces) + is_finished, covered)
    return Hypothesis(pieces, log_prob, alignment, score, is_finished)


class Onlooker:
    """Called by CTranslate2 after each word of greedy search; true ends the sentence.

    CTranslate2 does not say which sentence of several a word is of. So only one by itself is told word by word, and
    several are ended together, once nobody waits for any of them.
    """

    def __init__(self, watch: Watch, numbers: Sequence[int], *, is_told: bool) -> None:
        self.watch = watch
        self.numbers = numbers
        self.is_told = is_told
        self.pieces: list[int] = []
        self.step = -1
        self.is_over = False
        self.fault: BaseException | None = None

    def __call__(self, result: Any) -> bool:
        try:
            if self.is_told and result.token_id != EOS_ID:
                self.pieces.append(result.token_id)
                self.watch.wrote(self.numbers[0], list(self.pieces))
            if result.step != self.step:
                self.step = result.step
                self.is_over = all(self.watch.is_cancelled(number) for number in self.numbers)
        except BaseException as fault:  # noqa: BLE001 -- raised again by the thread that waits, in raise_fault
            self.fault, self.is_over = fault, True
        return self.is_over

    def raise_fault(self) -> None:
        """Raise what whoever looks on has raised: CTranslate2 calls from a thread of its own."""
        if self.fault is not None:
            raise self.fault
