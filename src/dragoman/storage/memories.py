"""Translation memories: named collections of units, each a source text with its translation, in any language pairs."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from dragoman.errors import ConfigError, DataError, did_you_mean
from dragoman.language_codes import canonical_language, match_rank
from dragoman.storage.database import insert_rows
from dragoman.storage.memory_index import add_postings, find_candidates
from dragoman.storage.memory_match import EXACT, Match, Query, exact_match, fuzzy_match
from dragoman.storage.segment_text import Masked, mask, normalize_segment, segment_words
from dragoman.storage.tables import DIRECTIONS, JOBS, MEMORIES, REVIEWS, UNITS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from dragoman.storage.database import Database

State = Literal["approved", "pending", "rejected"]

MAX_SEGMENT = 10_000
"""Number of characters of a side; longer units are not stored."""
_BATCH = 50_000
_MAX_NAME = 200
_JOB_MICROSECONDS = 24 * 3600 * 1_000_000
_STATE = list(UNITS.c.keys()).index("state")
_CANDIDATES = 300  # that are compared word by word
_COMPARED = 40  # of them at a time, until no other can be better
_MAX_NUMBER = (1 << 31) - 1
_PARAMETERS = 5000  # of one statement
_DIRECTION = UNITS.c.direction + 0
"""Direction in searches by hash: without the sum, SQLite would read all units of the direction."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A source text and its translation."""

    source: str
    target: str
    before: str = ""
    """Source of the unit before it; empty if not known."""
    after: str = ""
    author: str = ""
    created: int = 0
    """Microseconds since 1970; 0 is now."""
    origin: str = ""
    state: State = "approved"


@dataclass(frozen=True, slots=True)
class StoredUnit(Unit):
    """A unit of a memory."""

    direction: int = 0
    number: int = 0

    @property
    def id(self) -> str:
        """Name of the unit among all memories."""
        return f"{self.direction}-{self.number}"


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory and the languages of its units, each with the number of approved ones."""

    id: str
    owner: str
    name: str
    is_shared: bool
    created: int
    updated: int
    directions: tuple[tuple[int, str, str, int], ...] = ()
    """Id, source language, target language, and number of units."""

    @property
    def units(self) -> int:
        return sum(each[3] for each in self.directions)

    def find(self, source: str, target: str) -> list[int]:
        """Return the directions of a language pair; regions may differ, scripts may not. The closest is first."""
        found = []
        for id_, ours, theirs, _ in self.directions:
            ranks = match_rank(source, ours), match_rank(target, theirs)
            if ranks[0] is not None and ranks[1] is not None:
                found.append((ranks[0] + ranks[1], id_))
        return [id_ for _, id_ in sorted(found)]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of the units of an import."""

    added: int = 0
    known: int = 0
    """Units that the memory had."""
    skipped: int = 0
    """Units with an empty or very long side."""


