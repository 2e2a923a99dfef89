"""Inputs, partial and complete hypotheses, trees, penalties ([wu2016] (14)), and forbidden tokens of all searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self, TypedDict

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import Floats, Numbers, Scores, SearchMonitor
from dragoman.text import BOS_ID, EOS_ID, PAD_ID


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


@dataclass(frozen=True)
class Penalties:
    """s(Y, X) = log P(Y | X) / lp(Y) + cp(X; Y).

    lp is |Y|^α (the average log p for α = 1), ((5 + |Y|) / 6)^α, or 1, and |Y| counts the end;
    cp = β Σ_s log min(Σ_t a_t(s), 1).
    """

    settings: SearchSettings

    def length(self, length: int) -> float:
        """lp of a translation with this number of tokens, including the end."""
        if self.settings.length_penalty == "none":
            return 1.0
        base = length if self.settings.length_penalty == "average" else (5 + length) / 6
        return float(base**self.settings.alpha)

    def score(self, log_prob: float, length: int, weights: Floats | None) -> float:
        """The score of a translation. Shapes: weights [tgt, src] of real source words."""
        score = log_prob / self.length(length)
        if self.settings.coverage_penalty and weights is not None:
            covered = weights.sum(0).clip(np.finfo(np.float32).tiny, 1.0)
            score += self.settings.coverage_penalty * float(np.log(covered).sum())
        return score

    def at_best(self, log_prob: float, longest: int) -> float:
        """Upper bound of the score of an unfinished translation: all further tokens up to `longest` with p = 1."""
        return log_prob / self.length(longest)


class StepProcessor:
    """Sets the log p of begin, padding, early ends, repeated n-grams, and all but a given prefix, to −∞."""

    def __init__(self, sentences: Sequence[SearchInput], settings: SearchSettings) -> None:
        self.prefixes = [list(sentence.prefix) for sentence in sentences]
        self.longest_prefix = max(map(len, self.prefixes), default=0)
        self.min_length = settings.min_length
        self.ngram = settings.no_repeat_ngram
        self.required = [{token for phrase in sentence.phrases for token in phrase} for sentence in sentences]

    def apply(self, log_probs: Floats, written: Numbers, of: Sequence[int]) -> None:
        """Change log_probs [rows, vocab] in place; written [rows, tokens so far], `of` [rows] are the sentences."""
        step = written.shape[1]
        log_probs[:, [PAD_ID, BOS_ID]] = -np.inf
        if step < self.min_length:
            log_probs[:, EOS_ID] = -np.inf
        if self.ngram and step >= self.ngram:
            self._block(log_probs, written, of)
        if step < self.longest_prefix:
            self._force(log_probs, step, of)

    def _force(self, log_probs: Floats, step: int, of: Sequence[int]) -> None:
        for row, sentence in enumerate(of):
            if step < len(self.prefixes[sentence]):
                token = self.prefixes[sentence][step]
                kept = log_probs[row, token]
                log_probs[row] = -np.inf
                log_probs[row, token] = kept

    def _block(self, log_probs: Floats, written: Numbers, of: Sequence[int]) -> None:
        """Forbid the tokens that followed the last n − 1 tokens before, except those of required phrases."""
        runs = np.lib.stride_tricks.sliding_window_view(written, self.ngram, axis=1)  # [rows, runs, ngram]
        last = written[:, written.shape[1] - self.ngram + 1 :]
        rows, places = np.nonzero((runs[..., :-1] == last[:, np.newaxis]).all(-1))
        words = runs[rows, places, -1]
        step = written.shape[1]
        is_blocked = [
            word not in self.required[of[row]] and step >= len(self.prefixes[of[row]])
            for row, word in zip(rows.tolist(), words.tolist(), strict=True)
        ]
        log_probs[rows[is_blocked], words[is_blocked]] = -np.inf
