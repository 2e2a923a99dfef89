"""Convert results of CTranslate2 to hypotheses of `dragoman.search`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.search.decoding_protocol import Floats, SearchMonitor
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.penalties import Penalties
from dragoman.text import EOS_ID


@dataclass
class EngineHypothesis:
    """A translation: its tokens without the end. `attention` has one row per word including the end, and no column for
    the end of the source.
    """

    tokens: list[int]
    log_prob: float
    attention: list[list[float]] | Floats | None
    is_finished: bool

    @property
    def length(self) -> int:
        """Number of words including the end."""
        return len(self.tokens) + self.is_finished

    def cut(self, limit: int) -> EngineHypothesis:
        """The first words; their log p must be computed."""
        attention = None if self.attention is None else self.attention[:limit]
        return EngineHypothesis(self.tokens[:limit], 0.0, attention, is_finished=False)


def read_result(result: Any, numbers: Mapping[str, int], exponent: float) -> list[EngineHypothesis]:
    """The translations of one sentence; CTranslate2's score is log p / length^exponent."""
    found = []
    attentions = result.attention  # every access copies all of it
    for place, (words, score) in enumerate(zip(result.hypotheses, result.scores, strict=True)):
        tokens = [numbers[word] for word in words]
        is_finished = bool(tokens) and tokens[-1] == EOS_ID
        log_prob = score * len(tokens) ** exponent if exponent else score
        attention = attentions[place] if attentions else None
        found.append(EngineHypothesis(tokens[:-1] if is_finished else tokens, log_prob, attention, is_finished))
    return found


def complete_attention(attention: Sequence[Sequence[float]] | Floats | None, length: int) -> Floats:
    """Add the column of the end of the source, which CTranslate2 omits: the difference from a sum of one.

    An empty source has only that column. Shapes: [tgt, src] -> [tgt, src + 1].
    """
    if attention is None:
        return np.ones((length, 1), np.float32)
    weights = np.asarray(attention, np.float32).reshape(length, -1)
    rest = (1.0 - weights.sum(1, dtype=np.float64, keepdims=True)).clip(0.0, 1.0)
    return np.concatenate([weights, rest.astype(np.float32)], 1)


def hypothesis(
    tokens: list[int], log_prob: float, alignment: Floats | None, penalties: Penalties, *, is_finished: bool
) -> Hypothesis:
    """Build a hypothesis with its score. Shapes: alignment [tgt, src + 1]."""
    covered = None if alignment is None else alignment[:, :-1]
    score = penalties.score(log_prob, len(tokens) + is_finished, covered)
    return Hypothesis(tokens, log_prob, alignment, score, is_finished)


class CancellationOnly:
    """A monitor of some sentences of a batch that only passes on cancellations: their tokens may still change."""

    def __init__(self, monitor: SearchMonitor, places: Sequence[int]) -> None:
        self._monitor, self._places = monitor, places

    def is_cancelled(self, sentence: int) -> bool:
        """Whether a sentence is cancelled."""
        return self._monitor.is_cancelled(self._places[sentence])

    def is_streamed(self, sentence: int) -> bool:
        """Return False: tokens are not final."""
        return False

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        """Ignore tokens."""


class StepCallback:
    """Called by CTranslate2 after each word of greedy search; true ends the sentence.

    CTranslate2 does not identify the sentence of a word. Therefore tokens are reported only for a single sentence, and
    several sentences are cancelled together, when all of them are cancelled.
    """

    def __init__(self, monitor: SearchMonitor, numbers: Sequence[int], *, is_streamed: bool) -> None:
        self.monitor = monitor
        self.numbers = numbers
        self.is_streamed = is_streamed
        self.tokens: list[int] = []
        self.step = -1
        self.is_over = False
        self.error: BaseException | None = None

    def __call__(self, result: Any) -> bool:
        try:
            if self.is_streamed and result.token_id != EOS_ID:
                self.tokens.append(result.token_id)
                self.monitor.on_tokens(self.numbers[0], list(self.tokens))
            if result.step != self.step:
                self.step = result.step
                self.is_over = all(self.monitor.is_cancelled(number) for number in self.numbers)
        except BaseException as error:  # noqa: BLE001 -- raised again in the calling thread by raise_error
            self.error, self.is_over = error, True
        return self.is_over

    def raise_error(self) -> None:
        """Raise an error of the monitor in the calling thread: CTranslate2 calls from its own thread."""
        if self.error is not None:
            raise self.error
