"""Measure CPU seconds of commands by size, and elapsed seconds on workers of a Ray on this machine.

Workers that sleep instead of translating give the elapsed time of the scheduling alone, for more workers than the
machine has processors; workers that return the text at once give the driver's time per block.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from benchmarks.serving.process import ROOT
from dragoman.api.files.file_translation import translate_file
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.api.files.output_lines import LineFormat
from dragoman.api.training.preparation import prepare_corpora
from dragoman.cluster.line_translator import LineTranslatorOptions
from dragoman.cluster.ray_session import ray_session
from dragoman.config import load_config
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings
from dragoman.progress import NoProgress
from testkit.generate_corpus import generate

CHUNK = 65_536  # pairs of a task of preparation
USUAL_BLOCK = 2048  # lines of a task of translation
LINE_BYTES = 80
SLEEPERS = (1, 2, 8)  # workers
BLOCK = 64  # lines: smaller than the usual 2,048, so that a thousand lines are many blocks
_CONFIG = """
extends = "pairs-5k"
[data]
source = "en"
target = "de"
on_bad_line = "skip"
[[data.train]]
files = ["train.en", "train.de"]
[data.validation]
files = ["validation.en", "validation.de"]
[data.cleaning]
near_duplicates = true
[tokenizer]
size = 8000
sample_sentences = 20000
"""


@dataclass(frozen=True)
class Sample:
    """One measurement: `units` are pairs or lines."""

    command: str
    units: int
    workers: int
    """0: the command without Ray."""
    cpu_seconds: float
    """Of all processes without Ray; of the driver alone with it."""
    elapsed_seconds: float
    tasks: int = 0
    """Number of blocks or chunks."""
    serial_seconds: float = 0.0
    """Elapsed seconds, with Ray, in which no worker is busy: CPU of the driver, and the tokenizer's training."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def project(folder: Path, pairs: int) -> Path:
    """Write a generated corpus and its configuration."""
    generate(folder, pairs)
    (folder / "dragoman.toml").write_text(_CONFIG, encoding="utf-8")
    return folder


def some_lines(texts: Path, count: int, path: Path) -> Path:
    """Write the first lines of a file, repeated if there are too few."""
    lines = texts.read_text(encoding="utf-8").splitlines()
    repeated = (lines[number % len(lines)] for number in range(count))
    path.write_text("".join(f"{line}\n" for line in islice(repeated, count)), encoding="utf-8")
    return path


def run_command(arguments: Sequence[str]) -> tuple[float, float]:
    """Run a command; return its CPU seconds, with those of its child processes, and the elapsed ones."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"dragoman {arguments[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began


def without_ray(work: Path, bundle: Path, texts: Path, pairs: Sequence[int], lines: Sequence[int]) -> list[Sample]:
    """Measure both commands by size."""
    found = []
    for count in pairs:
        folder = project(work / f"pairs-{count}", count)
        found.append(Sample("prepare", count, 0, *run_command(["prepare", str(folder), "--processes", "1"])))
    options = ["--engine", "ctranslate2", "--threads", "1"]
    for count in (lines[0], *lines):  # the first time, the model is exported
        text = some_lines(texts, count, work / f"lines-{count}")
        output = ["-o", str(work / "out"), "--force"]
        found.append(
            Sample("translate", count, 0, *run_command(["translate", str(bundle), str(text), *output, *options]))
        )
    del found[len(pairs)]
    return found


class Sleeper:
    """Stands for a translator: it sleeps for some seconds per block and returns the lines."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.flagged: Counter[str] = Counter()
        self.first_flags: dict[str, tuple[int, str]] = {}
        self.translator = SimpleNamespace(languages=("en", "de"))

    def job(self) -> dict[str, Any]:
        """Return nothing: all workers are equal."""
        return {}

    def __call__(self, texts: Sequence[str], first: int) -> list[str]:
        """Return the texts."""
        time.sleep(self._seconds)
        return list(texts)


def _sleep(workers: int, blocks: int, lines: int, seconds: float) -> Sample:
    """Run blocks on workers that sleep."""
    from dragoman.cluster.block_pool import BlockPool

    data = b"x" * (LINE_BYTES - 1) + b"\n"
    parts = (LineBlock("none", data * lines, lines, 1 + number * lines, False) for number in range(blocks))
    with BlockPool(partial(Sleeper, seconds), workers=workers, processors=1) as pool:  # type: ignore[arg-type]
        for _ in pool(iter([LineBlock("none", data, 1, 1, False)] * workers)):  # each worker has loaded its modules
            pass
        cpu, began = time.process_time(), time.perf_counter()
        for _ in pool(parts):
            pass
        found = time.process_time() - cpu, time.perf_counter() - began
    return Sample("sleep" if seconds else "echo", blocks * lines, workers, *found, blocks, found[0])


def scheduling(*, blocks: int, seconds: float) -> list[Sample]:
    """Measure the driver with blocks of the usual size, and the scheduling of tasks that only sleep."""
    with ray_session("ray", processors=max(SLEEPERS)):
        found = [_sleep(1, blocks, USUAL_BLOCK, 0.0)]
        return found + [_sleep(workers, blocks, 1, seconds) for workers in SLEEPERS]


def on_ray(work: Path, bundle: Path, texts: Path, pairs: int, lines: int) -> list[Sample]:
    """Measure both commands on one and two workers, without the start of Ray and of the workers."""
    found: list[Sample] = []
    with mock.patch("dragoman.api.files.input_lines._LINES", BLOCK), ray_session("ray", processors=2):
        for workers in (1, 2):
            found.append(_prepare(project(work / f"ray-{workers}", pairs), pairs, workers))
            text = some_lines(texts, lines, work / "ray-lines")
            found.append(_translate(bundle, text, work / f"out-{workers}", lines, workers))
    return found


def _prepare(folder: Path, pairs: int, workers: int) -> Sample:
    from dragoman.cluster.cluster_workers import ClusterWorkers

    pool = ClusterWorkers(workers)
    config = load_config(folder / "dragoman.toml")
    stages = StageTimer()
    cpu, began = time.process_time(), time.perf_counter()
    prepare_corpora(config, folder, workers=pool, progress=stages)
    seconds = time.process_time() - cpu, time.perf_counter() - began
    stages.begin("")
    serial = seconds[0] + stages.seconds["training the tokenizer"]
    return Sample("prepare", pairs, workers, *seconds, -(-pairs // CHUNK), serial)


class StageTimer(NoProgress):
    """Record the elapsed seconds of each stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage, self._since = "", time.perf_counter()

    def begin(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now


def _translate(bundle: Path, text: Path, output: Path, lines: int, workers: int) -> Sample:
    from dragoman.cluster.block_pool import BlockPool

    options = LineTranslatorOptions(
        (bundle,), EngineSettings(engine="ctranslate2", threads=1), SearchSettings(), LineFormat()
    )
    with BlockPool(options.open, workers=workers, processors=1) as pool, LineReader(text) as source:
        cpu, began = time.process_time(), time.perf_counter()
        translate_file(pool, source, output, job=pool.job)
        seconds = time.process_time() - cpu, time.perf_counter() - began
    return Sample("translate", lines, workers, *seconds, -(-lines // BLOCK), seconds[0])
