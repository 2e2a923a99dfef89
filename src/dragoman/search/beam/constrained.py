"""Lexically constrained beam search: every translation contains the required phrases. Paper: [post2018].

A phrase begins where the model ends a word: not after "parâ", which continues as "parâmetro".

The rows of a sentence are divided into banks by the number of phrase tokens they contain, so that a row with an
unlikely phrase token competes with rows that have equally many. The end is forbidden while phrase tokens are missing.
When the remaining length is just sufficient for them, all other tokens are forbidden.

If the source words of a phrase are known, an unlikely phrase token gets credit for the part of its cost that
corresponds to the attention on these words. So a term unknown to the model is placed where it belongs, not at the end.
[hasler2018] uses attention in a similar way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from dragoman.search.beam.algorithms import BeamStep, topk_candidates
from dragoman.search.beam.phrase_automaton import PhraseAutomaton, PhraseState
from dragoman.search.decoding_protocol import Floats, Numbers, Scores
from dragoman.search.hypothesis import SearchInput
from dragoman.text import EOS_ID

# The first two were chosen on the validation set of Multi30k, with frequent terms and with words not in training.
_PLAUSIBLE = 3.0  # −log p up to which a token gets no credit: the model itself finds the best position for it
_ROWS_OF_A_BANK = 2  # with one, rows with a likely term replace all rows with an unlikely term
_WORD_END = 0.2  # least probability of the end of a word before a phrase
_BEST_OF_A_ROW = 2  # continuations of each row that are always candidates


class _Candidate(NamedTuple):
    """Sorts by log p, the greatest first, then by position in the beam and in the vocabulary."""

    cost: float
    parent: int
    token: int
    credit: float


@dataclass(frozen=True)
class _Rows:
    """The rows of one sentence: phrase states, credits, and the remaining length including the end.

    `prefix` is the number of tokens that the prefix of the sentence still determines; phrases count after it. `sources`
    are the source positions of each of `phrases`.
    """

    phrases: PhraseAutomaton
    sources: list[list[int]]
    states: list[PhraseState]
    credits: list[float]
    room: int
    prefix: int

    def after(self, parent: int, token: int) -> PhraseState:
        state = self.states[parent]
        return state if self.prefix else self.phrases.after(state, token)

    def shares(self, weights: Floats | None) -> Floats | None:
        """Attention of rows on phrases' sources, relative to the most on another word. Shapes: -> [rows, phrases]."""
        if weights is None or self.prefix or not any(self.sources):
            return None
        shares = np.zeros((len(weights), len(self.sources)), np.float32)
        for number, places in enumerate(self.sources):
            on_phrase = weights[:, places].sum(1)
            others = np.delete(weights, places, 1).max(1, initial=0.0)
            shares[:, number] = on_phrase / np.maximum(on_phrase + others, np.finfo(np.float32).tiny)
        return shares

    def credit(self, parent: int, token: int, log_prob: float, shares: Floats | None) -> float:
        """The credit for a phrase token: the part of its cost that corresponds to the attention on its source."""
        if shares is None or token not in self.phrases.tokens or -log_prob <= _PLAUSIBLE:
            return 0.0
        begun = self.phrases.begun(self.after(parent, token))
        return (-log_prob - _PLAUSIBLE) * max((float(shares[parent, number]) for number in begun), default=0.0)


