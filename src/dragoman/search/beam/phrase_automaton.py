"""Aho-Corasick automaton that tracks which required phrases a partial translation already contains.

A phrase is complete if its tokens occur in sequence and the next token may follow it: the end, or a token that begins
a word or is punctuation, so that "Haustür" does not contain "Haus". Phrases may overlap other phrases; repeated
occurrences of one phrase do not overlap.

The automaton is that of [aho1975]: a trie of the phrases with failure links to the longest other phrase prefix that is
a suffix of the node. So when a phrase is abandoned, its tokens count for any phrase that they begin.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
