"""Sentences that wait, and which of them go together: the order of turns, and batches of like sentences."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from dragoman.api.parts import Part, rows_of
from dragoman.api.request import Request
from dragoman.api.translator import Translator

__all__ = ["Owner", "Sentence", "Waiting", "kind_of"]

_USUAL_ROWS = 5  # that `batch_pieces` is meant for, as in `part_batches`
_MUCH_LONGER = 2  # times, and then some pieces: a short sentence is done when the longest of its batch is
_SOME_PIECES = 8
_ENOUGH = 16  # sentences of a batch, where several are made at once: a larger one is no quicker, and done later
_CHOICE = 2  # batches: among the sentences of so many whose turns are next, those of like length are chosen


class Owner(Protocol):
    """Whose sentences they are."""

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more, or it is too late."""


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence that waits since `since`. The lower its `turn` the sooner it is translated."""

    part: Part
    place: int
    translator: Translator
    request: Request
    owner: Owner
    model: str
    kind: Hashable
    rows: int
    turn: float
    since: float
    length: int = field(init=False)

    def __post_init__(self) -> None:
        """Count the pieces, the end among them."""
        self.length = len(self.part.ids or ()) + 1


def kind_of(part: Part, translator: Translator, request: Request) -> tuple[Hashable, int]:
    """What sentences of one batch must have in common, and how many rows this one takes."""
    rows = rows_of(part, request.search)
    has_phrases = part.sentence is not None and bool(part.sentence.phrases)
    return (id(translator), request.search, request.wants_words, request.tree, has_phrases, rows.bit_length()), rows


class Waiting:
    """All sentences that wait. A batch has at most so many source pieces, padding among them, and so many sentences."""

    def __init__(self, *, pieces: int, sentences: int) -> None:
        self._pieces, self._sentences = pieces, sentences
        self._kinds: dict[Hashable, list[Sentence]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return how many wait."""
        return self._count

    def add(self, sentence: Sentence) -> None:
        """Let one more wait."""
        self._kinds.setdefault(sentence.kind, []).append(sentence)
        self._count += 1

    def drop_over(self) -> list[Sentence]:
        """Take out those that nobody waits for."""
        over = [each for alike in self._kinds.values() for each in alike if each.owner.is_over]
        self._remove(over)
        return over

    def drop_all(self) -> list[Sentence]:
        """Take out every one."""
        everyone = [each for alike in self._kinds.values() for each in alike]
        self._remove(everyone)
        return everyone

    def take(self, free: Callable[[Translator], int]) -> list[Sentence]:
        """Take a batch: the sentence whose turn it is, and with it what is alike; nothing where none may be.

        `free` says how many batches a translator could begin on now: what waits is divided among so many.
        """
        heads = [min(alike, key=_turn) for alike in self._kinds.values() if free(alike[0].translator)]
        if not heads:
            return []
        head = min(heads, key=_turn)
        alike = self._kinds[head.kind]
        most = self._sentences if head.translator.engine.lanes == 1 else min(_ENOUGH, self._sentences)
        most = min(most, -(-len(alike) // free(head.translator)))
        batch = list(self._fitting(head, _first(alike, _CHOICE * most), most))
        self._remove(batch)
        return batch

    @property
    def oldest(self) -> float:
        """Since when the first of those that wait does."""
        return min((each.since for alike in self._kinds.values() for each in alike), default=0.0)

    def _room(self, rows: int) -> int:
        return max(1, self._pieces * _USUAL_ROWS // max(rows, _USUAL_ROWS))

    def _fitting(self, head: Sentence, alike: list[Sentence], most: int) -> Iterator[Sentence]:
        """Take those of the most like length first, as long as they have room together."""
        yield head
        room, longest, count = self._room(max(each.rows for each in alike)), head.length, 1
        shortest, most_pieces = (head.length - _SOME_PIECES) // _MUCH_LONGER, head.length * _MUCH_LONGER + _SOME_PIECES
        for each in sorted(alike, key=lambda other: (abs(other.length - head.length), other.turn)):
            if count == most:
                return
            if each is head or not shortest <= each.length <= most_pieces:
                continue
            longest = max(longest, each.length)
            if longest * (count + 1) > room:
                return
            count += 1
            yield each

    def _remove(self, gone: list[Sentence]) -> None:
        if not gone:
            return
        names = set(map(id, gone))
        for kind in {each.kind for each in gone}:
            left = [each for each in self._kinds[kind] if id(each) not in names]
            if left:
                self._kinds[kind] = left
            else:
                del self._kinds[kind]
        self._count -= len(gone)


def _first(alike: list[Sentence], count: int) -> list[Sentence]:
    """Those whose turns come first: who chose among all would let some wait much longer than others."""
    return alike if len(alike) <= count else heapq.nsmallest(count, alike, key=_turn)


def _turn(sentence: Sentence) -> float:
    return sentence.turn
