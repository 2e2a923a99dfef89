"""From nothing to the first sentence: the wall time of a fresh process."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.decoding.contenders import Contender, python_of
from benchmarks.decoding.drivers.command_line import command, run
from benchmarks.decoding.running import ContenderError, Server, Setting

OURS = (("transformer", "ctranslate2"), ("rnn", "onnx"), ("transformer", "torch"), ("rnn", "torch"))


@dataclass(frozen=True)
class Start:
    """The seconds of several fresh processes."""

    name: str
    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def our_starts(facts: dict[str, Any], text: str, threads: int, times: int) -> list[Start]:
    """`dragoman translate` of one sentence, as it is typed; its exports are there."""
    found = []
    for model, engine in OURS:
        words = command(facts[model]["bundle"], engine, "float32", threads, 5)
        seconds = _repeat(times, lambda words=words: run(words, [text]).seconds)  # type: ignore[misc]
        found.append(Start(f"`dragoman translate`, {engine}, {model}", seconds))
    return found


def other_starts(
    sides: Sequence[Contender], pythons: dict[str | None, Path], task: Path, threads: int, times: int
) -> list[Start]:
    """Drivers of the others: imports, loading, one sentence with a beam of 5."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for contender in sides:
            words = contender.command(python_of(contender, pythons), task, threads, 0)

            def start(words: list[str] = words) -> float:
                began = time.perf_counter()
                server = Server(words, Path(folder) / "log.txt", threads)
                try:
                    server.ask(Setting(1, 5), 1, 120)
                    return time.perf_counter() - began
                finally:
                    server.stop()

            try:
                found.append(Start(f"{contender.name}, {contender.model}", _repeat(times, start)))
            except ContenderError as error:
                print(f"{contender.name} does not start: {error}", file=sys.stderr)
    return found


def _repeat(times: int, start: Callable[[], float]) -> list[float]:
    """Once for the files to be in memory, then to be counted."""
    start()
    return [start() for _ in range(times)]
