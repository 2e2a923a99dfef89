"""What a student needs in addition to the decoding: time to start, memory and disk, compared with fxtranslate.

    python -m venv FX && FX/bin/pip install fxtranslate==0.5.0
    python -m venv USER && USER/bin/pip install ".[serve,export]"
    python -m benchmarks.footprint MODEL SIBLING --python USER/bin/python --fxtranslate FX/bin/python

MODEL is a folder of Firefox's student en→pt, SIBLING of pt→en, which has no shortlist. USER is an environment as users
have it, without torch. `--before` is a checkout of an earlier commit. The source is compiled to bytecode first. The
programs alternate; each figure is the median of RUNS processes, with one thread. CPU seconds are user and system
seconds, children included.

Memory is the resident memory of a process that opened models and translated a sentence with each; a server has also
opened its database, which it does after it is ready. Further models are
copies of MODEL with 0.1 % of their int8 numbers changed: distinct files, as a user has them.
A part of the resident memory is mapped from files, which the system can drop and read again; "own" is without them. The
first runs, which export and seal the models, are not counted. fxtranslate has no server, and its disk is MODEL itself.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.multilingual_memory import request_json
from benchmarks.reporting import RESULTS, heading, parser, table, write
from benchmarks.serving.process import Server, dragoman_serve, free_port
from benchmarks.students.variants import write_student

ROOT = Path(__file__).resolve().parents[1]
SENTENCE = "The museum is closed on Mondays."
FURTHER = 3
SETTLED = 3  # seconds after which the files of a bundle are sealed
GOALS = {
    "slowest `--help`, CPU s": 0.3,
    "first sentence from the shell, s": 1.0,
    "`Translator.open`, CPU s": 0.5,
    "memory with one model, MiB": 130,
    "each further model, MiB": 30,
    "server with two pairs ready, s": 2.0,
    "bundle and export relative to MODEL": 1.6,
}

MEMORY = """
import json, sys, time
begun, memory, kept = time.process_time(), [], []
for number, path in enumerate(sys.argv[2:]):
    opened = open_model(path)
    seconds = time.process_time() - begun if number == 0 else seconds
    kept.append(opened)
    opened.translate(sys.argv[1])
    status = open("/proc/self/status").read()
    memory.append([int(status.split(name)[1].split()[0]) / 1024 for name in ("VmRSS:", "RssAnon:")])
print(json.dumps([seconds, memory]))
"""
OURS = "from dragoman import Translator\nopen_model = lambda path: Translator.open(path, threads=1)\n" + MEMORY
THEIRS = """
from pathlib import Path
from fxtranslate import Translator
def open_model(path):
    files = {each.name.partition(".")[0]: each.read_bytes() for each in Path(path).iterdir()}
    return Translator(files["model"], files["vocab"], files["vocab"], files.get("lex"))
"""
FIRST = THEIRS + "import sys; print(open_model(sys.argv[2]).translate(sys.argv[1]))\n"
COMMANDS = "from dragoman.cli.main import COMMANDS; print(*COMMANDS)"


class Program:
    """A program whose figures are collected by name."""

    def __init__(self, python: Path, models: list[Path]) -> None:
        self.python, self.models = python, models
        self.environment = os.environ | {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        self.environment.pop("PYTHONPATH", None)
        self.figures: dict[str, list[float]] = {}

    def run(self, *arguments: object) -> tuple[str, float, float]:
        """Run Python; return what it printed, the seconds and the CPU seconds."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [str(self.python), *map(str, arguments)]
        done = subprocess.run(command, input=SENTENCE, env=self.environment, capture_output=True, text=True, check=True)
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        return done.stdout, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def add(self, figures: dict[str, float]) -> None:
        for name, value in figures.items():
            self.figures.setdefault(name, []).append(value)

    def memory(self, code: str) -> dict[str, float]:
        """Return the CPU seconds to open a model, and MiB of one, of a further one and of the sibling, the last."""
        opened, found = json.loads(self.run("-c", code, SENTENCE, *self.models)[0])
        figures = {"`Translator.open`, CPU s": opened}
        for name, values in zip(("", ", own"), zip(*found, strict=True), strict=True):
            figures[f"memory with one model{name}, MiB"] = values[0]
            figures[f"each further model{name}, MiB"] = (values[-2] - values[0]) / FURTHER
            figures[f"the sibling without a shortlist{name}, MiB"] = values[-1] - values[-2]
        return figures