@dataclass(frozen=True)
class ConstrainedBeam:
    """Beam algorithm in which every finished translation contains all phrases of its sentence.

    A sentence uses two rows per bank, or the complete beam if that is more. Further rows, which other sentences need,
    are unused, so results do not depend on the batch. A sentence without phrases gets standard beam search.
    """

    rows: tuple[_Rows, ...]
    beam: int

    @classmethod
    def of(cls, sentences: Sequence[SearchInput], beam: int, limits: Sequence[int]) -> Self:
        """`limits` are the maximum lengths of the translations, including the end."""
        rows: list[_Rows] = []
        for sentence, limit in zip(sentences, limits, strict=True):
            phrases = PhraseAutomaton(sentence.phrases, sentence.may_follow)
            places: dict[tuple[int, ...], list[int]] = {phrase: [] for phrase in phrases.phrases}
            for phrase, source in zip(sentence.phrases, sentence.phrase_sources, strict=False):
                places[tuple(phrase)] += source
            sources = list(places.values())
            rows.append(_Rows(phrases, sources, [phrases.start], [0.0], limit, len(sentence.prefix)))
        return cls(tuple(rows), beam)

    @property
    def width(self) -> int:
        """Number of rows per sentence."""
        return max((self._width(rows) for rows in self.rows), default=self.beam)

    @property
    def needs_attention(self) -> bool:
        """Whether the source of any phrase is known."""
        return any(any(rows.sources) for rows in self.rows)

    def choose(self, log_probs: Floats, running: Scores, weights: Floats | None) -> BeamStep:
        """Shapes: log_probs [sentences, rows, vocab], running [sentences, rows], weights [sentences, rows, src]."""
        for place, rows in enumerate(self.rows):
            if rows.phrases.size and not rows.prefix:
                for row in np.flatnonzero(running[place] > -np.inf).tolist():
                    _forbid(log_probs[place, row], rows, row)
        shape = (len(self.rows), self.width)
        top = topk_candidates(log_probs, running, 2 * shape[1])
        ended: list[tuple[int, _Candidate]] = []
        parents, tokens = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        totals, row_credits = np.full(shape, -np.inf), np.zeros(shape)
        for place, rows in enumerate(self.rows):
            count = 2 * self._width(rows)
            best = zip(*((each[place, :count]).tolist() for each in (top.parents, top.tokens)), strict=True)
            pairs = dict.fromkeys(best)
            if rows.phrases.size:
                pairs |= _additional_pairs(log_probs[place], running[place], rows)
            shares = rows.shares(None if weights is None else weights[place])
            ends, continued = self._divide(rows, _sorted(pairs, log_probs[place], running[place], rows, shares))
            ended += [(place, end) for end in ends]
            for rank, candidate in enumerate(continued):
                parents[place, rank], tokens[place, rank] = candidate.parent, candidate.token
                totals[place, rank], row_credits[place, rank] = -candidate.cost, candidate.credit
        return BeamStep(
            np.array([place for place, _ in ended], np.int64),
            np.array([end.parent for _, end in ended], np.int64),
            np.array([-end.cost for _, end in ended], np.float64),
            parents,
            tokens,
            totals,
            np.array([end.credit for _, end in ended], np.float64),
            row_credits,
        )

    def advance(self, step: BeamStep) -> Self:
        """The algorithm after a step."""
        assert step.credits is not None
        lists = (step.parents.tolist(), step.tokens.tolist(), (step.log_probs > -np.inf).tolist())
        advanced = []
        for rows, row_credits, parents, tokens, alive in zip(self.rows, step.credits.tolist(), *lists, strict=True):
            states = [
                rows.after(parent, token) if is_alive else rows.phrases.start
                for parent, token, is_alive in zip(parents, tokens, alive, strict=True)
            ]
            prefix = max(0, rows.prefix - 1)
            advanced.append(replace(rows, states=states, credits=row_credits, room=rows.room - 1, prefix=prefix))
        return replace(self, rows=tuple(advanced))

    def select(self, sentences: Numbers) -> Self:
        """Keep these sentences."""
        return replace(self, rows=tuple(self.rows[place] for place in sentences.tolist()))

    def _width(self, rows: _Rows) -> int:
        return max(self.beam, _ROWS_OF_A_BANK * (rows.phrases.size + 1)) if rows.phrases.size else self.beam

    def _divide(self, rows: _Rows, candidates: list[_Candidate]) -> tuple[list[_Candidate], list[_Candidate]]:
        """Divide sorted candidates into continued and finished ones, which must be among the best of the last bank."""
        phrases = rows.phrases
        banks: list[list[_Candidate]] = [[] for _ in range(phrases.size + 1)]
        share, remainder = divmod(self._width(rows), len(banks))
        ends: list[_Candidate] = []
        for candidate in candidates:
            if candidate.token != EOS_ID:
                banks[phrases.size - phrases.missing(rows.after(candidate.parent, candidate.token))].append(candidate)
            elif len(ends) + len(banks[-1]) < share + remainder:
                ends.append(candidate)
        return ends, _fill(banks, self._width(rows))


