"""Use translation memories in translators: exact matches replace translations, similar ones are returned as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from dragoman.environment import require
from dragoman.errors import ConfigError
from dragoman.storage.database import Database

if TYPE_CHECKING:
    from dragoman.storage.memories import MemoryStore, StoredMemory

USED = 99
"""Score from which a match replaces a translation by default: the same text, perhaps with other numbers."""
SHOWN = 70
_MATCHES = 3  # of a text


@dataclass(frozen=True)
class MemoryMatch:
    """A unit of a translation memory that is like a text."""

    score: int
    """101: the same text and neighbours; 100: the same text; 99: with other numbers or placeholders, which `text` has;
    less: share of words in common."""
    source: str
    text: str
    memory: str
    """Name of the memory."""
    differences: tuple[tuple[str, str], ...] = ()
    """Words of the source that differ, each with those of the text in their place."""


@dataclass(frozen=True)
class MemoryReader:
    """Memories that translations are taken from, the preferred one first."""

    store: MemoryStore
    memories: tuple[StoredMemory, ...]
    used: int = USED
    """Score from which a match replaces a translation."""
    shown: int = SHOWN
    """Score from which matches are returned."""
    repairs: bool = False
    """Whether the model repairs similar matches, so that they replace translations as well."""

    @classmethod
    def open(
        cls, *names: str, database: str | None = None, owner: str = "", used: int = USED, repairs: bool = False
    ) -> Self:
        """Open memories by name, in a database by its URL or the default one."""
        store = open_memory_store(database)
        if not 1 <= used <= 101:
            raise ConfigError(f"memory_threshold must be between 1 and 101, got {used}; {USED} is the same text")
        return cls(store, tuple(store.get(owner, name) for name in names), used, repairs=repairs)

    @property
    def state(self) -> list[Any]:
        """All that its matches depend on, as plain values."""
        return [[each.id, each.units, each.updated] for each in self.memories] + [self.used, self.repairs]

    def find(self, source: str, target: str, texts: Sequence[str]) -> list[tuple[MemoryMatch, ...]]:
        """Return the matches of texts that follow each other, the best first."""
        from dragoman.storage.memory_match import Query  # noqa: PLC0415 -- an extra

        neighbours = ["", *texts, ""]
        queries = [Query(text, *neighbours[place : place + 3 : 2]) for place, text in enumerate(texts)]
        threshold = min(self.used, self.shown)
        found = self.store.look_up(self.memories, source, target, queries, threshold=threshold, limit=_MATCHES)
        return [
            tuple(
                MemoryMatch(match.score, match.unit.source, match.text, match.memory, tuple(match.differences(text)))
                for match in matches
            )
            for text, matches in zip(texts, found, strict=True)
        ]

    def chosen(self, matches: Sequence[MemoryMatch]) -> MemoryMatch | None:
        """Return the match that replaces a translation."""
        return matches[0] if matches and matches[0].score >= self.used else None


KnownTranslations = tuple[MemoryReader, Sequence[Sequence[MemoryMatch]]]
"""A memory, and the matches of each text."""


def open_memory_store(database: str | None) -> MemoryStore:
    """Open the memories of a database."""
    for package in ("sqlalchemy", "rapidfuzz"):
        require(package, "memory", "a translation memory")
    opened = Database.open(database)
    from dragoman.storage.memories import MemoryStore  # noqa: PLC0415 -- an extra

    return MemoryStore(opened)