class Dragoman(Program):
    """The package of this clone with its own cache and imports of the models."""

    def __init__(self, python: Path, folder: Path, models: list[Path]) -> None:
        super().__init__(python, [folder / f"bundle-{number}" for number in range(len(models))])
        self.environment |= {"PYTHONPATH": str(ROOT / "src"), "DRAGOMAN_CACHE": str(folder / "cache")}
        self.folder, self.size = folder, size(models[0])
        self.run("-m", "compileall", "-q", ROOT / "src")
        languages = ["--source-language", "en", "--target-language", "pt"]
        for model, bundle in zip(models, self.models, strict=True):
            self.run("-m", "dragoman", "import", model, "-o", bundle, *(languages if model != models[-1] else []))
        self.run("-m", "dragoman", "translate", self.models[0])
        self.files = {"bundle, MB": size(self.models[0]), "export, MB": size(folder / "cache" / "exports")}
        self.commands = self.run("-c", COMMANDS)[0].split()

        for _ in range(2):  # exports, then seals
            time.sleep(SETTLED)
            self.run("-c", OURS, SENTENCE, *self.models)

    def measure(self) -> None:
        """Take each figure once."""
        pages = {name: self.run("-m", "dragoman", name, "--help")[2] for name in self.commands}
        _, seconds, cpu = self.run("-m", "dragoman", "translate", self.models[0])
        figures = {
            "`dragoman --help`, CPU s": self.run("-m", "dragoman", "--help")[2],
            "`dragoman translate --help`, CPU s": pages["translate"],
            "slowest `--help`, CPU s": max(pages.values()),
            "`from dragoman import Translator`, CPU s": self.run("-c", "from dragoman import Translator")[2],
            "first sentence from the shell, s": seconds,
            "first sentence from the shell, CPU s": cpu,
        }
        ratio = sum(self.files.values()) / self.size
        self.add(
            figures | self.memory(OURS) | self.served() | self.files | {"bundle and export relative to MODEL": ratio}
        )
        print(max(pages, key=pages.__getitem__), figures, file=sys.stderr, flush=True)

    def served(self) -> dict[str, float]:
        """Return the seconds until a server of two pairs is ready, and its memory."""
        port, began = free_port(), time.perf_counter()
        command = dragoman_serve([str(self.models[0]), str(self.models[-1])], port, {"log": "off"})
        server = Server([str(self.python), *command[1:]], port, self.folder / "server.log", env=self.environment)
        try:
            server.wait_until_ready()
            seconds, cpu = time.perf_counter() - began, server.cpu_seconds
            for source, target in ("en", "pt"), ("pt", "en"):
                body = {"q": SENTENCE, "source": source, "target": target}
                request_json(f"http://127.0.0.1:{port}", "/translate", body)
            time.sleep(SETTLED)  # until it has stored the usage
            return {
                "server with two pairs ready, s": seconds,
                "server with two pairs ready, CPU s": cpu,
                "memory of the server with two pairs, MiB": server.memory / 2**20,
            }
        finally:
            server.stop()


class Fxtranslate(Program):
    """fxtranslate with the files of the models."""

    def measure(self) -> None:
        """Take each figure once."""
        _, seconds, cpu = self.run("-c", FIRST, SENTENCE, self.models[0])
        first = {"first sentence from the shell, s": seconds, "first sentence from the shell, CPU s": cpu}
        self.add(first | self.memory(THEIRS + MEMORY))


def size(folder: Path) -> float:
    """Return the megabytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def shown(name: str, value: float | None) -> str:
    return "–" if value is None else f"{value:.{0 if name.endswith(('MiB', 'MB')) else 2}f}"


def rows(medians: dict[str, dict[str, float]]) -> list[list[str]]:
    """Return the rows of the table: a figure, its goal, and the medians of the programs."""
    return [
        [name, f"{GOALS[name]:g}" if name in GOALS else "", *(shown(name, each.get(name)) for each in medians.values())]
        for name in medians["dragoman"]
    ]


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)
    options.add_argument("model", type=Path)
    options.add_argument("sibling", type=Path)
    options.add_argument("--python", type=Path, default=Path(sys.executable), help="Python of the environment")
    options.add_argument("--fxtranslate", type=Path, metavar="PYTHON", help="Python that has it")
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--note", default="", help="what else ran on the machine, and what limits the figures")
    given = options.parse_args()
    earlier = json.loads((RESULTS / "footprint.json").read_text(encoding="utf-8"))["before"]
    with tempfile.TemporaryDirectory() as folder:
        models = [Path(folder) / f"student-{number}" for number in range(FURTHER + 1)] + [Path(folder) / "sibling"]
        for number, path in enumerate(models[:-1]):
            write_student(given.model, path, number)
        write_student(given.sibling, models[-1])
        programs: dict[str, Dragoman | Fxtranslate] = {"dragoman": Dragoman(given.python, Path(folder), models)}
        if given.fxtranslate:
            programs["fxtranslate"] = Fxtranslate(given.fxtranslate, models)
        for _ in range(given.runs):
            for program in programs.values():
                program.measure()
        files = size(models[0])
    figures = {"before": earlier, **{name: program.figures for name, program in programs.items()}}
    medians = {name: {what: statistics.median(each) for what, each in own.items()} for name, own in figures.items()}
    text = heading("The footprint of a student", "python -m benchmarks.footprint MODEL SIBLING", given.threads)
    text += f"\n{(__doc__ or '').replace('RUNS', str(given.runs))}\n"
    text += table(["", "goal", *figures], rows(medians))
    text += f"\nMODEL has {files:.1f} MB without compression.\n" + (f"\n{given.note}\n" if given.note else "")
    write("footprint", text, figures)


if __name__ == "__main__":
    main()
