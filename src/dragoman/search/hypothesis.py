"""Data classes of search: inputs, partial hypotheses of a running search, hypotheses, and the tree of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from dragoman.search.decoding_protocol import Floats, Numbers, Scores, SearchMonitor
from dragoman.search.penalties import Penalties
from dragoman.text import EOS_ID


@dataclass(frozen=True)
class SearchInput:
    """One source sentence (token ids without specials) and the constraints on its translation.

    A translation begins with `prefix` and contains each of `phrases` after it. `phrase_sources` gives the source
    positions that each phrase translates, if known. `may_follow` [vocab] marks the tokens that may follow a word, so
    that a required word is not extended to a longer one and does not begin within another. `number` identifies the
    sentence for sampling: its samples do not depend on the other sentences of the batch.
    """

    tokens: Sequence[int]
    prefix: Sequence[int] = ()
    phrases: Sequence[Sequence[int]] = ()
    phrase_sources: Sequence[Sequence[int]] = ()
    may_follow: NDArray[np.bool_] | None = None
    number: int = 0

    @property
    def min_length(self) -> int:
        """Minimum length of the translation: prefix, phrases and end."""
        return len(self.prefix) + (sum(map(len, self.phrases)) + 1 if self.phrases else 0)


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its tokens without specials, and its log p including the end.

    A search ranks by `score`: log p with length and coverage penalties (with required phrases, also by a credit for
    their position, which `score` does not include). `is_finished` is False if the length limit came before the end.

    Shapes: alignment [tgt, src], if requested and available. The last row belongs to the end of a finished
    translation, the last column to the end of the source.
    """

    tokens: list[int]
    log_prob: float
    alignment: NDArray[np.float32] | None = None
    score: float = 0.0
    is_finished: bool = True


@dataclass(frozen=True)
class TraceNode:
    """A token in the tree. `parent` is the number of the previous node, -1 for first tokens.

    `log_prob` is the total up to this token. `step` counts from 0; `rank` is the position in the beam, 0 is the best.
    `is_end` marks the end of a finished translation.
    """

    parent: int
    token: int
    step: int
    rank: int
    log_prob: float
    is_end: bool = False


@dataclass
class SearchTrace:
    """The trees of the sentences of one batch: for each a list of nodes, in the order of creation."""

    trees: dict[int, list[TraceNode]] = field(default_factory=dict)

    def add(self, sentence: int, node: TraceNode) -> int:
        """Add a node and return its number."""
        tree = self.trees.setdefault(sentence, [])
        tree.append(node)
        return len(tree) - 1


class SearchOptions(TypedDict, total=False):
    """What a search receives in addition to sentences and settings."""

    return_attention: bool
    """Whether hypotheses have alignments, if the model has attention."""
    monitor: SearchMonitor | None
    trace: SearchTrace | None
    """Receives the tree."""


class RankedHypothesis(NamedTuple):
    """A complete hypothesis and its rank: the score including credits."""

    rank: float
    hypothesis: Hypothesis


@dataclass(frozen=True)
class _AttentionStep:
    """Attention weights of one step [rows, src], and parents [rows]: the row of the step before that each continues."""

    weights: Floats
    parents: Numbers
    before: _AttentionStep | None

    def map(self, row: int) -> Floats:
        """Attention weights of all steps of one row. Shapes: -> [steps, src]."""
        rows: list[Floats] = []
        attention: _AttentionStep | None = self
        while attention is not None:
            rows.append(attention.weights[row])
            row, attention = int(attention.parents[row]), attention.before
        return np.stack(rows[::-1])


@dataclass(frozen=True)
class PartialHypotheses:
    """The state of each row. `credits` are added to log p when rows are compared.

    Shapes: written [rows, tokens]; log_probs, credits and attention_rows (rows of the last attention step) [rows].
    """

    written: Numbers
    log_probs: Scores
    credits: Scores
    attention_rows: Numbers
    attention: _AttentionStep | None = None

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Rows before the first token."""
        return cls(np.zeros((rows, 0), np.int64), np.zeros(rows), np.zeros(rows), np.arange(rows))

    @property
    def ranked(self) -> Scores:
        """The value by which rows are compared. Shapes: [rows]."""
        return self.log_probs + self.credits

    def select(self, rows: Numbers) -> Self:
        """Select rows, in any number and order."""
        chosen = {name: getattr(self, name)[rows] for name in ("written", "log_probs", "credits", "attention_rows")}
        return replace(self, **chosen)

    def with_attention(self, weights: Floats | None) -> Self:
        """Add the attention weights of the next token, before it is chosen. Shapes: [rows, src]."""
        if weights is None:
            return self
        return replace(
            self,
            attention=_AttentionStep(weights, self.attention_rows, self.attention),
            attention_rows=np.arange(len(weights)),
        )

    def append(self, tokens: Numbers, log_probs: Scores, row_credits: Scores | None = None) -> Self:
        """Append a token; `log_probs` and `row_credits` are totals including it. Shapes: [rows]."""
        written = np.concatenate([self.written, tokens[:, np.newaxis]], 1)
        return replace(
            self, written=written, log_probs=log_probs, credits=self.credits if row_credits is None else row_credits
        )

    def finish(self, row: int, log_prob: float, credit: float, src: int, penalties: Penalties) -> RankedHypothesis:
        """Close a row with the end token, which is not in `written`; `src` is the length of its source."""
        length = self.written.shape[1] + 1
        return self._ranked(row, (log_prob, credit), length, src, penalties, is_finished=True)

    def close(self, row: int, src: int, penalties: Penalties) -> RankedHypothesis:
        """Close a row unchanged: it ends with the end token, or at the length limit."""
        total = float(self.log_probs[row]), float(self.credits[row])
        words = self.written.shape[1]
        is_finished = words > 0 and bool(self.written[row, -1] == EOS_ID)
        return self._ranked(row, total, words, src, penalties, is_finished=is_finished)

    def _ranked(
        self, row: int, total: tuple[float, float], length: int, src: int, penalties: Penalties, *, is_finished: bool
    ) -> RankedHypothesis:
        log_prob, credit = total
        tokens = self.written[row].tolist()
        if tokens and tokens[-1] == EOS_ID:
            del tokens[-1]
        alignment = covered = None
        if self.attention is not None:
            alignment = self.attention.map(int(self.attention_rows[row]))[:length, : src + 1]
            covered = alignment[:, :src]
        score, rank = (penalties.score(each, max(length, 1), covered) for each in (log_prob, log_prob + credit))
        return RankedHypothesis(rank, Hypothesis(tokens, log_prob, alignment, score, is_finished))