class MemoryStore:
    """Memories of a database. `owner` is the name of an API key; the empty name is the operator's.

    A client reads its own memories and those that are shared; only the owner changes one.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def create(self, owner: str, name: str, *, shared: bool = False) -> StoredMemory:
        """Return the memory of a name, which is created if missing."""
        if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
            raise ConfigError(
                f"the name of a memory must have 1 to {_MAX_NAME} printable characters, got {len(name)}; change it"
            )
        made = {"id": str(uuid.uuid4()), "owner": owner, "name": name, "is_shared": shared}
        now = _now()
        with suppress(IntegrityError), self.database.write() as connection:  # if another process was faster
            found = self._select(connection, MEMORIES.c.owner == owner, MEMORIES.c.name == name)
            if found:
                return found[0]
            connection.execute(insert(MEMORIES).values(**made, created=now, updated=now))
        return self.get(owner, name, own=True)

    def visible(self, owner: str | None) -> list[StoredMemory]:
        """Return the memories that a client may read, its own first; all memories if `owner` is None."""
        visible = () if owner is None else (or_(MEMORIES.c.owner == owner, MEMORIES.c.is_shared),)
        with self.database.read() as connection:
            found = self._select(connection, *visible)
        return sorted(found, key=lambda each: (owner not in (None, each.owner), each.owner, each.name))

    def get(self, owner: str, name: str, *, own: bool = False) -> StoredMemory:
        """Return the memory of a client with a name or an id; `own` leaves out the shared ones of others."""
        visible = MEMORIES.c.owner == owner if own else or_(MEMORIES.c.owner == owner, MEMORIES.c.is_shared)
        with self.database.read() as connection:
            found = self._select(connection, visible, or_(MEMORIES.c.name == name, MEMORIES.c.id == name))
            if not found:
                known = connection.execute(select(MEMORIES.c.name).where(visible).limit(100)).scalars().all()
                raise ConfigError(f"there is no memory {name!r}{did_you_mean(name, known, otherwise='memories')}")
        return min(found, key=lambda each: each.owner != owner)

    def remove(self, memory: StoredMemory) -> None:
        """Delete a memory and its units."""
        with self.database.write() as connection:
            connection.execute(delete(MEMORIES).where(MEMORIES.c.id == memory.id))

    def share(self, memory: StoredMemory, *, shared: bool) -> None:
        """Let all keys read a memory, or its owner only."""
        with self.database.write() as connection:
            connection.execute(update(MEMORIES).where(MEMORIES.c.id == memory.id).values(is_shared=shared))

    def add(self, memory: StoredMemory, source: str, target: str, units: Iterable[Unit]) -> Added:
        """Add units of a language pair, those that are new; each batch is a transaction."""
        direction = self._direction(memory, canonical_language(source), canonical_language(target))
        counts = [0, 0, 0]
        rest = iter(units)
        while batch := list(islice(rest, _BATCH)):
            rows, texts = _rows(batch)
            with self.database.write() as connection:
                added = _add_new(connection, direction, rows, texts)
                changed = update(MEMORIES).where(MEMORIES.c.id == memory.id)
                connection.execute(changed.values(updated=_now()))
            counts = [counts[0] + added, counts[1] + len(rows) - added, counts[2] + len(batch) - len(rows)]
        return Added(*counts)

    def correct(self, memory: StoredMemory, source: str, target: str, unit: Unit) -> StoredUnit:
        """Add a unit, or make the same one that exists the newest; return the stored unit."""
        self.add(memory, source, target, [unit])
        direction = self._direction(memory, canonical_language(source), canonical_language(target))
        ours, theirs = normalize_segment(unit.source), normalize_segment(unit.target)
        same = (
            _DIRECTION.in_([direction]),
            UNITS.c.hash == mask(ours).hash,
            UNITS.c.source == ours,
            UNITS.c.target == theirs,
        )
        with self.database.write() as connection:
            connection.execute(
                update(UNITS).where(*same).values(created=_now(), author=normalize_segment(unit.author)[:_MAX_NAME])
            )
            row = connection.execute(select(UNITS).where(*same).order_by(UNITS.c.number)).first()
        if row is None:
            raise ConfigError("the memory was removed meanwhile; send the correction again")
        if row.state != unit.state and unit.state == "approved":
            place = f"{row.direction}-{row.number}"
            self.set_state(self.get(memory.owner, memory.id), place, "approved", reviewer=unit.author)
            return replace(_unit(row), state="approved")
        return _unit(row)

    def units(
        self,
        memory: StoredMemory,
        directions: Sequence[int] = (),
        *,
        state: State | None = "approved",
        text: str = "",
        after: tuple[int, int] = (0, -1),
        limit: int | None = None,
    ) -> Iterator[StoredUnit]:
        """Return units in their order, with a text in one side if given; `after` is the direction and number before."""
        ids = [each for each, *_ in memory.directions if not directions or each in directions]
        if not ids:
            return
        query = select(UNITS).where(
            UNITS.c.direction.in_(ids),
            or_(UNITS.c.direction > after[0], and_(UNITS.c.direction == after[0], UNITS.c.number > after[1])),
        )
        if state is not None:
            query = query.where(UNITS.c.state == state)
        if text:
            query = query.where(
                or_(*(side.icontains(text, autoescape=True) for side in (UNITS.c.source, UNITS.c.target)))
            )
        query = query.order_by(UNITS.c.direction, UNITS.c.number).limit(limit)
        with self.database.read() as connection:
            for row in connection.execution_options(yield_per=1000).execute(query):
                yield _unit(row)

    def by_id(self, memories: Sequence[StoredMemory], ids: Sequence[str]) -> dict[str, StoredUnit]:
        """Return those of the units that are in some memories."""
        known = [id_ for memory in memories for id_, *_ in memory.directions]
        places = {tuple(map(int, each.split("-"))) for each in ids}
        found: dict[str, StoredUnit] = {}
        with self.database.read() as connection:
            for direction in {place[0] for place in places} & set(known):
                numbers = [number for each, number in places if each == direction]
                query = select(UNITS).where(UNITS.c.direction == direction, UNITS.c.number.in_(numbers))
                found |= {(unit := _unit(row)).id: unit for row in connection.execute(query)}
        return found

    def set_state(self, memory: StoredMemory, unit: str, state: State | None, *, reviewer: str = "") -> bool:
        """Approve or reject a unit, by its id, or delete it if the state is None; False if the memory has none.

        The reviewer, the name of an API key or the empty name of the operator, is stored with the time.
        """
        direction, _, number = (each if each.isdecimal() else "-1" for each in unit.partition("-"))
        if int(direction) not in [each for each, *_ in memory.directions] or int(number) >= _MAX_NUMBER:
            return False
        chosen = UNITS.c.direction == int(direction), UNITS.c.number == int(number)
        with self.database.write() as connection:
            counter = update(DIRECTIONS).where(DIRECTIONS.c.id == int(direction))
            connection.execute(counter.values(next=DIRECTIONS.c.next))  # locks the row, before the unit is read
            old = connection.execute(select(UNITS.c.state).where(*chosen)).scalar()
            if old is None:
                return False
            connection.execute(
                delete(UNITS).where(*chosen) if state is None else update(UNITS).where(*chosen).values(state=state)
            )
            if state not in (None, old):
                review = {"direction": int(direction), "number": int(number), "state": state, "reviewer": reviewer}
                connection.execute(insert(REVIEWS).values(**review, created=_now()))
            more = (state == "approved") - (old == "approved")
            connection.execute(counter.values(units=DIRECTIONS.c.units + more))
        return True

    def reviews(self, units: Sequence[StoredUnit]) -> dict[str, tuple[str, int]]:
        """Return who approved or rejected units last, and when, by the id of the unit."""
        found: dict[str, tuple[str, int]] = {}
        with self.database.read() as connection:
            for direction in {each.direction for each in units}:
                numbers = [each.number for each in units if each.direction == direction]
                of_units = REVIEWS.c.direction == direction, REVIEWS.c.number.in_(numbers)
                for row in connection.execute(select(REVIEWS).where(*of_units).order_by(REVIEWS.c.id)):
                    found[f"{row.direction}-{row.number}"] = row.reviewer, row.created
        return found

    def add_job(self, job: str, owner: str, memory: str, operation: str, status: str = "awaiting_input") -> None:
        """Store an import or export; those of earlier days are deleted."""
        values = {"id": job, "owner": owner, "memory": memory, "operation": operation, "status": status}
        now = _now()
        with self.database.write() as connection:
            connection.execute(delete(JOBS).where(JOBS.c.created < now - _JOB_MICROSECONDS))
            connection.execute(insert(JOBS).values(**values, error="", skipped=0, created=now))

    def find_job(self, job: str) -> Row[Any] | None:
        with self.database.read() as connection:
            return connection.execute(select(JOBS).where(JOBS.c.id == job)).first()

    def end_job(self, job: str, status: str, *, error: str = "", skipped: int = 0) -> None:
        with self.database.write() as connection:
            changed = update(JOBS).where(JOBS.c.id == job)
            connection.execute(changed.values(status=status, error=error[:1000], skipped=skipped))

    def look_up(
        self,
        memories: Sequence[StoredMemory],
        source: str,
        target: str,
        queries: Sequence[Query],
        *,
        threshold: float = EXACT,
        limit: int = 1,
    ) -> list[list[Match]]:
        """Return the best matches of each text at or above a score, the best first; of equal ones, the newest.

        Below `EXACT`, units with other words are searched too, which takes longer.
        """
        found: list[list[Match]] = [[] for _ in queries]
        names = {id_: memory.name for memory in memories for id_ in memory.find(source, target)}
        if not names or not queries:
            return found
        masked = [mask(normalize_segment(each.text)) for each in queries]
        with self.database.read() as connection:
            by_hash = _by_hash(connection, names, {each.hash for each in masked})
            for place, (query, each) in enumerate(zip(queries, masked, strict=True)):
                rows = by_hash.get(each.hash, ())
                matches = [match for row in rows if (match := exact_match(query, each, _unit(row))) is not None]
                if (
                    threshold < EXACT
                    and len(each.text) <= MAX_SEGMENT
                    and not any(match.score >= EXACT for match in matches)
                ):
                    matches += _fuzzy(connection, names, each, threshold, limit)
                matches.sort(key=lambda match: (-match.score, -match.unit.created, match.unit.id))
                distinct = {match.text: match for match in reversed(matches) if match.score >= threshold}
                found[place] = [match.named(names[match.unit.direction]) for match in reversed(distinct.values())][
                    :limit
                ]
        return found

    def _direction(self, memory: StoredMemory, source: str, target: str) -> int:
        for _ in range(2):  # another process may be faster, or remove the memory
            with suppress(IntegrityError), self.database.write() as connection:
                query = select(DIRECTIONS.c.id).where(
                    DIRECTIONS.c.memory == memory.id, DIRECTIONS.c.source == source, DIRECTIONS.c.target == target
                )
                if (id_ := connection.execute(query).scalar()) is not None:
                    return int(id_)
                made = insert(DIRECTIONS).values(memory=memory.id, source=source, target=target, next=0, units=0)
                return int(connection.execute(made.returning(DIRECTIONS.c.id)).scalar_one())
        raise ConfigError(f"the memory {memory.name!r} was removed meanwhile; create it again")

    @staticmethod
    def _select(connection: Connection, *conditions: Any) -> list[StoredMemory]:
        rows = connection.execute(select(MEMORIES).where(*conditions)).all()
        languages: dict[str, list[tuple[int, str, str, int]]] = {row.id: [] for row in rows}
        query = select(DIRECTIONS).where(DIRECTIONS.c.memory.in_(languages)).order_by(DIRECTIONS.c.id)
        for each in connection.execute(query):
            languages[each.memory].append((each.id, each.source, each.target, each.units))
        return [replace(StoredMemory(*row), directions=tuple(languages[row.id])) for row in rows]


def _now() -> int:
    return time.time_ns() // 1000


class _Names(dict[str, str]):
    """Normal forms of authors and origins, which few units differ in."""

    def __missing__(self, name: str) -> str:
        self[name] = made = normalize_segment(name)[:_MAX_NAME]
        return made


def _rows(units: Sequence[Unit]) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Return the rows of units, without direction and number, and their sources without variables.

    Units with an empty or very long side are left out.
    """
    rows: list[tuple[Any, ...]] = []
    texts: list[str] = []
    names = _Names()
    now = _now()
    for unit in units:
        source, target = normalize_segment(unit.source), normalize_segment(unit.target)
        if not source or not target or max(len(source), len(target)) > MAX_SEGMENT:
            continue
        masked = mask(source)
        before, after = (normalize_segment(each)[:MAX_SEGMENT] if each else "" for each in (unit.before, unit.after))
        author, origin = names[unit.author], names[unit.origin]
        rows.append((masked.hash, source, target, before, after, author, unit.created or now, unit.state, origin))
        texts.append(masked.text)
    return rows, texts


