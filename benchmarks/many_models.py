"""Many language pairs on a small machine: memory, start, first requests, speed and disk, compared with LibreTranslate.

    python -m venv USER && USER/bin/pip install ".[serve,export]"
    python -m benchmarks.many_models MODEL --texts FILE --work DIR --python USER/bin/python

MODEL is a folder of Firefox's student en→pt; FILE has English sentences, one per line. Every pair is a student of its
own: MODEL, imported, and copies of its bundle with 0.1 % of the int8 numbers changed and another target language, so
that no two pairs share files or memory of weights, but all translate to Portuguese and take the same time. `dragoman
serve --check` made the exports before. USER is an environment as users have it, without torch. A server of 100 pairs
has a memory limit of LIMIT; the others have the default, which all their pairs fit.

Each request has one sentence. First each pair is asked once, in order: the *first request* of a pair includes
loading, except for those loaded at the start. Then clients, each of which waits for its answer, send requests for
SECONDS s: one loaded pair, ten loaded pairs, or all pairs in random order. At last the server is idle, and
`--unload-idle` unloads all. *Memory* is the proportional set size of the processes; a part is mapped from files,
which the system can drop and read again, and *own* is without them.

LibreTranslate has no models here, since they are downloads. Its packages have random weights in the architecture of
Argos Translate's training script (6 + 6 layers of 512, int8) with MODEL's vocabulary, 32,000 tokens instead of
50,000, which takes less memory. Their output is LENGTH tokens without meaning, the same for any input: memory and
time only. All packages are the same files, since it copies a model to memory. With fewer than two packages it looks
for downloads, so one pair is not measured. Sentences are split by spaCy's rule, without a model; its beam is its
default of 4.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks.footprint import size
from benchmarks.multilingual_memory import process_tree, request_json
from benchmarks.peers.environments import default_folder, install, version
from benchmarks.reporting import heading, parser, table, write
from benchmarks.serving.peer_libretranslate import ENVIRONMENT, Peer, write_facts
from benchmarks.serving.process import Server, dragoman_serve, end_on_sigterm, free_port
from benchmarks.students.variants import CHANGED
from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.bundle import WEIGHTS
from dragoman.bundle.verified_folder import write_verified
from dragoman.bundle.weights import weight_shapes
from dragoman.config import load_config
from dragoman.engines.ctranslate2.export import export_ctranslate2
from dragoman.importing.import_model import import_model
from dragoman.run_files import PROJECT
from dragoman.text import BOS_ID, EOS_ID
from testkit.http_load import Bodies, closed_loop, percentile
from testkit.model_server import firefox_files

PATH = "/translate"
COUNTS = (1, 2, 10, 100)
CLIENTS = (1, 4)
LIMIT = "2 GB"
IDLE = 20.0
LOADED = 10
"""Pairs of the load on several loaded pairs."""
LENGTH = 30
"""Tokens of a random model's output: about those of a sentence of FLORES."""
ARGOS = ["model.dim=512", "model.heads=8", "model.feedforward=2048", "model.norm=pre", "model.tie=none"]
ARGOS += ["model.encoder_layers=6", "model.decoder_layers=6", "tokenizer.joint=true"]


@dataclass(frozen=True)
class Memory:
    """Bytes of a server: all of its pages, and those that are not mapped from files."""

    all: int
    own: int

    @classmethod
    def of(cls, server: Server) -> Memory:
        return cls(*(sum(_rolled(each, name) for each in process_tree(server.process.pid)) for name in ("", "_Anon")))


def _rolled(process: int, name: str) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"Pss{name}:"))


def target_codes(count: int) -> list[str]:
    """Return language codes for as many pairs from English."""
    from babel import Locale

    codes = {str(code) for code in Locale("en").languages} - {"en", "no", "sh"}
    return sorted(code for code in codes if len(code) == 2)[:count]


