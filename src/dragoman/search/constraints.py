"""Lexical constraints: beam search whose every translation holds the phrases it must hold. Paper: [post2018].

A sentence's rows are divided into banks by how many pieces of its phrases they have written, so that a row which has
just paid for a piece competes with its like, and not with rows that still have to. As long as pieces are missing, the
end is forbidden; and when the room that is left is just enough for them, nothing else may be written.

Where it is known which source words a phrase translates, a piece that the model finds very unlikely gets credit for as
much of its cost as the model looks at these words. So a term that the model does not know is written where it belongs,
and not behind the last word. [hasler2018] lets attention decide likewise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from dragoman.search.choosers import Choice
from dragoman.search.hypothesis import Sentence
from dragoman.search.phrases import Phrases, State
from dragoman.search.protocol import Floats, Numbers
from dragoman.search.top import Scores, top_candidates
from dragoman.text import EOS_ID

__all__ = ["ConstrainedChooser"]

# Both were chosen on the validation part of Multi30k, with terms that the models know and with words they never saw.
_PLAUSIBLE = 3.0  # what a piece may cost without credit: the model itself knows best where to write what it knows
_ROWS_OF_A_BANK = 2  # with one, a term that is cheap drives out all beginnings that wrote a dear one in its place
_BEST_OF_A_ROW = 2  # ways that each row can go on, whatever the others do


class _Candidate(NamedTuple):
    """Sorts by log p, the greatest first, then by place in the beam and in the vocabulary."""

    cost: float
    parent: int
    token: int
    credit: float


@dataclass(frozen=True)
class _Rows:
    """One sentence: where its rows are, and how many pieces may still be written, its end among them.

    `prefix` is how many pieces are still laid down by the sentence's prefix: phrases count behind it. `sources` are the
    places of the source that each of `phrases` translates, and `credits` what the rows were given.
    """

    phrases: Phrases
    sources: list[list[int]]
    states: list[State]
    credits: list[float]
    room: int
    prefix: int

    def after(self, parent: int, token: int) -> State:
        state = self.states[parent]
        return state if self.prefix else self.phrases.after(state, token)

    def shares(self, weights: Floats | None) -> Floats | None:
        """How much each row looks at the source of each phrase, beside the word it looks at most of all others.

        Shapes: weights [rows, src] -> [rows, phrases].
        """
        if weights is None or self.prefix or not any(self.sources):
            return None
        shares = np.zeros((len(weights), len(self.sources)), np.float32)
        for number, places in enumerate(self.sources):
            there = weights[:, places].sum(1)
            others = np.delete(weights, places, 1).max(1, initial=0.0)
            shares[:, number] = there / np.maximum(there + others, np.finfo(np.float32).tiny)
        return shares

    def credit(self, parent: int, token: int, log_prob: float, shares: Floats | None) -> float:
        """What a row is given for a piece of a phrase: the part of its cost that where it looks speaks for."""
        if shares is None or token not in self.phrases.pieces or -log_prob <= _PLAUSIBLE:
            return 0.0
        begun = self.phrases.begun(self.after(parent, token))
        return (-log_prob - _PLAUSIBLE) * max((float(shares[parent, number]) for number in begun), default=0.0)


@dataclass(frozen=True)
class ConstrainedChooser:
    """Fills beams so that every translation that ends holds all phrases of its sentence.

    A sentence uses two rows a bank, or the whole beam where that is more. The rows beyond, which other sentences need,
    are dead. So its company does not matter; one without phrases has plain
    beam search.
    """

    rows: tuple[_Rows, ...]
    beam: int

    @classmethod
    def of(cls, sentences: Sequence[Sentence], beam: int, limits: Sequence[int]) -> Self:
        """`limits` are the most pieces of the translations, their ends among them."""
        rows: list[_Rows] = []
        for sentence, limit in zip(sentences, limits, strict=True):
            phrases = Phrases(sentence.phrases, sentence.may_follow)
            places: dict[tuple[int, ...], list[int]] = {phrase: [] for phrase in phrases.phrases}
            for phrase, source in zip(sentence.phrases, sentence.phrase_sources, strict=False):
                places[tuple(phrase)] += source
            sources = list(places.values())
            rows.append(_Rows(phrases, sources, [phrases.start], [0.0], limit, len(sentence.prefix)))
        return cls(tuple(rows), beam)

    @property
    def width(self) -> int:
        """How many rows a sentence has."""
        return max((self._width(rows) for rows in self.rows), default=self.beam)

    @property
    def looks(self) -> bool:
        """Whether it wants to know where rows look."""
        return any(any(rows.sources) for rows in self.rows)

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> Choice:
        """Shapes: log_probs [sentences, rows, vocab], running [sentences, rows], weights [sentences, rows, src]."""
        for place, rows in enumerate(self.rows):
            if rows.phrases.size and not rows.prefix:
                for row in np.flatnonzero(running[place] > -np.inf).tolist():
                    _forbid(log_probs[place, row], rows, row)
        shape = (len(self.rows), self.width)
        top = top_candidates(log_probs, running, 2 * shape[1])
        ended: list[tuple[int, _Candidate]] = []
        parents, tokens = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        kept, given = np.full(shape, -np.inf), np.zeros(shape)
        for place, rows in enumerate(self.rows):
            count = 2 * self._width(rows)
            found = zip(*((each[place, :count]).tolist() for each in (top.parents, top.tokens)), strict=True)
            pairs = dict.fromkeys(found)
            if rows.phrases.size:
                pairs |= _further(log_probs[place], running[place], rows)
            shares = rows.shares(None if weights is None else weights[place])
            ends, going_on = self._divide(rows, _sorted(pairs, log_probs[place], running[place], rows, shares))
            ended += [(place, end) for end in ends]
            for rank, candidate in enumerate(going_on):
                parents[place, rank], tokens[place, rank] = candidate.parent, candidate.token
                kept[place, rank], given[place, rank] = -candidate.cost, candidate.credit
        return Choice(
            np.array([place for place, _ in ended], np.int64),
            np.array([end.parent for _, end in ended], np.int64),
            np.array([-end.cost for _, end in ended], np.float64),
            parents,
            tokens,
            kept,
            np.array([end.credit for _, end in ended], np.float64),
            given,
        )

    def advance(self, choice: Choice) -> Self:
        """After a step."""
        assert choice.credits is not None
        lists = (choice.parents.tolist(), choice.tokens.tolist(), (choice.log_probs > -np.inf).tolist())
        moved = []
        for rows, given, parents, tokens, alive in zip(self.rows, choice.credits.tolist(), *lists, strict=True):
            states = [
                rows.after(parent, token) if lives else rows.phrases.start
                for parent, token, lives in zip(parents, tokens, alive, strict=True)
            ]
            prefix = max(0, rows.prefix - 1)
            moved.append(replace(rows, states=states, credits=given, room=rows.room - 1, prefix=prefix))
        return replace(self, rows=tuple(moved))

    def select(self, sentences: Numbers) -> Self:
        """These sentences only."""
        return replace(self, rows=tuple(self.rows[place] for place in sentences.tolist()))

    def _width(self, rows: _Rows) -> int:
        return max(self.beam, _ROWS_OF_A_BANK * (rows.phrases.size + 1)) if rows.phrases.size else self.beam

    def _divide(self, rows: _Rows, candidates: list[_Candidate]) -> tuple[list[_Candidate], list[_Candidate]]:
        """Which candidates of a sentence, sorted, end, and which go on.

        An end must be among the best of those that have written everything: as many as their bank has room for.
        """
        phrases = rows.phrases
        banks: list[list[_Candidate]] = [[] for _ in range(phrases.size + 1)]
        share, more = divmod(self._width(rows), len(banks))
        ends: list[_Candidate] = []
        for candidate in candidates:
            if candidate.token != EOS_ID:
                banks[phrases.size - phrases.missing(rows.after(candidate.parent, candidate.token))].append(candidate)
            elif len(ends) + len(banks[-1]) < share + more:
                ends.append(candidate)
        return ends, _fill(banks, self._width(rows))


def _forbid(log_probs: Floats, rows: _Rows, row: int) -> None:
    """Forbid the end where something is missing, and whatever leaves too little room for it. Shapes: [vocab]."""
    phrases, state = rows.phrases, rows.states[row]
    end = log_probs[EOS_ID]
    room = rows.room - 2  # for what is missing after the next piece: without that piece, and without the end
    if phrases.most_missing(state) > room:
        allowed = [piece for piece in phrases.pieces if phrases.missing(phrases.after(state, piece)) <= room]
        allowed = allowed or phrases.advancing(state)  # there never was room enough: as much as possible
        kept = log_probs[allowed]
        following, other = phrases.missing_after_others(state)
        if following > room:
            log_probs[:] = -np.inf
        elif other > room and phrases.may_follow is not None:
            log_probs[~phrases.may_follow] = -np.inf
        log_probs[list(phrases.pieces)] = -np.inf
        log_probs[allowed] = kept
    log_probs[EOS_ID] = -np.inf if phrases.missing(state) else end


def _further(log_probs: Floats, running: Scores, rows: _Rows) -> dict[tuple[int, int], None]:
    """What the best of all may lack: of each row the pieces of phrases, and the best pieces.

    Shapes: log_probs [rows, vocab], running [rows].
    """
    pairs: dict[tuple[int, int], None] = {}
    for row in np.flatnonzero(running > -np.inf).tolist():
        if not rows.prefix:
            pairs |= {(row, piece): None for piece in rows.phrases.advancing(rows.states[row])}
        scores = log_probs[row].copy()
        for _ in range(_BEST_OF_A_ROW):
            best = int(scores.argmax())
            pairs[row, best] = None
            scores[best] = -np.inf
    return pairs


def _sorted(
    pairs: dict[tuple[int, int], None], log_probs: Floats, running: Scores, rows: _Rows, shares: Floats | None
) -> list[_Candidate]:
    """The candidates that are not forbidden, the best first."""
    parents, tokens = np.array(list(pairs), np.int64).T
    gains = log_probs[parents, tokens].astype(np.float64)
    candidates = []
    for gain, before, (parent, token) in zip(gains.tolist(), running[parents].tolist(), pairs, strict=True):
        if gain + before > -np.inf:
            credit = rows.credit(parent, token, gain, shares)
            candidates.append(_Candidate(-(before + gain + credit), parent, token, rows.credits[parent] + credit))
    return sorted(candidates)


def _fill(banks: list[list[_Candidate]], width: int) -> list[_Candidate]:
    """The candidates that go on, the best first.

    Each bank has an equal share, and the last, which has all, what does not divide; what banks leave free goes to the
    best of the others.
    """
    share, more = divmod(width, len(banks))
    kept: list[_Candidate] = []
    rest: list[_Candidate] = []
    for number, bank in enumerate(banks, 1):
        size = share + more if number == len(banks) else share
        kept += bank[:size]
        rest += bank[size:]
    return sorted(kept + sorted(rest)[: width - len(kept)])
