"""A contender as a process that loads once and answers questions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.peers.running import ROOT, complaint

LOAD_LIMIT = 600.0
"""Seconds a contender may take to load, exports of its model included."""


class ContenderError(Exception):
    """A contender ended or hung before it answered; the message is the most informative line of its output."""


@dataclass(frozen=True)
class Setting:
    """One way to translate."""

    batch: int
    beam: int

    def __str__(self) -> str:
        return f"{'greedy' if self.beam == 1 else f'beam {self.beam}'}, batch {self.batch}"


@dataclass(frozen=True)
class Round:
    """One answer: how long it took, and what was found."""

    sentences: int
    seconds: float
    cpu: float
    found: Sequence[list[int]] | Sequence[str] = ()

    @property
    def per_second(self) -> float:
        return self.sentences / self.seconds

    @property
    def per_cpu_second(self) -> float:
        return self.sentences / self.cpu


class Server:
    """A running driver."""

    def __init__(self, command: list[str], log: Path, threads: int) -> None:
        self.log = log
        settings = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        settings |= {"PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
        settings |= {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}  # OpenNMT-py's checkpoints are pickles
        with log.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env={**os.environ, **settings},
            )
        self._answer(LOAD_LIMIT)

    def ask(self, setting: Setting, sentences: int, limit: float) -> Round:
        """Translate this number of sentences."""
        question = {"batch": setting.batch, "beam": setting.beam, "sentences": sentences}
        try:
            _pipe(self.process.stdin).write(json.dumps(question) + "\n")
            _pipe(self.process.stdin).flush()
        except BrokenPipeError:
            raise self._failed(limit) from None
        answer = self._answer(limit)
        if len(answer["found"]) != sentences:
            raise ContenderError(f"{len(answer['found'])} answers to {sentences} sentences")
        return Round(sentences, answer["seconds"], answer["cpu"], answer["found"])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _answer(self, limit: float) -> dict[str, Any]:
        watchdog = threading.Timer(limit, self.process.kill)
        watchdog.start()
        try:
            line = _pipe(self.process.stdout).readline()
        finally:
            watchdog.cancel()
        if not line:
            raise self._failed(limit)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _failed(self, limit: float) -> ContenderError:
        self.process.wait()
        if self.process.returncode == -signal.SIGKILL:
            return ContenderError(f"no answer within {limit:.0f} s, or killed")
        said = complaint(self.log.read_text(encoding="utf-8", errors="replace"))
        return ContenderError(f"ended with {self.process.returncode}: {said}")


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