_IDENTITY = ("source", "target", "before", "after")


def _add_new(connection: Connection, direction: int, rows: Sequence[tuple[Any, ...]], texts: Sequence[str]) -> int:
    """Add the rows that the memory does not have; the caller's transaction keeps others from adding meanwhile."""
    counter = update(DIRECTIONS).where(DIRECTIONS.c.id == direction)
    first = connection.execute(counter.values(next=DIRECTIONS.c.next).returning(DIRECTIONS.c.next)).scalar()
    if first is None:
        raise ConfigError("the memory was removed meanwhile; create it again")
    known: set[tuple[Any, ...]] = set()
    hashes = sorted({row[0] for row in rows}) if first else []
    for start in range(0, len(hashes), _PARAMETERS):
        some = UNITS.c.hash.in_(hashes[start : start + _PARAMETERS])
        query = select(*(UNITS.c[name] for name in _IDENTITY)).where(_DIRECTION.in_([direction]), some)
        known.update(map(tuple, connection.execute(query)))
    new: list[tuple[Any, ...]] = []
    added: list[str] = []
    for row, text in zip(rows, texts, strict=True):
        if (key := row[1:5]) not in known:
            known.add(key)
            new.append((direction, first + len(new), *row))
            added.append(text)
    if not new:
        return 0
    if first + len(new) > _MAX_NUMBER:
        raise DataError("a memory must have fewer than 2,147,483,647 units per language pair; create another one")
    insert_rows(connection, UNITS, new)
    add_postings(connection, direction, first, added)
    approved = sum(row[_STATE] == "approved" for row in new)
    connection.execute(counter.values(next=first + len(new), units=DIRECTIONS.c.units + approved))
    return len(new)


