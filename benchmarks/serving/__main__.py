"""Measure the server under load.

::

    python -m benchmarks.serving throughput --bundle BUNDLE --corpus DIR
    python -m benchmarks.serving latency --bundle BUNDLE --corpus DIR
    python -m benchmarks.serving peer --bundle BUNDLE --corpus DIR

Each command measures real servers on this machine and rewrites the report; `--quick` only prints a rough one.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.reporting import parser
from benchmarks.serving.latency import latency
from benchmarks.serving.peer import peer
from benchmarks.serving.process import end_on_sigterm
from benchmarks.serving.report import NAME, keep, page
from benchmarks.serving.task import Task, signature
from benchmarks.serving.throughput import throughput


def main() -> None:
    """Run the selected measurement."""
    options = _options()
    end_on_sigterm()
    with tempfile.TemporaryDirectory(prefix="dragoman-serving-") as work:
        task = Task.of(options, Path(work))
        figures = _measured(options, task)
    figures |= {"signature": signature(), "task": task.facts}
    if options.quick:
        print(page({options.part: figures}))
    else:
        keep(options.part, figures, options.results)


def _measured(options: argparse.Namespace, task: Task) -> dict[str, Any]:
    seconds = 4.0 if options.quick else options.seconds
    rounds = 1 if options.quick else options.rounds
    if options.part == "throughput":
        return throughput(task, rounds, seconds)
    if options.part == "latency":
        return latency(task, seconds, 40 if options.quick else 400)
    return peer(task, options.environments, rounds, seconds)


def _options() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("part", choices=["throughput", "latency", "peer"])
    options.add_argument("--bundle", type=Path, required=True, help="a trained Transformer")
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"), help="the folder of Multi30k")
    options.add_argument("--sentences", type=int, default=1000)
    options.add_argument("--beam", type=int, default=4)
    options.add_argument("--engine", default="ctranslate2")
    options.add_argument("--precision", default="float32")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=15.0, help="of each measurement")
    options.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "dragoman-peers")
    options.add_argument("--results", default=NAME, help="another name for the page, for trials")
    options.add_argument("--quick", action="store_true", help="one short round, only printed")
    return options.parse_args()


if __name__ == "__main__":
    main()