def _forbid(log_probs: Floats, rows: _Rows, row: int) -> None:
    """Forbid the end while tokens are missing, and tokens that leave too little room for them. Shapes: [vocab]."""
    phrases, state = rows.phrases, rows.states[row]
    end = log_probs[EOS_ID]
    room = rows.room - 2  # after the next token and without the end
    if phrases.most_missing(state) > room:
        allowed = [token for token in phrases.tokens if phrases.missing(phrases.after(state, token)) <= room]
        allowed = allowed or phrases.advancing(state)  # the limit is too low for all: as many as possible
        kept = log_probs[allowed]
        following, other = phrases.missing_after_others(state)
        if following > room:
            log_probs[:] = -np.inf
        elif other > room and phrases.may_follow is not None:
            log_probs[~phrases.may_follow] = -np.inf
        log_probs[list(phrases.tokens)] = -np.inf
        log_probs[allowed] = kept
    elif (begins := phrases.beginning(state)) and not _ends_word(log_probs, phrases):
        log_probs[begins] = -np.inf
    log_probs[EOS_ID] = -np.inf if phrases.missing(state) else end


def _ends_word(log_probs: Floats, phrases: PhraseAutomaton) -> bool:
    """Whether the word before the next token may be complete, according to the model. Shapes: [vocab]."""
    assert phrases.may_follow is not None
    if phrases.may_follow[log_probs.argmax()]:
        return True
    return float(np.exp(log_probs[phrases.may_follow]).sum()) >= _WORD_END


def _additional_pairs(log_probs: Floats, running: Scores, rows: _Rows) -> dict[tuple[int, int], None]:
    """Additional candidates: phrase tokens, and each row's best. Shapes: log_probs [rows, vocab], running [rows]."""
    pairs: dict[tuple[int, int], None] = {}
    for row in np.flatnonzero(running > -np.inf).tolist():
        if not rows.prefix:
            pairs |= {(row, token): None for token in rows.phrases.advancing(rows.states[row])}
        scores = log_probs[row].copy()
        for _ in range(_BEST_OF_A_ROW):
            best = int(scores.argmax())
            pairs[row, best] = None
            scores[best] = -np.inf
    return pairs


def _sorted(
    pairs: dict[tuple[int, int], None], log_probs: Floats, running: Scores, rows: _Rows, shares: Floats | None
) -> list[_Candidate]:
    """The allowed candidates, the best first."""
    parents, tokens = np.array(list(pairs), np.int64).T
    gains = log_probs[parents, tokens].astype(np.float64)
    candidates = []
    for gain, before, (parent, token) in zip(gains.tolist(), running[parents].tolist(), pairs, strict=True):
        if gain + before > -np.inf:
            credit = rows.credit(parent, token, gain, shares)
            candidates.append(_Candidate(-(before + gain + credit), parent, token, rows.credits[parent] + credit))
    return sorted(candidates)


def _fill(banks: list[list[_Candidate]], width: int) -> list[_Candidate]:
    """The continued candidates, best first; banks have equal shares (the last the rest), the best fill gaps."""
    share, remainder = divmod(width, len(banks))
    kept: list[_Candidate] = []
    rest: list[_Candidate] = []
    for number, bank in enumerate(banks, 1):
        size = share + remainder if number == len(banks) else share
        kept += bank[:size]
        rest += bank[size:]
    return sorted(kept + sorted(rest)[: width - len(kept)])