def _unit(row: Row[Any]) -> StoredUnit:
    values = {name: value for name, value in row._mapping.items() if name != "hash"}  # noqa: SLF001 -- its public name
    return StoredUnit(**values)


def _by_hash(connection: Connection, directions: Collection[int], hashes: set[int]) -> dict[int, list[Row[Any]]]:
    """Return the approved units with the same text except for variables."""
    found: dict[int, list[Row[Any]]] = {}
    ordered = sorted(hashes)
    for start in range(0, len(ordered), _PARAMETERS):
        query = select(UNITS).where(
            _DIRECTION.in_(directions),
            UNITS.c.hash.in_(ordered[start : start + _PARAMETERS]),
            UNITS.c.state == "approved",
        )
        for row in connection.execute(query):
            found.setdefault(row.hash, []).append(row)
    return found


def _fuzzy(
    connection: Connection, directions: Collection[int], query: Masked, threshold: float, limit: int
) -> list[Match]:
    """Return the most similar units, or those that are as good."""
    matches: list[Match] = []
    words = segment_words(query.text)
    per_term = len(set(words)) / max(1, len(words)) if query.text.isascii() else 0.5  # a character is in two pairs
    changed = int((1 - threshold / 100) * len(words) + 1e-9)
    missing = changed if query.text.isascii() else 2 * changed
    for direction in directions:
        candidates = find_candidates(connection, direction, query.text, missing, _CANDIDATES)
        found = f"FROM memory_units WHERE direction = {direction} AND number IN"
        best: dict[int, int] = {}
        for start in range(0, len(candidates), _COMPARED):
            some = candidates[start : start + _COMPARED]
            possible = 100 - 100 * per_term * (1 - some[0][1])
            ranked = sorted(best.values(), reverse=True)
            if possible + 0.5 < threshold or (len(ranked) >= limit and ranked[limit - 1] > possible):
                break
            numbers = ", ".join(str(number) for number, _ in some)
            chosen = f"SELECT number, source {found} ({numbers}) AND state = 'approved'"
            best |= fuzzy_match(query, connection.exec_driver_sql(chosen), threshold)
        if best:
            rows = connection.exec_driver_sql(f"SELECT * {found} ({', '.join(map(str, best))})")
            matches += [Match(_unit(row), best[row.number], row.target) for row in rows]
    return matches
