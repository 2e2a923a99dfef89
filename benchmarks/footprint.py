"""What a student needs in addition to the decoding: time to start, memory and disk, before and after a change.

MODEL is a folder of Firefox's student (en→pt), which each version imports for itself. `--before` is a checkout of an
earlier commit. Versions alternate; each figure is the median of RUNS processes. Seconds are of computing (user and
system, children included), since other programs may run on the machine. Memory is the resident memory of a process that
opened copies of the model and translated one sentence with each; a further model is the mean of those after the first.
The first run of each version, which exports the model, is not counted, and neither are those before its seal.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.reporting import heading, parser, table, write

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "The museum is closed on Mondays."
MODELS = 4
SETTLED = 3  # seconds after which the files of a bundle are sealed

OPEN = """
import json, sys, time
from dragoman import Translator
begun, memory, kept = time.process_time(), [], []
for number, path in enumerate(sys.argv[1:]):
    kept.append(Translator.open(path, threads=1))
    seconds = time.process_time() - begun if number == 0 else seconds
    kept[-1].translate("The museum is closed on Mondays.")
    status = open("/proc/self/status").read()
    memory.append(int(status.split("VmRSS:")[1].split()[0]) / 1024)
print(json.dumps([seconds, memory[0], (memory[-1] - memory[0]) / max(1, len(memory) - 1)]))
"""


class Version:
    """A version of the package with its own cache and its own imports of the model."""

    def __init__(self, source: Path, folder: Path, model: Path) -> None:
        self.environment = os.environ | {
            "PYTHONPATH": str(source.resolve() / "src"),
            "DRAGOMAN_CACHE": str(folder / "cache"),
            "OMP_NUM_THREADS": "1",
        }
        self.folder = folder
        self.bundles = [str(folder / f"bundle-{number}") for number in range(MODELS)]
        languages = ["--source-language", "en", "--target-language", "pt"]
        self.run("-m", "dragoman", "import", str(model), "-o", self.bundles[0], *languages)
        for each in self.bundles[1:]:
            shutil.copytree(self.bundles[0], each)
        self.figures: dict[str, list[float]] = {}

    def run(self, *arguments: str) -> tuple[str, float]:
        """Run Python; return what it printed, and the seconds of computing."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, *arguments]
        done = subprocess.run(command, input=SENTENCE, env=self.environment, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def measure(self) -> None:
        """Take each figure once."""
        found = {
            "`dragoman --help`, CPU s": self.run("-m", "dragoman", "--help")[1],
            "`dragoman translate --help`, CPU s": self.run("-m", "dragoman", "translate", "--help")[1],
            "`from dragoman import Translator`, CPU s": self.run("-c", "from dragoman import Translator")[1],
            "first sentence from the shell, CPU s": self.run("-m", "dragoman", "translate", self.bundles[0])[1],
        }
        opened, one, further = json.loads(self.run("-c", OPEN, *self.bundles)[0])
        found |= {
            "`Translator.open`, CPU s": opened,
            "memory with one model, MiB": one,
            "each further model, MiB": further,
            "bundle, MB": _size(Path(self.bundles[0])),
            "export, MB": _size(self.folder / "cache" / "exports"),
        }
        for name, value in found.items():
            self.figures.setdefault(name, []).append(value)


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)
    options.add_argument("model", type=Path)
    options.add_argument("--before", type=Path, help="a checkout of an earlier commit")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--note", default="", help="what else ran on the machine")
    given = options.parse_args()
    sources = ({"before": given.before} if given.before else {}) | {"after": ROOT}
    with tempfile.TemporaryDirectory() as folder:
        versions = {name: Version(source, Path(folder) / name, given.model) for name, source in sources.items()}
        time.sleep(SETTLED)
        for version in versions.values():  # not counted: exports and seals
            for _ in range(2):
                version.run("-c", OPEN, *version.bundles)
                time.sleep(SETTLED)
        for _ in range(given.runs):
            for version in versions.values():
                version.measure()
    figures = {name: version.figures for name, version in versions.items()}
    medians = {name: {what: statistics.median(each) for what, each in own.items()} for name, own in figures.items()}
    rows = [
        [what, *(f"{medians[name][what]:.{0 if 'M' in what.rpartition(',')[2] else 2}f}" for name in sources)]
        for what in medians["after"]
    ]
    files = _size(given.model)
    text = heading("The footprint of a student", "python -m benchmarks.footprint MODEL --before FOLDER", given.threads)
    text += f"\n{(__doc__ or '').replace('RUNS', str(given.runs))}\n" + table(["", *sources], rows)
    for name in sources:
        ratio = (medians[name]["bundle, MB"] + medians[name]["export, MB"]) / files
        text += f"\nBundle and export, {name}: {ratio:.2f} × the {files:.1f} MB of MODEL.\n"
    write("footprint", text + (f"\n{given.note}\n" if given.note else ""), figures)


if __name__ == "__main__":
    main()
