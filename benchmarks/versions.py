"""Decoding and training speed of this version compared with another checkout of the repository.

The other version trains one model for a few updates. Three processes then translate with this model and continue its
training: two of the other version, of which the second is the control, and one of this version. They run until the end
of the measurement, alternately, in slices of one or two seconds. Times are CPU seconds of one thread, on which other
programs have little influence. The number of Python and C function calls, counted in one additional slice, does not
depend on the load of the machine.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.quality.data import read
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
    # Measures the CPU seconds of a slice, or its number of function calls
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
    """A child process that runs one version of the code, one slice of work per request."""

    def __init__(self, checkout: Path, folder: Path, run: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", CHILD, str(folder), str(LINES), str(UPDATES), run]
        pipe = subprocess.PIPE
        self._checkout = checkout
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 -- closed by close()
        self._process = subprocess.Popen(
            command, env=environment, stdin=pipe, stdout=pipe, stderr=self._errors, text=True
        )

    def measure(self, size: int, *, calls: bool = False) -> float:
        """Run one slice of work; return its CPU seconds, or its number of function calls."""
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):  # the process has ended: reported below
            self._process.stdin.write(f"{'calls' if calls else 'seconds'} {size}\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("slice "):
                return float(line.split()[1])
        code = self._process.wait()
        self._errors.seek(0)
        raise SystemExit(
            f"the process of {self._checkout} must run until the end, got exit code {code}; its standard error:\n"
            f"{self._errors.read()[-4000:]}"
        )

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        with self._errors, suppress(BrokenPipeError), self._process:
            pass  # closes the pipes and waits for the end


Slices = dict[str, dict[str, list[float]]]
"""Measured values by kind of work and version."""


def measure(checkouts: dict[str, Path], folder: Path, rounds: int) -> tuple[Slices, Slices]:
    """Return the CPU seconds of each slice, and the function calls of one additional slice; versions rotate."""
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
                    if number:  # the first round is a warm-up
                        found[what][name].append(seconds)
            calls[what] = {name: [version.measure(size, calls=True)] for name, version in versions.items()}
    finally:
        for version in versions.values():
            version.close()
    return found, calls


def make_project(checkout: Path, corpus: Path, folder: Path) -> None:
    """Prepare a part of Multi30k and train a model on it for a few updates."""
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
    options.add_argument("--note", default="", help="description of the other checkout for the report")
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
