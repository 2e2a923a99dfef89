"""Processes that store corrections and are killed, and what must be stored then."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
import time

from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore
from dragoman.storage.memory_match import Query

WRITER = """
import sys
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
store, number = MemoryStore(Database.open(sys.argv[1])), int(sys.argv[2])
memory = store.create("", "corrections")
while True:
    for _ in range(2):  # a client that sends it again
        store.correct(memory, "en", "de", Unit(f"text of writer {number:x}", f"translation {number}"))
    print(number, flush=True)
    number += 2
"""


class Writer:
    """A process that stores corrections with numbers from `first`, and the numbers that it printed."""

    def __init__(self, url: str, first: int) -> None:
        command = [sys.executable, "-c", WRITER, url, str(first)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.numbers: list[int] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.numbers.append(int(line))

    def kill(self) -> list[int]:
        """Kill the process and return what it printed."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.numbers


def kill_writers(url: str, kills: int, seed: int = 1) -> int:
    """Kill writers, check the memory, and return the number of acknowledged corrections."""
    rng = random.Random(seed)
    Database.open(url).close()
    acknowledged: set[int] = set()
    writers = [Writer(url, 0), Writer(url, 1)]
    try:
        for _ in range(kills):
            place = rng.randrange(2)
            deadline = time.monotonic() + 60
            while not writers[place].numbers and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.random() * 0.2)
            done = writers[place].kill()
            assert done, "a writer must have stored something"
            acknowledged.update(done)
            writers[place] = Writer(url, max(done) + 2)
    finally:
        for writer in writers:
            acknowledged.update(writer.kill())
    with contextlib.closing(Database.open(url)) as database:
        store = MemoryStore(database)
        memory = store.get("", "corrections")
        stored = [int(unit.target.removeprefix("translation ")) for unit in store.units(memory)]
        assert len(stored) == len(set(stored)) == memory.units, "nothing may be stored twice"
        assert acknowledged <= set(stored), "what was acknowledged must be stored"
        assert len(stored) <= len(acknowledged) + kills + 2, "a kill may store one correction that was not acknowledged"
        texts = [Query(f"text of writer {number:x}") for number in sorted(acknowledged)]
        found = store.look_up([memory], "en", "de", texts, threshold=99)
        for number, matches in zip(sorted(acknowledged), found, strict=True):
            assert matches, f"correction {number} must be an exact match"
    return len(acknowledged)
