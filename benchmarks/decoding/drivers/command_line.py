"""`dragoman translate` as it is typed, from stdin to stdout, less the time of the same command for one sentence."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from benchmarks.decoding.drivers.serving import Ask, Task, Timed, Translate, cpu_seconds, serve

STARTS = 3
"""How often the start is measured; the median counts."""


def command(bundle: str, engine: str, precision: str, threads: int, beam: int) -> list[str]:
    chosen = ["--engine", engine, "--precision", precision, "--threads", str(threads), "--beam", str(beam)]
    return [sys.executable, "-m", "dragoman", "translate", bundle, *chosen]


def run(words: list[str], texts: list[str]) -> Timed:
    """One process from its start to its end."""
    cpu, began = cpu_seconds(), time.perf_counter()
    lines = "".join(text + "\n" for text in texts)
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
    seconds = time.perf_counter() - began
    return Timed(done.stdout.split("\n")[:-1], seconds, cpu_seconds() - cpu)


def load(task: Task, options: argparse.Namespace) -> Translate:
    bundle = task.facts[options.model]["bundle"]
    options.warmup = 0  # every process is a new one

    def translate(ask: Ask) -> Timed:
        words = command(bundle, options.engine, options.precision, options.threads, ask.beam)
        starts = [run(words, ask.texts[:1]) for _ in range(STARTS)]
        whole = run(words, ask.texts)
        seconds = whole.seconds - statistics.median(start.seconds for start in starts)
        cpu = whole.cpu - statistics.median(start.cpu for start in starts)
        if seconds <= 0 or cpu <= 0:
            raise ValueError("more sentences are needed: they took no longer than the start")
        return Timed(whole.found, seconds, cpu)

    return translate


if __name__ == "__main__":
    serve(load)