def bodies(texts: Sequence[str], targets: Sequence[str], count: int, seed: int = 1) -> list[bytes]:
    """Return requests for random pairs; the sentences are in order."""
    draw = random.Random(seed)
    return [
        json.dumps({"q": texts[number % len(texts)], "source": "en", "target": draw.choice(targets)}).encode()
        for number in range(count)
    ]


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and the percentiles of some times."""
    ordered = sorted(seconds)
    return {"p50": percentile(ordered, 0.5), "p99": percentile(ordered, 0.99), "longest": ordered[-1]}


def ask_each(server: Server, text: str, targets: Sequence[str]) -> list[tuple[float, float]]:
    """Ask each pair once; return the seconds and the CPU seconds of the server."""
    found = []
    for target in targets:
        began, cpu = time.perf_counter(), server.cpu_seconds
        request_json(f"http://127.0.0.1:{server.port}", PATH, {"q": text, "source": "en", "target": target})
        found.append((time.perf_counter() - began, server.cpu_seconds - cpu))
    return found


def load(server: Server, texts: Sequence[str], targets: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    """Ask random pairs with some clients; return the speed and the times."""
    before = server.cpu_seconds
    tally = asyncio.run(closed_loop(server.port, Bodies(PATH, bodies(texts, targets, 10_000)), clients, seconds))
    times = tally.times(200)
    failed = len(tally.outcomes) - len(times)
    return {
        "pairs": len(targets),
        "clients": clients,
        "requests": len(times),
        "failed": failed,
        "per_second": tally.per_second,
        "cpu": server.cpu_seconds - before,
        **summary(times),
    }


def measure(
    server: Server, began: float, texts: Sequence[str], targets: Sequence[str], seconds: float
) -> dict[str, Any]:
    """Measure a server that was just started."""
    found: dict[str, Any] = {"pairs": len(targets), "ready": time.perf_counter() - began, "cpu": server.cpu_seconds}
    found["started"] = vars(Memory.of(server))
    found["first"] = ask_each(server, texts[0], targets)
    found["asked"] = vars(Memory.of(server))
    found["loads"] = []
    for working in sorted({1, min(LOADED, len(targets)), len(targets)}, reverse=True):
        for clients in CLIENTS:
            if working <= LOADED:
                ask_each(server, texts[0], targets[-working:])
            found["loads"].append(load(server, texts, targets[-working:], clients, seconds))
            print(found["pairs"], found["loads"][-1], file=sys.stderr, flush=True)
    found["loaded"] = vars(Memory.of(server))
    return found


class Dragoman:
    """`dragoman serve` in the environment of a user, with one bundle per pair."""

    name = "dragoman"

    def __init__(self, python: Path, model: Path, work: Path, threads: int) -> None:
        self.python, self.model, self.work, self.threads = python, model, work / "dragoman", threads
        self.cache = self.work / "cache"
        self.environment = {"DRAGOMAN_CACHE": str(self.cache), "OMP_NUM_THREADS": str(threads)}

    def prepare(self, targets: Sequence[str]) -> None:
        """Write a student for each pair that has none yet, and create the exports."""
        first = self.bundle(targets[0])
        if not first.exists():
            import_model(self.model, first, languages=("en", targets[0]))
        for number, target in enumerate(targets, 1):
            if not self.bundle(target).exists():
                write_variant(Bundle.open(first), self.bundle(target), target, number)
        exports = self.cache / "exports"
        if exports.exists() and len(list(exports.iterdir())) >= len(targets):
            return
        settings = {"memory_bytes": LIMIT}
        command = [*dragoman_serve(self.arguments(targets), 1, settings)[1:], "--check"]
        environment = {
            **self.environment,
            "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
            "PATH": "/usr/bin:/bin",
        }
        subprocess.run([self.python, *command], env=environment, stdout=subprocess.DEVNULL, check=True)

    def bundle(self, target: str) -> Path:
        return self.work / "bundles" / f"en-{target}"

    def arguments(self, targets: Sequence[str]) -> list[str]:
        return [f"en-{target}={self.bundle(target)}" for target in targets]

    def disk(self, targets: Sequence[str]) -> float:
        """Return the megabytes of bundles, and of their exports, which are all of one size."""
        exports = list((self.cache / "exports").iterdir())
        return sum(size(self.bundle(each)) for each in targets) + size(exports[0]) * len(targets)

    def measure(self, texts: Sequence[str], targets: Sequence[str], seconds: float) -> dict[str, Any]:
        settings: dict[str, object] = {"log": "off", "threads": self.threads, "unload_idle": IDLE}
        if len(targets) == COUNTS[-1]:
            settings["memory_bytes"] = LIMIT
        port, began = free_port(), time.perf_counter()
        command = [str(self.python), *dragoman_serve(self.arguments(targets), port, settings)[1:]]
        server = Server(command, port, self.work / "server.log", env=self.environment)
        try:
            server.wait_until_ready()
            found = measure(server, began, texts, targets, seconds)
            time.sleep(IDLE + 5)
            found["idle"] = vars(Memory.of(server))
            found["again"] = ask_each(server, texts[0], targets[:1])
            return {**found, "disk": self.disk(targets)}
        finally:
            server.stop()


def write_variant(bundle: Bundle, folder: Path, target: str, seed: int) -> None:
    """Write a copy of a bundle for another target language with other int8 numbers."""
    weights, draw = load_file(bundle.folder / WEIGHTS), np.random.default_rng(seed)
    for name, array in weights.items():
        if array.dtype == np.int8:
            weights[name] = np.where((draw.random(array.shape) < CHANGED) & (array < 127), array + 1, array)
    config = (bundle.folder / PROJECT).read_text(encoding="utf-8")
    with write_verified(folder) as draft:
        for name in bundle.manifest["files"]:
            shutil.copyfile(bundle.folder / name, draft / name)
        save_file(weights, draft / WEIGHTS)
        (draft / PROJECT).write_text(re.sub("(?m)^target = .*", f'target = "{target}"', config), encoding="utf-8")


class LibreTranslate(Peer):
    """An installed LibreTranslate with packages of random weights."""

    name = "LibreTranslate"

    def __init__(self, model: Path, bundle: Path, work: Path, environments: Path, threads: int) -> None:
        self.work, self.threads, self.beam = work / "libretranslate", threads, 4
        self.python = install(ENVIRONMENT, environments)
        self.package = self.work / "package"
        if not self.package.exists():
            write_random_package(model, Bundle.open(bundle, trusted=True), self.package, self.python)
        senter = self.work / "cache" / "argos-translate" / "spacy" / "senter"
        senter.mkdir(parents=True, exist_ok=True)
        (senter / "model").touch()  # without this file it downloads a pipeline that it does not use

    def prepare(self, targets: Sequence[str]) -> None:
        """Install a package for each pair: its own metadata, and links to the same model."""
        packages = self.work / "packages"
        for target in targets:
            if not (packages / target).exists():
                (packages / target).mkdir(parents=True)
                for path in self.package.iterdir():
                    (packages / target / path.name).symlink_to(path.resolve())
                write_facts(packages / target, "en", target)
        for path in packages.iterdir():
            if path.name not in targets:
                (path / "metadata.json").unlink()
                for link in path.iterdir():
                    link.unlink()
                path.rmdir()

    def measure(self, texts: Sequence[str], targets: Sequence[str], seconds: float) -> dict[str, Any]:
        self.prepare(targets)
        began = time.perf_counter()
        server = self.start(4)  # its default
        try:
            return {**measure(server, began, texts, targets, seconds), "disk": size(self.package) * len(targets)}
        finally:
            server.stop()


def write_random_package(model: Path, student: Bundle, folder: Path, python: Path) -> None:
    """Write a package of the usual architecture with random weights and the vocabulary of a student."""
    config = load_config("vaswani2017-desk", ARGOS)
    tokenizers = student.tokenizers()
    config = config.model_copy(update={"tokenizer": student.config.tokenizer})
    weights = random_weights(config, [tokenizers[side].size for side in ("source", "target")])
    bundle = write_bundle(folder.with_name("bundle"), config, weights, tokenizers, "# Random\n")
    (folder / "model").mkdir(parents=True)
    export_ctranslate2(bundle, folder / "model", "int8")
    (folder / "sentencepiece.model").write_bytes(firefox_files(model)["vocab"])
    code = "import sys, spacy; spacy.blank('en').to_disk(sys.argv[1])"
    subprocess.run([python, "-W", "ignore", "-c", code, str(folder / "spacy")], check=True)


def random_weights(config: Any, sizes: Sequence[int]) -> dict[str, Any]:
    """Return weights with which every translation has `LENGTH` tokens.

    The layers add almost nothing to the embedding of the last token, and the row of the output layer of each of some
    tokens is the embedding of the token before it; the last one is the end.
    """
    draw = np.random.default_rng(1)
    weights = {}
    for name, shape in weight_shapes(config.model, *sizes):
        if "norm" in name:
            weights[name] = np.full(shape, 1.0 if name.endswith("weight") else 0.0, np.float32)
        else:
            scale = 1.0 if "embedding" in name or "output" in name else 0.001
            weights[name] = draw.normal(0, scale, shape).astype(np.float32)
    chain = [BOS_ID, *range(100, 100 + LENGTH), EOS_ID]
    for before, after in itertools.pairwise(chain):
        weights["decoder.output.weight"][after] = weights["decoder.embedding.weight"][before]
    return weights


def mib(memory: dict[str, int] | None) -> str:
    return "–" if memory is None else f"{memory['all'] / 2**20:.0f} ({memory['own'] / 2**20:.0f})"


def server_rows(name: str, servers: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return a row per server: start, memory, first requests and disk."""
    found = []
    for each in servers:
        first, cpu = (summary(values) for values in zip(*each["first"], strict=True))
        found.append(
            [
                f"{name}, {each['pairs']}",
                f"{each['ready']:.1f} ({each['cpu']:.1f})",
                *(mib(each.get(when)) for when in ("started", "asked", "loaded", "idle")),
                f"{first['p50']:.2f}",
                f"{first['longest']:.2f}",
                f"{cpu['p50']:.2f}",
                f"{each['disk'] / 1000:.1f}",
            ]
        )
    return found


