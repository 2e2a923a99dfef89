"""What a translation has written of the phrases that it must hold: a state machine over pieces, one a sentence.

A phrase is written where its pieces stand one after the other and what comes next may follow it: the end, or a piece
that begins a word or is punctuation, so that "Haus" is not written by "Haustür". Phrases may overlap others; one that
must come several times does not overlap itself.

The machine is that of [aho1975]: a trie of the phrases, in which each node knows the longest other beginning of a
phrase that ends like it. So when a phrase is abandoned, what was written of it counts for any phrase that it begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Phrases", "State"]

_FOLLOWING, _OTHER = -1, -2  # any piece that is in no phrase, and may or may not follow one


class State(NamedTuple):
    """How far a row is. A phrase that has just been written counts only when the next piece shows that it ended.

    `met` says how often each phrase was written, at most as often as it must be. `ages` says, for phrases that must
    come several times, how many pieces ago it last ended, at most as many as it has: before, it cannot come again.
    """

    node: int
    met: tuple[int, ...]
    ages: tuple[int, ...]


class Phrases:
    """The phrases of one sentence, of `size` pieces together. It remembers what it has worked out, for one search."""

    def __init__(self, phrases: Sequence[Sequence[int]], may_follow: NDArray[np.bool_] | None = None) -> None:
        """`may_follow` [vocab] marks the pieces that may follow a phrase; without, all may. Empty phrases do not count.

        The first piece of a phrase may always follow another phrase.
        """
        wanted = Counter(tuple(phrase) for phrase in phrases if len(phrase))
        self.phrases = list(wanted)
        self.wanted = tuple(wanted.values())
        self.lengths = tuple(map(len, self.phrases))
        self.pieces = frozenset(piece for phrase in self.phrases for piece in phrase)
        self.may_follow = may_follow
        self._following = {piece for piece in self.pieces if may_follow is None or may_follow[piece]}
        self._following |= {phrase[0] for phrase in self.phrases}
        self._children: list[dict[int, int]] = [{}]
        self._fallback: list[int] = [0]
        self._prefixes: list[list[tuple[int, int]]] = [[]]  # of each node: phrases that it ends like the first n of
        self._build()
        self.start = State(0, (0,) * len(self.phrases), self.lengths)
        self.size = self._left(self.start.met)
        self._after: dict[tuple[State, int], State] = {}
        self._missing: dict[State, int] = {}
        self._advancing: dict[State, list[int]] = {}

    def after(self, state: State, piece: int) -> State:
        """Where a row is after one more piece."""
        if piece not in self.pieces:
            piece = _FOLLOWING if self.may_follow is None or self.may_follow[piece] else _OTHER
        return self._known_step(state, piece)

    def missing_after_others(self, state: State) -> tuple[int, int]:
        """What is missing after a piece that is in no phrase: one that may follow a phrase, or one that may not."""
        following, other = (self.missing(self._known_step(state, piece)) for piece in (_FOLLOWING, _OTHER))
        return following, other

    def missing(self, state: State) -> int:
        """So many pieces suffice to write all that is missing; 0 where the translation may end.

        It goes down by at least one with one of the pieces of `advancing`, and never to 0 before all is written.
        """
        known = self._missing.get(state)
        if known is None:
            known = self._missing[state] = self._shortest(state)
        return known

    def advancing(self, state: State) -> list[int]:
        """The pieces that lead to a state in which less is missing."""
        known = self._advancing.get(state)
        if known is None:
            missing = self.missing(state)
            known = self._advancing[state] = [
                piece for piece in sorted(self.pieces) if missing and self.missing(self.after(state, piece)) < missing
            ]
        return known

    def begun(self, state: State) -> list[int]:
        """The phrases that are not met yet, and of which what was just written is a part."""
        return [number for number, _ in self._prefixes[state.node] if state.met[number] < self.wanted[number]]

    def most_missing(self, state: State) -> int:
        """How much may at most be missing after the next piece, whichever it is."""
        return self._left(state.met)

    def _known_step(self, state: State, piece: int) -> State:
        known = self._after.get((state, piece))
        if known is None:
            known = self._after[state, piece] = self._step(state, piece)
        return known

    def _build(self) -> None:
        depths = [0]
        beginnings: list[list[int]] = [[]]  # of each node: the phrases that begin like this
        for number, phrase in enumerate(self.phrases):
            node = 0
            for piece in phrase:
                if piece not in self._children[node]:
                    self._children[node][piece] = len(self._children)
                    self._children.append({})
                    depths.append(depths[node] + 1)
                    beginnings.append([])
                node = self._children[node][piece]
                beginnings[node].append(number)
        self._fallback = [0] * len(depths)
        self._prefixes = [[] for _ in depths]
        reached = [0]
        for node in reached:  # nearest to the root first: what a node falls back to is known before the node
            for piece, child in self._children[node].items():
                self._fallback[child] = self._goto(self._fallback[node], piece) if node else 0
                own = [(number, depths[child]) for number in beginnings[child]]
                self._prefixes[child] = own + self._prefixes[self._fallback[child]]
                reached.append(child)

    def _goto(self, node: int, piece: int) -> int:
        while node and piece not in self._children[node]:
            node = self._fallback[node]
        return self._children[node].get(piece, 0)

    def _step(self, state: State, piece: int) -> State:
        met, ages = state.met, state.ages
        if piece == _FOLLOWING or piece in self._following:
            met, ages = self._ended(state)
        ages = tuple(
            min(age + 1, length) if wanted > 1 else age
            for age, length, wanted in zip(ages, self.lengths, self.wanted, strict=True)
        )
        return State(self._goto(state.node, piece), met, ages)

    def _ended(self, state: State) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What is met, and how long ago, if a phrase that has just been written ends here."""
        met, ages = list(state.met), list(state.ages)
        for number in self._just_written(state):
            met[number] += 1
            if self.wanted[number] > 1:
                ages[number] = 0
        return tuple(met), tuple(ages)

    def _just_written(self, state: State) -> list[int]:
        return [
            number
            for number, depth in self._prefixes[state.node]
            if depth == self.lengths[number] <= state.ages[number] and state.met[number] < self.wanted[number]
        ]

    def _left(self, met: tuple[int, ...]) -> int:
        each = zip(self.wanted, met, self.lengths, strict=True)
        return sum((wanted - found) * length for wanted, found, length in each)

    def _shortest(self, state: State) -> int:
        """Go on with the phrase of which most is written, then write the others one after the other.

        After a phrase that has just been written, what comes next must be able to follow it; or else it is not that
        phrase, and another is gone on with that has more in the same word.
        """
        if not self._just_written(state):
            return self._left(state.met) - self._begun(state, self.pieces)
        met, ages = self._ended(state)
        left = self._left(met) - self._begun(State(state.node, met, ages), self._following)
        begun = self._begun(state, self.pieces - self._following)
        return min(left, self._left(state.met) - begun) if begun else left

    def _begun(self, state: State, allowed: frozenset[int] | set[int]) -> int:
        """How many pieces are written of a phrase that is not met, and that goes on with one of these pieces."""
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
