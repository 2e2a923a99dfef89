"""A run of the command that is watched from outside, by the files it leaves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.training.checkpoint import CheckpointStore
from testkit.training_faults.process_start import Start, Started
from testkit.training_faults.project import Project

TIMEOUT = 300.0  # seconds that a command may take, on a machine with other work
_POLL_SECONDS = 0.001


@dataclass(frozen=True)
class Run:
    """One run folder, and what to train in it."""

    project: Project
    folder: Path
    settings: Sequence[str] = ()

    @property
    def output(self) -> Path:
        """The output of its commands."""
        return self.folder.with_name(f"{self.folder.name}.txt")

    @property
    def checkpoints(self) -> Path:
        """Its checkpoints."""
        return self.folder / "checkpoints"

    def resume(self, start: Start) -> Started:
        """Start or resume it."""
        settings = [word for setting in self.settings for word in ("--set", setting)]
        where = [str(self.project.config), "--output", str(self.folder), "--resume"]
        return start(["train", *where, *settings], self.output)

    def mark(self) -> tuple[int, int]:
        """A value that changes when a command begins to train: the state of run.json, which it rewrites."""
        try:
            facts = (self.folder / "run.json").stat()
        except FileNotFoundError:
            return (0, 0)
        return facts.st_ino, facts.st_mtime_ns

    def wait_until_training(self, started: Started, mark: tuple[int, int]) -> bool:
        """Wait for the first sign of training since the mark; False where it ended before."""
        return _until(lambda: self.mark() != mark, started)

    def wait_until_it_saves(self, started: Started) -> bool:
        """Wait until a checkpoint is being written or removed."""
        return _until(self.is_saving, started)

    def is_saving(self) -> bool:
        """Whether there is half a checkpoint."""
        try:
            return any(path.suffix in (".tmp", ".old") for path in self.checkpoints.iterdir())
        except FileNotFoundError:
            return False

    def entries(self) -> list[dict[str, Any]]:
        """The log's whole lines."""
        try:
            lines = (self.folder / "log.jsonl").read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def newest(self) -> int:
        """The newest complete checkpoint, or -1; a damaged one is an error."""

        def damaged(text: str) -> None:
            raise AssertionError(text)

        found = CheckpointStore(self.checkpoints).latest(damaged)
        return -1 if found is None else found.update

    def output_text(self) -> str:
        """The last lines of the output of its commands."""
        return self.output.read_text(encoding="utf-8", errors="replace")[-2000:]


def _until(happened: Callable[[], bool], started: Started) -> bool:
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if happened():
            return True
        if started.ended() is not None:
            return False
        time.sleep(_POLL_SECONDS)
    raise TimeoutError(f"process {started.pid} did nothing for {TIMEOUT} s")


def interrupted_phase(run: Run, *, trained: bool) -> str:
    """What a command was doing when it was killed."""
    if not trained:
        return "start-up"
    if run.is_saving():
        return "a save"
    entries = run.entries()
    kinds = [entry["kind"] for entry in entries if entry["kind"] in ("update", "validation", "end")]
    if kinds[-1:] == ["end"]:
        return "the bundle"
    updates = [entry["update"] for entry in entries if entry["kind"] == "update"]
    every = next((int(s.split("=")[1]) for s in run.settings if s.startswith("training.validate_every=")), 16)
    is_due = bool(updates) and updates[-1] % every == 0 and kinds[-1] == "update"
    return "a validation" if is_due else "updates"


@dataclass(frozen=True)
class Reference:
    """An undisturbed run, and its duration."""

    run: Run
    startup: float
    training: float


def train_reference(run: Run, start: Start) -> Reference:
    """Train to the end, undisturbed."""
    began = time.monotonic()
    started = run.resume(start)
    run.wait_until_training(started, (0, 0))
    trains = time.monotonic()
    code = started.ended(TIMEOUT)
    assert code == 0, (code, run.output_text())
    return Reference(run, trains - began, time.monotonic() - trains)
