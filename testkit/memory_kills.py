"""Processes that store corrections, units, terms and documents and are killed, and what must be stored then."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import random
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection
from typing import Literal

from dragoman.server.database import ServerDatabase
from dragoman.server.glossaries import GlossaryStore, term_dictionary
from dragoman.server.routes.document_files import DocumentStore
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.memory_match import Query

Control = Literal["", "early", "double"]
"""A fault that the check must find: ``early`` acknowledges before it stores, ``double`` stores a correction twice."""
KINDS = ("corrections", "units", "terms", "documents")
BATCH = 20  # units of an import, which are stored together

_PROCESSES = multiprocessing.get_context("forkserver")  # a writer starts in milliseconds
_PROCESSES.set_forkserver_preload(["testkit.memory_kills"])
_START_SECONDS = 600.0


def write_on(url: str, first: int, control: Control, replies: Connection) -> None:
    """Store every second number from `first` on, in each table, and send its kind and number when it is stored."""
    database = ServerDatabase(url)
    store, glossaries, documents = MemoryStore(database.opened), GlossaryStore(database), document_store(database)
    memory, imported = store.create("", "corrections"), store.create("", "imported")
    owner = f"writer {first % 2}"
    begun = term_dictionary("en", "de", {"begun": str(first)})
    glossary = glossaries.create(owner, f"glossary {first}", [begun]).id

    def correct(number: int) -> None:
        for again in range(2):  # a client that sends it again
            before = str(again) if control == "double" else ""
            unit = Unit(f"text {letters(number)}", f"translation {number}", before=before)
            store.correct(memory, "en", "de", unit)

    def add_units(number: int) -> None:
        units = [Unit(f"unit {letters(each)} of {letters(number)}", str(number)) for each in range(BATCH)]
        store.add(imported, "en", "de", units)

    def add_term(number: int) -> None:
        terms = term_dictionary("en", "de", {f"term {letters(number)}": str(number)})
        glossaries.change(owner, glossary, lambda found: found.merged([terms]))

    def translate(number: int) -> None:
        secret = f"{number:064X}"
        documents.begin(secret, owner, bytes([number % 2]))
        documents.finish(secret, f"{number}.txt", f"document {number}".encode())

    for number in itertools.count(first, 2):
        for kind, write in zip(KINDS, (correct, add_units, add_term, translate), strict=True):
            if control == "early":
                replies.send((kind, number))
            write(number)
            replies.send((kind, number))


def letters(number: int) -> str:
    """Return a number as letters: texts that differ in digits only would be one for a memory."""
    return str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def document_store(database: ServerDatabase) -> DocumentStore:
    """Return a store that drops no document."""
    return DocumentStore(database, seconds=1e6, max_documents=1 << 20)


class Writer:
    """A process that stores numbers from `first` on, and those that it has acknowledged, by kind."""

    def __init__(self, url: str, first: int, control: Control) -> None:
        self._replies, sender = _PROCESSES.Pipe(duplex=False)
        self.process = _PROCESSES.Process(target=write_on, args=(url, first, control, sender), daemon=True)
        self.process.start()
        sender.close()
        self.stored: dict[str, set[int]] = {kind: set() for kind in KINDS}
        self.last = first
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):  # a message may be cut off
            while True:
                kind, self.last = self._replies.recv()
                self.stored[kind].add(self.last)

    def kill(self) -> None:
        """Kill the process; what it acknowledged is complete then."""
        self.process.kill()
        self.process.join()
        self._reader.join()
        self._replies.close()


def kill_writers(
    url: str, kills: int, seed: int = 1, *, control: Control = "", seconds: float = 1e9
) -> tuple[int, dict[str, int]]:
    """Kill writers and check the database; return the number of kills, and of what was acknowledged by kind.

    Raises `AssertionError` if something acknowledged is missing, or something is stored twice or by half.
    """
    rng = random.Random(seed)
    Database.open(url).close()
    acknowledged: dict[str, set[int]] = {kind: set() for kind in KINDS}
    writers = [Writer(url, 0, control), Writer(url, 1, control)]
    end, count = time.monotonic() + seconds, 0

    def stop(writer: Writer) -> None:
        writer.kill()
        for kind, numbers in writer.stored.items():
            acknowledged[kind] |= numbers

    try:
        while count < kills and time.monotonic() < end:
            place = rng.randrange(2)
            deadline = time.monotonic() + _START_SECONDS
            while not writers[place].stored["documents"] and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.2)
            stop(writers[place])
            if not writers[place].stored["documents"]:
                raise RuntimeError(f"a writer must store something within {_START_SECONDS:.0f} s")
            writers[place] = Writer(url, writers[place].last + 4, control)  # the next one may be stored by half
            count += 1
    finally:
        for writer in writers:
            stop(writer)
    check_stored(url, acknowledged, count)
    return count, {kind: len(numbers) for kind, numbers in acknowledged.items()}


def check_stored(url: str, acknowledged: dict[str, set[int]], kills: int) -> None:
    """Compare the database with what was acknowledged: nothing is lost, doubled, or stored by half."""
    found: dict[str, Counter[int]] = {kind: Counter() for kind in KINDS}
    with contextlib.closing(Database.open(url)) as database:
        store = MemoryStore(database)
        memory, imported = store.get("", "corrections"), store.get("", "imported")
        found["corrections"].update(int(each.target.removeprefix("translation ")) for each in store.units(memory))
        units = Counter(int(each.target) for each in store.units(imported))
        assert set(units.values()) == {BATCH}, "an import must be stored as a whole, and once"
        found["units"].update(units.keys())
        assert (memory.units, imported.units) == (found["corrections"].total(), units.total()), "counts must be right"
        texts = [Query(f"text {letters(number)}") for number in sorted(acknowledged["corrections"])]
        for query, matches in zip(texts, store.look_up([memory], "en", "de", texts, threshold=99), strict=True):
            assert matches, f"{query.text!r} is lost: it must be an exact match"
    server = ServerDatabase(url)
    with contextlib.closing(server):
        names: Counter[str] = Counter()
        for owner in ("writer 0", "writer 1"):
            for glossary in GlossaryStore(server).of_owner(owner):
                names[glossary.name] += 1
                terms = glossary.dictionaries[0].terms
                found["terms"].update(int(number) for term, number in terms.items() if term != "begun")
        assert set(names.values()) == {1}, "a glossary must be stored once"
        documents = document_store(server)
        for number in range(max(acknowledged["documents"]) + 5):
            stored = documents.get(f"{number:064X}")
            if stored is not None and stored.status == "done":
                content = asyncio.run(_content(documents, f"{number:064X}"))
                assert content == f"document {number}".encode(), f"document {number} must be complete"
                found["documents"][number] += 1
    for kind, numbers in acknowledged.items():
        assert not (lost := numbers - found[kind].keys()), f"{len(lost)} acknowledged {kind} are lost"
        assert set(found[kind].values()) == {1}, f"no {kind} may be stored twice"
        assert len(found[kind]) <= len(numbers) + kills + 2, f"a kill may leave one of {kind} that has no reply"


async def _content(documents: DocumentStore, secret: str) -> bytes:
    found = documents.get(secret)
    assert found is not None
    return b"".join([part async for part in documents.chunks(found)])
