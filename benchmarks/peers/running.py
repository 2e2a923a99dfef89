"""Run a contender as a process for a given time, and measure its speed and memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.environments import last_line
from benchmarks.peers.windows import Reader, Speed, Window

ROOT = Path(__file__).parents[2]
START_LIMIT = 120.0
"""Timeout in seconds of the first report of speed."""


class RunError(Exception):
    """A contender ended or hung before it was measured; the message is the last line of its output."""


@dataclass(frozen=True)
class Job:
    """A command that trains until it is stopped, and how its log is read."""

    command: list[str]
    reader: Reader
    threads: int
    folder: Path
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Measured:
    """Measurements of one run."""

    speed: Speed
    peak_bytes: int


def measure(job: Job, seconds: float, warmup: float) -> Measured:
    """Let it train for `warmup` seconds from its first line on, then count for `seconds`."""
    process = start(job)
    limit = START_LIMIT + 3 * (warmup + seconds)
    watchdog = threading.Timer(limit, kill, [process])
    watchdog.start()
    began = time.perf_counter()
    windows: list[Window] = []
    said: list[str] = []
    first = last = 0.0
    assert process.stdout is not None
    try:
        for line in process.stdout:
            said = [*said[-40:], line]
            now = time.perf_counter()
            window = job.reader(line, now - last)
            if window is None:
                continue
            first, last = first or now, now
            if now - first > warmup:
                windows.append(window)
            if sum(w.seconds for w in windows) >= seconds:
                return Measured(Speed.of(windows), peak_memory(process.pid))
    finally:
        watchdog.cancel()
        stop(process)
    if time.perf_counter() - began >= limit:
        raise RunError(f"not measured within {limit:.0f} s; {len(windows)} lines of its log counted")
    raise RunError(complaint("".join(said)))


def start(job: Job) -> subprocess.Popen[str]:
    threads = {name: str(job.threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    settings = {"PYTHONUNBUFFERED": "1", "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore"}
    return subprocess.Popen(
        job.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=job.folder,
        env={**os.environ, **threads, **settings, **dict(job.environment)},
        start_new_session=True,
    )


def stop(process: subprocess.Popen[str]) -> None:
    """End it and all it started."""
    kill(process)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def complaint(text: str) -> str:
    """The most informative line: the last that names an error, else the last."""
    plain = re.sub(r"[─-╿]", "", text)  # frames
    errors = [line for line in plain.splitlines() if re.search(r"(error|exception)\b.*\w", line, re.IGNORECASE)]
    return last_line(errors[-1] if errors else plain)


def peak_memory(group: int) -> int:
    """The sum of the peak bytes of its processes; 0 where the system does not report them."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            if os.getpgid(int(status.parent.name)) == group:
                found = re.search(r"^VmHWM:\s*(\d+) kB$", status.read_text(encoding="utf-8"), re.MULTILINE)
                total += int(found[1]) * 1024 if found else 0
        except OSError:  # it has just ended
            continue
    return total
