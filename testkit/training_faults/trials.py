"""Trials: commands that are killed, stopped by a signal, or run out of disk space, until each run has ended."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from testkit.training_faults.process_start import Start, Started
from testkit.training_faults.run_differences import differences
from testkit.training_faults.runs import TIMEOUT, Reference, Run, interrupted_phase

CHECKPOINT_EVERY = 5
IN_TIME = 10.0  # seconds from SIGTERM to the end
DISK_ROOM = (0, 4, 16, 30, 60, 100, 140, 200)  # KiB that a full disk has free: too few for a run of these tests
_DISK_BYTES = 16 << 20
_STOPS_A_RUN = 10
_EXIT = {signal.SIGTERM: 75, signal.SIGINT: 130}


@dataclass
class Row:
    """Outcome of the trials of one guarantee."""

    promise: str
    trials: int = 0
    runs: int = 0
    failures: list[str] = field(default_factory=list)
    where: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0
    """Of what is timed, in seconds."""
    seconds: float = 0.0
    control: str = ""
    remark: str = ""
    planned: int = 0
    """Trials that were to be made; 0 where their number is that of the tests."""

    def fail(self, text: str) -> None:
        """Count something that must not be."""
        self.failures.append(text)

    def add(self, other: Row) -> None:
        """Count what another lane found, too."""
        self.trials += other.trials
        self.runs += other.runs
        self.failures += other.failures
        self.where += other.where
        self.longest = max(self.longest, other.longest)


class OutOfTime(Exception):  # noqa: N818 -- no error
    """Raised by a callback to end the trials: the run that was disturbed last is still compared."""


Tell = Callable[[Row], None]


def kill_trials(references: list[Reference], start: Start, folder: Path, trials: int, seed: int, tell: Tell) -> Row:
    """`kill -9` at random moments: in start-ups, saves, validations and updates."""
    draw, row = random.Random(seed), Row("crash-safe")

    def kill(run: Run, reference: Reference) -> bool:
        before, mark = run.newest(), run.mark()
        started = run.resume(start)
        trained = _wait_for_a_moment(run, started, mark, reference, draw)
        if started.ended() is None:
            os.kill(started.pid, signal.SIGKILL)
        code = started.ended(TIMEOUT)
        if code != -signal.SIGKILL:
            return _finished(run, row, code)
        row.trials += 1
        row.where[interrupted_phase(run, trained=trained)] += 1
        _check_nothing_lost(run, row, before, within=CHECKPOINT_EVERY)
        tell(row)
        return False

    _until_the_end(references, start, folder, trials, row, kill)
    return row


def _wait_for_a_moment(
    run: Run, started: Started, mark: tuple[int, int], reference: Reference, draw: random.Random
) -> bool:
    """Wait for the moment to strike; whether training had begun by then."""
    kind = draw.random()
    if kind < 0.1:  # one in ten while it starts
        started.ended(draw.uniform(0.0, reference.startup) or 0.001)
        return run.mark() != mark
    if not run.wait_until_training(started, mark):
        return False
    started.ended(draw.uniform(0.001, 2 * reference.training / _STOPS_A_RUN))
    if kind < 0.4:  # and three in ten inside a save
        run.wait_until_it_saves(started)
    return True


def stop_trials(
    references: list[Reference], start: Start, folder: Path, trials: int, seed: int, tell: Tell,
    asked: signal.Signals = signal.SIGTERM,
) -> Row:  # fmt: skip
    """SIGTERM or SIGINT at random moments of training: a checkpoint in time, the exit code, and nothing lost."""
    draw, row = random.Random(seed), Row(asked.name)

    def stop(run: Run, reference: Reference) -> bool:
        before, mark = run.newest(), run.mark()
        started = run.resume(start)
        if run.wait_until_training(started, mark):
            started.ended(draw.uniform(0.001, 2 * reference.training / _STOPS_A_RUN))
        began = time.monotonic()
        if started.ended() is None:
            os.kill(started.pid, asked)
        code = started.ended(TIMEOUT)
        if code == 0:
            return True
        if code == -asked and [entry for entry in run.entries() if entry["kind"] == "end"][-1:]:
            row.where["the bundle"] += 1
            return False
        took = time.monotonic() - began
        row.trials += 1
        row.longest = max(row.longest, took)
        if code != _EXIT[asked]:
            row.fail(f"exit code {code} instead of {_EXIT[asked]}: {run.output_text()[-300:]}")
            return False
        if took > IN_TIME:
            row.fail(f"took {took:.1f} s")
        _check_nothing_lost(run, row, before, within=0)
        tell(row)
        return False

    _until_the_end(references, start, folder, trials, row, stop)
    return row


def disk_trials(reference: Reference, start: Start, disk: Path, trials: int, seed: int, tell: Tell) -> Row:
    """A full disk: a named error, exit code 1, old checkpoints intact; with free space, the run resumes."""
    sizes, row = random.Random(seed).sample(DISK_ROOM, len(DISK_ROOM)), Row("disk full")
    for number in range(trials):
        run = Run(reference.run.project, disk / f"run{seed}-{number}", reference.run.settings)
        run.folder.mkdir()
        ballast = disk / "ballast"
        _fill(ballast, leave=sizes[number % len(sizes)] * 1024)
        started = run.resume(start)
        code = started.ended(TIMEOUT)
        row.trials += 1
        said = run.output_text() if run.output.exists() else ""
        if code != 1 or "Traceback" in said:
            row.fail(f"exit code {code} on a full disk: {said[-500:]}")
        with suppress(AssertionError):
            row.where[f"with a checkpoint at {run.newest()}"] += 1
        _check_nothing_lost(run, row, -1, within=CHECKPOINT_EVERY)
        ballast.unlink()
        _end(run, reference, start, row)
        try:
            tell(row)
        except OutOfTime:
            break
    return row


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A disk of 16 MiB, in memory; None where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "none", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def _fill(ballast: Path, *, leave: int) -> None:
    """Leave only this number of bytes free."""
    free = os.statvfs(ballast.parent)
    ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_bsize - leave)))


def _until_the_end(
    references: list[Reference], start: Start, folder: Path, trials: int, row: Row,
    disturb: Callable[[Run, Reference], bool],
) -> None:  # fmt: skip
    """Disturb runs of each kind until they end, up to a total number of times; compare each with its reference."""
    is_over = False
    while row.trials < trials and not is_over:
        reference = references[row.runs % len(references)]
        run = Run(reference.run.project, folder / f"{row.promise}{row.runs}", reference.run.settings)
        row.runs += 1
        ended = False
        try:
            while not ended and row.trials < trials and len(row.failures) < trials:
                ended = disturb(run, reference)
        except OutOfTime:
            is_over = True
        _end(run, reference, start, row)


def _end(run: Run, reference: Reference, start: Start, row: Row) -> None:
    """Run to the end, and compare with an undisturbed run."""
    code = run.resume(start).ended(TIMEOUT)
    if code != 0:
        row.fail(f"exit code {code} at the end: {run.output_text()[-500:]}")
        return
    unlike = differences(run.folder, reference.run.folder)
    if unlike:
        row.fail(f"{run.folder.name} differs in {', '.join(unlike[:4])}")


def _finished(run: Run, row: Row, code: int | None) -> bool:
    if code != 0:
        row.fail(f"exit code {code} by itself: {run.output_text()[-500:]}")
    return True


def _check_nothing_lost(run: Run, row: Row, before: int, *, within: int) -> None:
    """The newest checkpoint is complete, not older than the one before, and near the last update of the log."""
    try:
        newest = run.newest()
    except AssertionError as error:
        row.fail(f"a damaged checkpoint: {error}")
        return
    last = max([entry["update"] for entry in run.entries() if entry["kind"] == "update"], default=0)
    if newest < before or newest < last - within:
        row.fail(f"the newest checkpoint is {newest}, after {before}, with update {last} in the log")
