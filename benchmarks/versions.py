"""Decoding and training speed of this version compared with another checkout of the repository.

One model, trained for a few updates by the other version, is translated with and trained further by three processes
that live during the whole measurement and work in turn, a second or two at a time: the other version twice, the second
time as a control, and this version. Times are CPU seconds of one thread, so that other programs on the machine change
them little. The number of calls of Python and C functions in one more slice does not depend on the machine's load.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.quality.__main__ import read
from benchmarks.reporting import heading, parser, table, write
from benchmarks.ssru import BASE

ROOT = Path(__file__).resolve().parents[1]
PAIRS, LINES, UPDATES = 3000, 96, 12
WORK = {"one by one": 1, "32 per call": 32, "training": 0}
"""Sentences per call; 0 is training."""
CHILD = """
import cProfile, json, pstats, sys, time
from pathlib import Path
import dragoman
from dragoman.training.callbacks.events import CallbackList

folder, lines, updates = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
texts = (folder / "test.en").read_text(encoding="utf-8").splitlines()[:lines]
translator = dragoman.Translator.open(folder / "model" / "bundle", threads=1)

class Meter:
    # CPU seconds of a slice of work, or the number of calls of functions in it
    def start(self, counts):
        self.profile = cProfile.Profile() if counts else None
        self.began = time.process_time()
        if counts:
            self.profile.enable()

    def stop(self):
        seconds = time.process_time() - self.began
        if self.profile is not None:
            self.profile.disable()
            seconds = pstats.Stats(self.profile).total_calls
        print("slice", seconds, flush=True)

meter = Meter()

def wait():
    what, size = sys.stdin.readline().split()
    meter.start(what == "calls")
    return int(size)

size = wait()
while size:
    for start in range(0, len(texts), size):
        translator.translate(texts[start : start + size])
    meter.stop()
    size = wait()

class Clock(CallbackList):
    def on_update(self, event):
        if event.update % updates == 0:
            meter.stop()
            wait()

settings = ["training.max_updates=100000", "training.threads=1", "training.validate_every=100000"]
dragoman.train(folder / "dragoman.toml", run=folder / sys.argv[4], overrides=settings, callbacks=[Clock()])
"""


class Version:
    """A process of one version of the code, which works when it is asked."""

    def __init__(self, checkout: Path, folder: Path, run: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", CHILD, str(folder), str(LINES), str(UPDATES), run]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def measure(self, size: int, *, calls: bool = False) -> float:
        """Let the process do one slice of work; return its CPU seconds, or its calls of functions."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{'calls' if calls else 'seconds'} {size}\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("slice "):
                return float(line.split()[1])
        raise SystemExit("a version ended before it had measured all")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


Slices = dict[str, dict[str, list[float]]]
"""By kind of work and version."""


def measure(checkouts: dict[str, Path], folder: Path, rounds: int) -> tuple[Slices, Slices]:
    """Return the seconds of each slice, in an order that changes, and the calls of functions of one more slice."""
    stamp = os.getpid()
    versions = {name: Version(path, folder, f"run-{stamp}-{at}") for at, (name, path) in enumerate(checkouts.items())}
    found: Slices = {}
    calls: Slices = {}
    try:
        for what, size in WORK.items():
            found[what] = {name: [] for name in versions}
            for number in range(rounds + 1):
                names = list(versions)
                for name in names[number % len(names) :] + names[: number % len(names)]:
                    seconds = versions[name].measure(size)
                    if number:  # the first one warms up
                        found[what][name].append(seconds)
            calls[what] = {name: [version.measure(size, calls=True)] for name, version in versions.items()}
    finally:
        for version in versions.values():
            version.close()
    return found, calls


def make_project(checkout: Path, corpus: Path, folder: Path) -> None:
    """Prepare some pairs of Multi30k, and train a model for a few updates."""
    folder.mkdir(parents=True, exist_ok=True)
    for code in ("en", "de"):
        for split, name in (("train", "train"), ("val", "val"), ("test_2016_flickr", "test")):
            lines = read(corpus / f"{split}.{code}.gz")[:PAIRS]
            (folder / f"{name}.{code}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    config = BASE.read_text(encoding="utf-8") + (
        '\n[data]\nsource = "en"\ntarget = "de"\n\n[[data.train]]\nfiles = ["train.en", "train.de"]\n\n'
        '[data.validation]\nfiles = ["val.en", "val.de"]\n'
    )
    (folder / "dragoman.toml").write_text(config, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(checkout / "src")}
    for command in (["prepare"], ["train", "--output", "model", "--set", "training.max_updates=300", "--threads", "1"]):
        command = [sys.executable, "-m", "dragoman", command[0], "dragoman.toml", *command[1:]]
        subprocess.run(command, cwd=folder, env=environment, check=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("before", type=Path, help="the other checkout")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--work", type=Path, default=Path("versions-runs"))
    options.add_argument("--note", default="", help="what the other checkout is")
    given = options.parse_args()
    if not (given.work / "model" / "bundle").exists():
        make_project(given.before, given.corpus, given.work)
    checkouts = {"before": given.before, "before, again": given.before, "now": ROOT}
    found, calls = measure(checkouts, given.work.resolve(), given.rounds)
    rows: list[list[str]] = []
    for what, seconds in found.items():
        for name in ("before, again", "now"):
            logs = [math.log(a / b) for a, b in zip(seconds["before"], seconds[name], strict=True)]
            middle, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
            ratios = [math.exp(middle + factor * error) for factor in (0, -1.96, 1.96)]
            cells = [f"{statistics.median(values):.2f}" for values in (seconds["before"], seconds[name])]
            rows.append([what, name, *cells, f"{ratios[0]:.3f}", f"{ratios[1]:.3f} … {ratios[2]:.3f}"])
            rows[-1].append(f"{calls[what]['before'][0]:,.0f} → {calls[what][name][0]:,.0f}")
    command = f"python -m benchmarks.versions BEFORE --rounds {given.rounds}"
    text = heading("Speed of two versions", command, 1) + f"\n{__doc__ or ''}\n"
    text += table(
        ["", "compared with before", "before, CPU s", "CPU s", "speed / before, mean", "95 % interval", "calls"], rows
    )
    text += f"\n{given.note}\n" if given.note else ""
    data: dict[str, Any] = {"slices": found, "calls": calls}
    write("versions", text, data)


if __name__ == "__main__":
    main()
