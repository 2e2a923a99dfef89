"""Memories and corrections of a server: which ones a request may use, and how its corrections are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.evaluation.quality_flags import text_flags
from dragoman.server.errors import NotFound, RequestError
from dragoman.storage.memory_reader import USED, MemoryReader

if TYPE_CHECKING:
    from dragoman.server.database import ServerDatabase
    from dragoman.storage.memories import MemoryStore, StoredMemory, StoredUnit

CORRECTIONS = "corrections"
"""Name of the memory of each key that has its corrections."""
MAX_CORRECTION = 5000
"""Most characters of a side of a correction."""
_REJECTED = frozenset({"repetition", "from-nothing", "empty", "placeholders", "copied"})
"""Flags of a correction that is not accepted: it would do harm as an exact match."""
_MIN_DISTINCT = 3  # characters of a correction of more than _SHORT letters
_SHORT = 8


class ServerMemories:
    """Memories of the database of a server; none if that has no address."""

    def __init__(self, database: ServerDatabase, names: Sequence[str] = (), used: int = USED) -> None:
        self._database, self._names, self._used = database, names, used
        if names:
            for name in names:
                self.store.get("", name)

    @property
    def is_used(self) -> bool:
        """Whether there may be memories."""
        return self._database.url is not None

    @property
    def store(self) -> MemoryStore:
        """The memories; raises `NotFound` if the server has no database."""
        if not self.is_used:
            raise NotFound("this server has no database for memories; its operator can name one with --database")
        from dragoman.storage.memories import MemoryStore  # noqa: PLC0415 -- an extra

        return MemoryStore(self._database.opened)

    def readable(self, owner: str) -> list[StoredMemory]:
        """Return the memories that a client may read: its own, the shared ones, and those of the server."""
        found = {each.id: each for each in self.store.visible(owner)}
        found |= {each.id: each for name in self._names for each in [self.store.get("", name)]}
        return list(found.values())

    def find(self, owner: str, name: str, *, own: bool = False) -> StoredMemory:
        """Return a memory that a client may read, or change if `own`, by its name or id; raises `NotFound`."""
        found = self.store.visible(owner) if own else self.readable(owner)
        for each in found:
            if name in (each.id, each.name) and (each.owner == owner or not own):
                return each
        raise NotFound("there is no memory of this name or id; /v1/memories lists all")

    def reader(self, owner: str, name: str | None = None, used: int | None = None) -> MemoryReader | None:
        """Return what a request reads, if anything: its corrections, a memory that it names, those of the server."""
        if not name and not self.is_used:
            return None
        named = [self.find(owner, name)] if name else []
        always = [each for each in self.readable(owner) if self._is_always_read(each, owner)]
        memories = {each.id: each for each in (*named, *always)}
        return (
            None
            if not memories
            else MemoryReader(self.store, tuple(memories.values()), self._used if used is None else used)
        )

    def _is_always_read(self, memory: StoredMemory, owner: str) -> bool:
        is_named = not memory.owner and memory.name in self._names
        return is_named or (memory.owner, memory.name) == (owner, CORRECTIONS)

    def correct(
        self,
        owner: str,
        source_text: str,
        target_text: str,
        languages: tuple[str, str],
        *,
        approved: bool,
        author: str = "",
    ) -> StoredUnit:
        """Store a correction; when this returns, it is on the disk. Raises `RequestError` if it is no translation."""
        from dragoman.storage.memories import Unit  # noqa: PLC0415 -- an extra

        _check_correction(source_text, target_text, languages[0])
        memory = self.store.create(owner, CORRECTIONS)
        state = "approved" if approved else "pending"
        unit = Unit(source_text, target_text, author=author or owner, state=state, origin="correction")  # type: ignore[arg-type]
        return self.store.correct(memory, *languages, unit)


def _check_correction(source: str, target: str, language: str) -> None:
    """Reject what is no translation: as an exact match it would be returned again and again."""
    if max(len(source), len(target)) > MAX_CORRECTION:
        raise RequestError(f"a correction must have {MAX_CORRECTION:,} characters per side at most; split it")
    letters = [each for each in target.lower() if each.isalpha()]
    is_stuttered = len(letters) > _SHORT and len(set(letters)) < _MIN_DISTINCT
    found = [flag for flag in text_flags(source, target, language) if flag.name in _REJECTED]
    if is_stuttered or found or not target.strip() or not source.strip():
        reason = f"{found[0].name}, {found[0].detail}" if found else "repeated or no letters"
        raise RequestError(f"the correction is no translation of the text: {reason}; correct it")
