"""Compare two workers of a Ray on this machine with two local processes that translate the same lines.

Each process and each worker has one thread and the same model, and has translated one line before the clock starts.
The local processes translate one half each, the workers blocks of the usual size. Both sides run in turn.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

from benchmarks import reporting
from benchmarks.scale.measurement import some_lines
from dragoman.api.files.file_translation import one_by_one, translate_file
from dragoman.api.files.input_lines import LineBlock, LineReader
from dragoman.api.files.output_lines import LineFormat
from dragoman.cluster.line_translator import LineTranslatorOptions
from dragoman.cluster.ray_session import ray_session
from dragoman.config.engine import EngineSettings
from dragoman.config.search import SearchSettings

WORKERS = 2
GOAL = 0.85
_WARM_UP = LineBlock("none", b"A man is sleeping.\n", 1, 1, False)


def options(bundle: Path) -> LineTranslatorOptions:
    """Return the options of every process and worker."""
    engine = EngineSettings(engine="ctranslate2", threads=1)
    return LineTranslatorOptions((bundle,), engine, SearchSettings(), LineFormat())


def _translate_half(bundle: Path, text: Path, output: Path, barrier: Barrier) -> None:
    work = options(bundle).open()
    work(["A man is sleeping."], 0)
    barrier.wait()
    with LineReader(text) as source:
        translate_file(one_by_one(work), source, output, job=work.job())
    barrier.wait()


def local_seconds(bundle: Path, halves: list[Path], output: Path) -> float:
    """Return the seconds of local processes that translate one file each."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(halves) + 1)
    processes = [
        context.Process(target=_translate_half, args=(bundle, half, output / f"local-{number}", barrier))
        for number, half in enumerate(halves)
    ]
    for process in processes:
        process.start()
    barrier.wait()
    began = time.perf_counter()
    barrier.wait()
    seconds = time.perf_counter() - began
    for process in processes:
        process.join()
    return seconds


def ray_seconds(bundle: Path, text: Path, output: Path) -> tuple[float, float, float]:
    """Return the seconds of the translation, of the start of Ray, and of the start of the workers."""
    began = time.perf_counter()
    with ray_session("ray", processors=WORKERS):
        from dragoman.cluster.block_pool import BlockPool  # it imports Ray, which reads the new token then

        ready = time.perf_counter()
        with BlockPool(options(bundle).open, workers=WORKERS, processors=1) as pool, LineReader(text) as source:
            for _ in pool(iter([_WARM_UP] * WORKERS)):
                pass
            start = time.perf_counter()
            translate_file(pool, source, output / "ray", job=pool.job)
            seconds = time.perf_counter() - start
    return seconds, ready - began, start - ready


def main() -> None:
    """Run the command."""
    parser = reporting.parser(__doc__)
    parser.add_argument("--bundle", type=Path, required=True, help="trained bundle, en→de")
    parser.add_argument("--texts", type=Path, required=True, help="English sentences, one per line")
    parser.add_argument("--lines", type=int, default=20_480)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    load = round(os.getloadavg()[0], 1)
    local: list[float] = []
    ray: list[tuple[float, float, float]] = []
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory(prefix="dragoman-efficiency-") as name:
            folder, bundle = Path(name), given.bundle.resolve()
            text = some_lines(given.texts.resolve(), given.lines, folder / "text")
            lines = text.read_bytes().splitlines(keepends=True)
            halves = [folder / f"half-{number}" for number in range(WORKERS)]
            for number, half in enumerate(halves):
                part = given.lines // WORKERS
                half.write_bytes(b"".join(lines[number * part : (number + 1) * part]))
            local.append(local_seconds(bundle, halves, folder))
            ray.append(ray_seconds(bundle, text, folder))
            if b"".join((folder / f"local-{n}").read_bytes() for n in range(WORKERS)) != (folder / "ray").read_bytes():
                raise RuntimeError("both sides must give the same bytes")
    ratios = [one / other[0] for one, other in zip(local, ray, strict=True)]
    ratio = statistics.median(ratios)
    rows = [
        [f"{number}", f"{one:.1f}", f"{other[0]:.1f}", f"{value:.2f}", f"{other[1]:.1f}", f"{other[2]:.1f}"]
        for number, (one, other, value) in enumerate(zip(local, ray, ratios, strict=True), 1)
    ]
    header = ["round", "two processes, s", "two workers, s", "efficiency", "start of Ray, s", "start of workers, s"]
    command = "python -m benchmarks.cluster_efficiency --bundle BUNDLE --texts FILE"
    command += f" --lines {given.lines} --rounds {given.rounds}"
    text_ = (
        reporting.heading("Two workers of Ray beside two processes", command, 1)
        + f"\n{__doc__}\n{given.lines:,} lines of Multi30k, en→de, engine ctranslate2 (float32), beam "
        f"{SearchSettings().beam}; load average {load} before. Both sides give the same bytes.\n\n"
        + reporting.table(header, rows)
        + f"\nMedian efficiency **{ratio:.2f}**, goal {GOAL}: {'met' if ratio >= GOAL else '**missed**'}.\n"
    )
    figures = {"lines": given.lines, "load": load, "local": local, "ray": ray, "efficiency": ratio}
    reporting.write("cluster-efficiency", text_, figures)


if __name__ == "__main__":
    main()