def load_rows(name: str, servers: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return a row per load, with its p99 relative to that of one loaded pair of the same server."""
    found = []
    for each in servers:
        one = {load["clients"]: load["p99"] for load in each["loads"] if load["pairs"] == 1}
        for row in each["loads"]:
            values = [row["per_second"], 1000 * row["cpu"] / row["requests"]]
            values += [1000 * row[which] for which in ("p50", "p99", "longest")]
            times = [f"{value:.{1 if value < 100 else 0}f}" for value in values]
            ratio = f"{row['p99'] / one[row['clients']]:.1f}"
            found.append([f"{name}, {each['pairs']}", str(row["pairs"]), str(row["clients"]), *times, ratio])
            found[-1].append(str(row["failed"]))
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("model", type=Path)
    options.add_argument("--texts", type=Path, required=True, help="English sentences")
    options.add_argument("--work", type=Path, required=True, help="folder for bundles and packages, used again")
    options.add_argument("--python", type=Path, default=Path(sys.executable), help="Python of the environment")
    options.add_argument("--environments", type=Path, default=default_folder(), help="folder of LibreTranslate")
    options.add_argument("--seconds", type=float, default=20.0, help="of each load")
    options.add_argument("--counts", type=int, nargs="*", default=COUNTS, help="none: only the page")
    options.add_argument("--only", choices=["dragoman", "LibreTranslate"], help="measure one of the programs again")
    options.add_argument("--prepare", action="store_true", help="write the models and exit")
    options.add_argument("--note", default="", help="what else ran on the machine, and what limits the figures")
    given = options.parse_args()
    end_on_sigterm()
    texts, targets = given.texts.read_text(encoding="utf-8").splitlines(), target_codes(max(given.counts, default=1))
    ours = Dragoman(given.python, given.model, given.work, given.threads)
    ours.prepare(targets)
    libre = functools.partial(LibreTranslate, given.model, ours.bundle(targets[0]), given.work)
    if given.prepare:
        return
    programs: list[Dragoman | LibreTranslate] = [ours]
    if given.only != ours.name:
        programs.append(libre(given.environments, given.threads))
    kept = {name: given.work / f"{name}.json" for name in (ours.name, LibreTranslate.name)}
    for program in programs:
        servers: list[dict[str, Any]] = []
        for count in given.counts if given.only in (None, program.name) else ():
            if count > 1 or program is ours:
                servers.append(program.measure(texts, targets[:count], given.seconds))
                kept[program.name].write_text(json.dumps(servers), encoding="utf-8")
    found = {name: json.loads(path.read_bytes()) for name, path in kept.items() if path.exists()}
    text = heading("Many language pairs", "python -m benchmarks.many_models MODEL --texts FILE", given.threads)
    described = (__doc__ or "").replace("LIMIT", LIMIT).replace("LENGTH", str(LENGTH))
    text += f"\n{described.replace('SECONDS', f'{given.seconds:.0f}')}\n## Servers\n\n"
    columns = [
        "server, pairs",
        "ready, s (CPU s)",
        *(f"MiB, {when} (own)" for when in ("started", "all asked", "after load", "idle")),
    ]
    columns += ["first request, s: median", "longest", "CPU s", "models, GB"]
    text += table(columns, [row for name, each in found.items() for row in server_rows(name, each)])
    text += "\n## Load\n\n"
    columns = [
        "server, pairs",
        "pairs asked",
        "clients",
        "sentences/s",
        "CPU ms per sentence",
        "p50, ms",
        "p99, ms",
        "longest, ms",
    ]
    columns += ["p99 relative to one pair", "failed"]
    text += table(columns, [row for name, each in found.items() for row in load_rows(name, each)])
    text += f"\n{version(ENVIRONMENT, given.environments)}.\n" if given.only != ours.name else "\n"
    text += f"\n{given.note}\n" if given.note else ""
    write("many-models", text, found)


if __name__ == "__main__":
    main()
