"""Lexically constrained beam search: every translation contains the required phrases. Paper: [post2018].

A phrase begins where the model ends a word: not after "parâ", which continues as "parâmetro". It is complete if its
tokens occur in sequence and the next token may follow it: the end, or a token that begins a word or is punctuation, so
that "Haustür" does not contain "Haus". Phrases may overlap other phrases; repeated occurrences of one phrase do not
overlap. The automaton is that of [aho1975]: a trie of the phrases with failure links to the longest other phrase prefix
that is a suffix of the node. So when a phrase is abandoned, its tokens count for any phrase that they begin.

The rows of a sentence are divided into banks by the number of phrase tokens they contain, so that a row with an
unlikely phrase token competes with rows that have equally many. The end is forbidden while phrase tokens are missing.
When the remaining length is just sufficient for them, all other tokens are forbidden.

If the source words of a phrase are known, an unlikely phrase token gets credit for the part of its cost that
corresponds to the attention on these words. So a term unknown to the model is placed where it belongs, not at the end.
[hasler2018] uses attention in a similar way.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dragoman.search.beam.algorithms import BeamStep, topk_candidates
from dragoman.search.decoding_protocol import Floats, Numbers, Scores
from dragoman.search.hypothesis import SearchInput
from dragoman.text import EOS_ID

_FOLLOWING, _OTHER = -1, -2  # tokens that are in no phrase, and that may or may not follow one


class PhraseState(NamedTuple):
    """The state of a row. A phrase that has just been written counts only when the next token shows that it ended.

    `met` counts the occurrences of each phrase, up to the required number. `ages`, for phrases required several times,
    is the number of tokens since the last end, up to the length of the phrase: before that it cannot occur again.
    """

    node: int
    met: tuple[int, ...]
    ages: tuple[int, ...]


class PhraseAutomaton:
    """The automaton of the phrases of one sentence, with `size` tokens in total. Transitions are cached."""

    def __init__(self, phrases: Sequence[Sequence[int]], may_follow: NDArray[np.bool_] | None = None) -> None:
        """`may_follow` [vocab] marks tokens that may follow a phrase, as the first token of a phrase always may."""
        wanted = Counter(tuple(phrase) for phrase in phrases if len(phrase))
        self.phrases = list(wanted)
        self.wanted = tuple(wanted.values())
        self.lengths = tuple(map(len, self.phrases))
        self.tokens = frozenset(token for phrase in self.phrases for token in phrase)
        self.may_follow = may_follow
        self._following = {token for token in self.tokens if may_follow is None or may_follow[token]}
        self._following |= {phrase[0] for phrase in self.phrases}
        self._children: list[dict[int, int]] = [{}]
        self._fallback: list[int] = [0]
        self._prefixes: list[list[tuple[int, int]]] = [
            []
        ]  # of each node: (phrase, length of its prefix that is a suffix of the node)
        self._build()
        self.start = PhraseState(0, (0,) * len(self.phrases), self.lengths)
        self.size = self._left(self.start.met)
        self._after: dict[tuple[PhraseState, int], PhraseState] = {}
        self._missing: dict[PhraseState, int] = {}
        self._advancing: dict[PhraseState, list[int]] = {}
        self._beginning: dict[PhraseState, list[int]] = {}

    def after(self, state: PhraseState, token: int) -> PhraseState:
        """The state after one more token."""
        if token not in self.tokens:
            token = _FOLLOWING if self.may_follow is None or self.may_follow[token] else _OTHER
        return self._known_step(state, token)

    def missing_after_others(self, state: PhraseState) -> tuple[int, int]:
        """Missing tokens after a token that is in no phrase: one that may follow a phrase, and one that may not."""
        following, other = (self.missing(self._known_step(state, token)) for token in (_FOLLOWING, _OTHER))
        return following, other

    def missing(self, state: PhraseState) -> int:
        """Number of tokens that suffice to complete all phrases; each of `advancing` decreases it."""
        known = self._missing.get(state)
        if known is None:
            known = self._missing[state] = self._shortest(state)
        return known

    def advancing(self, state: PhraseState) -> list[int]:
        """The tokens that decrease the number of missing tokens."""
        known = self._advancing.get(state)
        if known is None:
            missing = self.missing(state)
            known = self._advancing[state] = [
                token for token in sorted(self.tokens) if missing and self.missing(self.after(state, token)) < missing
            ]
        return known

    def beginning(self, state: PhraseState) -> list[int]:
        """The tokens that begin a phrase with a new word, except those that continue a phrase or follow one."""
        known = self._beginning.get(state)
        if known is None:
            firsts = {
                phrase[0] for phrase in self.phrases if self.may_follow is not None and self.may_follow[phrase[0]]
            }
            begun = self._prefixes[state.node]
            continuing = {self.phrases[number][depth] for number, depth in begun if depth < self.lengths[number]}
            known = self._beginning[state] = [] if self._just_written(state) else sorted(firsts - continuing)
        return known

    def begun(self, state: PhraseState) -> list[int]:
        """The incomplete phrases that contain the last tokens."""
        return [number for number, _ in self._prefixes[state.node] if state.met[number] < self.wanted[number]]

    def most_missing(self, state: PhraseState) -> int:
        """Maximum number of missing tokens after any next token."""
        return self._left(state.met)

    def _known_step(self, state: PhraseState, token: int) -> PhraseState:
        known = self._after.get((state, token))
        if known is None:
            known = self._after[state, token] = self._step(state, token)
        return known

    def _build(self) -> None:
        depths = [0]
        beginnings: list[list[int]] = [[]]  # of each node: the phrases that begin with it
        for number, phrase in enumerate(self.phrases):
            node = 0
            for token in phrase:
                if token not in self._children[node]:
                    self._children[node][token] = len(self._children)
                    self._children.append({})
                    depths.append(depths[node] + 1)
                    beginnings.append([])
                node = self._children[node][token]
                beginnings[node].append(number)
        self._fallback = [0] * len(depths)
        self._prefixes = [[] for _ in depths]
        reached = [0]
        for node in reached:  # breadth first: the fallback of a node is computed before the node
            for token, child in self._children[node].items():
                self._fallback[child] = self._goto(self._fallback[node], token) if node else 0
                own = [(number, depths[child]) for number in beginnings[child]]
                self._prefixes[child] = own + self._prefixes[self._fallback[child]]
                reached.append(child)

    def _goto(self, node: int, token: int) -> int:
        while node and token not in self._children[node]:
            node = self._fallback[node]
        return self._children[node].get(token, 0)

    def _step(self, state: PhraseState, token: int) -> PhraseState:
        met, ages = state.met, state.ages
        if token == _FOLLOWING or token in self._following:
            met, ages = self._ended(state)
        ages = tuple(
            min(age + 1, length) if wanted > 1 else age
            for age, length, wanted in zip(ages, self.lengths, self.wanted, strict=True)
        )
        return PhraseState(self._goto(state.node, token), met, ages)

    def _ended(self, state: PhraseState) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The counts and ages if a phrase that has just been written ends here."""
        met, ages = list(state.met), list(state.ages)
        for number in self._just_written(state):
            met[number] += 1
            if self.wanted[number] > 1:
                ages[number] = 0
        return tuple(met), tuple(ages)

    def _just_written(self, state: PhraseState) -> list[int]:
        return [
            number
            for number, depth in self._prefixes[state.node]
            if depth == self.lengths[number] <= state.ages[number] and state.met[number] < self.wanted[number]
        ]

    def _left(self, met: tuple[int, ...]) -> int:
        each = zip(self.wanted, met, self.lengths, strict=True)
        return sum((wanted - found) * length for wanted, found, length in each)

    def _shortest(self, state: PhraseState) -> int:
        """Continue the phrase with the longest written prefix, then write the others in sequence.

        After a phrase that has just been written, the next token must be able to follow it; otherwise a longer phrase
        that contains the same word is continued.
        """
        if not self._just_written(state):
            return self._left(state.met) - self._begun(state, self.tokens)
        met, ages = self._ended(state)
        left = self._left(met) - self._begun(PhraseState(state.node, met, ages), self._following)
        begun = self._begun(state, self.tokens - self._following)
        return min(left, self._left(state.met) - begun) if begun else left

    def _begun(self, state: PhraseState, allowed: frozenset[int] | set[int]) -> int:
        """Longest written prefix of an incomplete phrase that continues with one of these tokens."""
        return max(
            (
                depth
                for number, depth in self._prefixes[state.node]
                if depth < self.lengths[number]
                and depth <= state.ages[number]
                and state.met[number] < self.wanted[number]
                and self.phrases[number][depth] in allowed
            ),
            default=0,
        )


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
