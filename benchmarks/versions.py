"""Decoding and training speed of this version compared with another checkout of the repository.

One model, trained for a few updates by the other version, is translated with and trained further by both, each in a new
process, in turn. Times are CPU seconds of one thread, so that other programs on the machine change them little.
"""

from __future__ import annotations

import json
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
PAIRS, LINES, UPDATES, WARM = 3000, 200, 80, 20
CHILD = """
import json, sys, time
from pathlib import Path
import dragoman
from dragoman.training.callbacks.events import CallbackList

folder, lines, updates, warm = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
texts = (folder / "test.en").read_text(encoding="utf-8").splitlines()[:lines]
found = {}
translator = dragoman.Translator.open(folder / "model" / "bundle", threads=1)
translator.translate(texts[:20])
for name, size in (("one by one", 1), ("32 per call", 32)):
    began = time.process_time()
    for start in range(0, len(texts), size):
        translator.translate(texts[start : start + size])
    found[name] = time.process_time() - began

class Clock(CallbackList):
    def on_update(self, event):
        if event.update == warm:
            self.began = time.process_time()
        if event.update == updates:
            found["training"] = time.process_time() - self.began

settings = [f"training.max_updates={updates}", "training.threads=1", "training.validate_every=100000"]
dragoman.train(folder / "dragoman.toml", run=folder / sys.argv[5], overrides=settings, callbacks=[Clock()])
print(json.dumps(found))
"""


def child(checkout: Path, folder: Path, run: str) -> dict[str, float]:
    """Measure one version in a new process."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    arguments = [str(folder), str(LINES), str(UPDATES), str(WARM), run]
    command = [sys.executable, "-c", CHILD, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


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
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data/multi30k"))
    options.add_argument("--work", type=Path, default=Path("versions-runs"))
    options.add_argument("--note", default="", help="what the other checkout is")
    given = options.parse_args()
    if not (given.work / "model" / "bundle").exists():
        make_project(given.before, given.corpus, given.work)
    found: dict[str, list[dict[str, float]]] = {"before": [], "now": []}
    for number in range(given.rounds):
        versions = [("before", given.before), ("now", ROOT)]
        for name, checkout in versions if number % 2 == 0 else versions[::-1]:
            found[name].append(child(checkout, given.work.resolve(), f"run-{name}-{number}"))
    rows: list[list[str]] = []
    for what in found["now"][0]:
        before, now = ([each[what] for each in found[name]] for name in ("before", "now"))
        ratios = [a / b for a, b in zip(before, now, strict=True)]
        cells = [f"{statistics.median(values):.2f}" for values in (before, now)]
        rows.append([what, *cells, f"{statistics.median(ratios):.3f}", f"{min(ratios):.3f} … {max(ratios):.3f}"])
    command = f"python -m benchmarks.versions BEFORE --rounds {given.rounds}"
    text = heading("Speed of two versions", command, 1) + f"\n{__doc__ or ''}\n"
    text += table(["", "before, CPU s", "now, CPU s", "speed now / before, median", "all rounds"], rows)
    text += f"\n{given.note}\n" if given.note else ""
    data: dict[str, Any] = {"rounds": found}
    write("versions", text, data)


if __name__ == "__main__":
    main()
