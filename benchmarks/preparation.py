"""`dragoman prepare` on generated corpora of several sizes, compared with the bare engine, and the cost of each filter.

Time is of the whole command. CPU seconds are those of all its processes, as the system counts them. Memory is the sum
of the resident sets of all processes, sampled every 50 ms: pages that processes share count for each, so the truth
is lower. "Bare Polars" reads the same two files, drops exact duplicates and writes Parquet, with its streaming engine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, table, write
from testkit.generate_corpus import SIDES, generate

ROOT = Path(__file__).parents[1]
SAMPLE = 200_000  # pairs on which filters are timed one by one
INTERVAL = 0.05  # seconds between two measurements of memory
GIB = 1 << 30

# Under which names the report counts each planted kind.
FOUND_AS = {
    "empty side": ["drops: empty"],
    "copied source": ["drops: sides the same"],
    "nearly copied source": ["drops: sides alike"],
    "length ratio": ["drops: lengths differ"],
    "long word": ["drops: word too long"],
    "few letters": ["drops: few letters"],
    "wrong script": ["drops: other script"],
    "repeated words": ["drops: repeats itself"],
    "number mismatch": ["drops: numbers differ"],
    "URL mismatch": ["drops: addresses differ"],
    "HTML tag mismatch": ["drops: markup differs"],
    "HTML entities": ["repairs: entities unescaped"],
    "mojibake": ["repairs: mojibake repaired"],
    "control characters": ["repairs: control characters removed"],
    "U+2028 inside": ["notes: line separator inside a line", "repairs: line separators made spaces"],
    # Alone among the separators it is a character of Windows-1252 too, the ellipsis.
    "U+0085 inside": ["notes: line separator inside a line", "repairs: mojibake repaired"],
    "CRLF ending": ["notes: carriage return removed"],
    "NUL": ["faults: NUL byte"],
    "invalid UTF-8": ["faults: not UTF-8"],
    "test-set leak": ["fates: LEAKED"],
    "duplicate": ["fates: DUPLICATE_PAIR"],
    "near-duplicate": ["fates: NEAR_DUPLICATE"],
}


# ----------------------------------------------------------------------------------------------------------- processes


@dataclass(frozen=True)
class Usage:
    """What a command took, with all processes that it started."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    peak_anonymous_bytes: int
    """The same without pages of files, which the system can take back."""


def run(command: list[str], log: Path, **environment: str) -> Usage:
    """Run a command to its end and measure it; what it prints goes to `log`."""
    peaks, began = [0, 0], time.perf_counter()
    with log.open("wb") as output:
        child = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=output, stderr=output)
        while True:
            done, status, used = os.wait4(child.pid, os.WNOHANG)  # `used` counts grandchildren once they have ended
            if done:
                break
            peaks = list(map(max, peaks, memory(child.pid)))
            time.sleep(INTERVAL)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{log.read_text(errors='replace')[-3000:]}")
    return Usage(time.perf_counter() - began, used.ru_utime + used.ru_stime, *peaks)


def memory(pid: int) -> tuple[int, int]:
    """Bytes resident in a process and its descendants: all, and those without a file."""
    resident = anonymous = 0
    for each in descendants(pid):
        try:
            status = Path(f"/proc/{each}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        sizes = dict(re.findall(r"^(VmRSS|RssAnon):\s+(\d+) kB$", status, re.MULTILINE))
        resident += 1024 * int(sizes.get("VmRSS", 0))
        anonymous += 1024 * int(sizes.get("RssAnon", 0))
    return resident, anonymous


def descendants(pid: int) -> Iterable[int]:
    """A process, its children, and theirs."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):  # each thread has its own
        try:
            found = children.read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for child in found:
            yield from descendants(int(child))


# ------------------------------------------------------------------------------------------------------------- prepare


def corpus(pairs: int, work: Path) -> tuple[Path, dict[str, Any]]:
    """The folder of a generated corpus, made if it is not there, and what is known about it."""
    folder = work / f"{pairs}-pairs"
    truth = folder / "truth.json"
    if not truth.exists():
        generate(folder, pairs)
    return folder, json.loads(truth.read_text(encoding="utf-8"))


def write_config(folder: Path, name: str, *, more: str = "") -> Path:
    """A configuration for a generated corpus; its output goes to a folder of the same name."""
    files = {part: json.dumps([f"{part}.{side}" for side in SIDES]) for part in ("train", "validation", "test")}
    path = folder / f"{name}.toml"
    path.write_text(
        f'extends = "pairs-5m"\n\n[data]\nsource = "en"\ntarget = "de"\non_bad_line = "skip"\nfolder = "{name}"\n'
        f"train = [{{ files = {files['train']} }}]\nvalidation = {{ files = {files['validation']} }}\n"
        f"test = [{{ files = {files['test']} }}]\n{more}",
        encoding="utf-8",
    )
    return path


def prepare(config: Path, processes: int) -> Usage:
    command = [sys.executable, "-m", "dragoman", "prepare", str(config), "--processes", str(processes)]
    return run(command, config.with_suffix(".log"))


def prepare_afresh(config: Path, processes: int) -> tuple[Usage, dict[str, float]]:
    """Prepare without what an earlier run left; also the seconds of each stage, by when its result was written."""
    output = config.with_suffix("")
    shutil.rmtree(output, ignore_errors=True)
    before = time.time()
    usage = prepare(config, processes)
    stages: dict[str, float] = {}
    for moment, name in sorted((done.stat().st_mtime, done.parent.name) for done in output.glob("**/done.json")):
        stage = name.rsplit("-", 1)[0]
        stages[stage] = stages.get(stage, 0.0) + moment - before
        before = moment
    return usage, stages


def output_hash(folder: Path) -> str:
    """One hash over all shards and tokenizers."""
    whole = hashlib.sha256()
    for path in sorted(p for pattern in ("shards-*/*.arrow", "**/tokenizer.*") for p in folder.glob(pattern)):
        if "work" not in path.relative_to(folder).parts:
            with path.open("rb") as file:
                whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()


def compare_with_truth(truth: dict[str, Any], output: Path) -> dict[str, tuple[int, int]]:
    """For each name in the report: how often the generator inserted its defect, and how often it was found."""
    report, manifest = (json.loads((output / name).read_text()) for name in ("report.json", "manifest.json"))
    (summary,) = (each["summary"] for each in report["corpora"] if each["role"] == "train")
    tallies = {name: summary[name]["counts"] for name in ("faults", "notes", "repairs", "drops")}
    tallies["fates"] = {name: n for name, n in report["selection"]["counts"].items() if name != "KEPT"}
    found = {f"{part}: {name}": count for part, counts in tallies.items() for name, count in counts.items()}
    planted: dict[str, int] = {}
    for kind, count in (truth["faults"] | truth["counts"]).items():
        if kind == "near-duplicate" and not manifest["settings"]["data"]["cleaning"]["near_duplicates"]:
            continue
        for name in FOUND_AS.get(kind, []):
            planted[name] = planted.get(name, 0) + count
    return {name: (planted.get(name, 0), found.get(name, 0)) for name in planted | found}


def bare(folder: Path, output: Path) -> None:
    """The least that the engine can do with the same files."""
    import polars as pl

    sides = [
        pl.scan_csv(
            folder / f"train.{side}",
            has_header=False,
            schema={side: pl.String},
            separator="\x01",  # a line is one value
            quote_char=None,
            encoding="utf8-lossy",
        )
        for side in SIDES
    ]
    pairs = pl.concat(sides, how="horizontal").unique(maintain_order=False)
    pairs.sink_parquet(output, engine="streaming")


def child(call: str) -> list[str]:
    """A command that calls a function of this module in a process of its own."""
    return [sys.executable, "-c", f"from pathlib import Path; import benchmarks.preparation as b; b.{call}"]


def measure(pairs: int, processes: int, work: Path, *, more: str = "") -> dict[str, Any]:
    """One size: prepare, prepare again with nothing changed, and the bare engine; `more` is added to the settings."""
    folder, truth = corpus(pairs, work)
    config = write_config(folder, "prepared", more=more)
    usage, stages = prepare_afresh(config, processes)
    output = config.with_suffix("")
    again = prepare(config, processes)
    call = f"bare(Path({str(folder)!r}), Path({str(folder / 'bare.parquet')!r}))"
    engine = run(child(call), folder / "bare.log", POLARS_MAX_THREADS=str(processes))
    return {
        "pairs": pairs,
        "bytes": truth["bytes"],
        "processes": processes,
        "prepare": asdict(usage),
        "stages": stages,
        "again": asdict(again),
        "bare": asdict(engine),
        "sha256": output_hash(output),
        "truth": compare_with_truth(truth, output),
    }


# --------------------------------------------------------------------------------------------------------------- costs


def measure_costs(work: Path, pairs: int = SAMPLE) -> dict[str, float]:
    """Microseconds a pair of each step and filter in one thread, on a corpus that `measure` has prepared."""
    folder, _ = corpus(pairs, work)
    found = folder / "costs.json"
    run(child(f"time_steps(Path({str(folder)!r}), Path({str(found)!r}))"), folder / "costs.log", **ONE_THREAD)
    costs: dict[str, float] = json.loads(found.read_text(encoding="utf-8"))
    return costs


ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def time_steps(folder: Path, output: Path) -> None:
    """Run every step on each chunk, as the preparation does, and write the microseconds a pair that each takes."""
    from dragoman.config import load_config
    from dragoman.data.cleaning.pipeline import build_filters, normalize_frame, repair
    from dragoman.data.duplicates.pair_keys import frame_keys
    from dragoman.data.preparation.clean_stage import CleaningRecipe
    from dragoman.data.preparation.prepared_data import PreparedData
    from dragoman.data.preparation.shard_stage import encode
    from dragoman.data.readers.corpus_reader import open_corpus
    from dragoman.text import Normalizer

    data = load_config(folder / "prepared.toml", ["data.cleaning.language=true"]).data
    assert data is not None
    languages = {"source": data.source, "target": data.target}
    filters = build_filters(data.cleaning, **languages)
    tokenizers = PreparedData.open(folder / data.folder).tokenizers()
    keys = CleaningRecipe.from_config(data, "nfc").keys
    reader = open_corpus(data.train[0], **languages, folder=folder)
    watch = Stopwatch()
    for chunk in watch.each("read: cut", reader.chunks(65_536)):
        lines = watch("read: decode, check", partial(chunk.read, max_line_bytes=data.max_line_bytes))
        frame, _ = watch("repair", partial(repair, lines.frame, data.cleaning, lines.file))
        frame, _ = watch("normalise", partial(normalize_frame, frame, Normalizer(), lines.file))
        watch.pairs += frame.height
        for name, find in filters.items():
            drop = watch(f"filter: {name}", partial(find, frame))
            frame = frame if name == "other language" else frame.filter(~drop)  # it supports no invented languages
        watch("keys", partial(frame_keys, frame, keys))
        watch("tokenise", partial(encode, frame, tokenizers, data.max_tokens))
    output.write_text(json.dumps({name: 1e6 * s / watch.pairs for name, s in watch.seconds.items()}), encoding="utf-8")


class Stopwatch:
    """Adds up the processor time of calls, by name; what other programs do at the same time does not count."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.pairs = 0

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - began
        return result

    def each(self, name: str, items: Iterable[Any]) -> Iterable[Any]:
        """Yield the items, and measure how long each is waited for."""
        waiting, end = iter(items), object()
        while (item := self(name, lambda: next(waiting, end))) is not end:
            yield item


def measure_apart(work: Path, pairs: int = SAMPLE) -> dict[str, dict[str, float]]:
    """What is off by default, in one process: how many microseconds a pair its stage takes more; what it drops."""
    folder, truth = corpus(pairs, work)
    quick = '\n[tokenizer]\nkind = "character"\n'
    _, without = prepare_afresh(write_config(folder, "apart-none", more=quick), 1)
    found = {}
    for switch, stage, name in (
        ("language", "clean", "drops: other language"),
        ("near_duplicates", "select", "fates: NEAR_DUPLICATE"),
    ):
        config = write_config(folder, f"apart-{switch}", more=f"\n[data.cleaning]\n{switch} = true\n{quick}")
        _, stages = prepare_afresh(config, 1)
        planted, dropped = compare_with_truth(truth, config.with_suffix("")).get(name, (0, 0))
        microseconds = 1e6 * (stages[stage] - without[stage]) / pairs
        found[switch] = {"microseconds": microseconds, "planted": planted, "dropped": dropped}
    return found


# ---------------------------------------------------------------------------------------------------------------- page


def page(
    measured: list[dict[str, Any]], costs: dict[str, float], apart: dict[str, dict[str, float]], command: str
) -> str:
    """The result page."""
    text = heading("Preparing corpora", command, measured[0]["processes"]) + f"\n{__doc__ or ''}\n"
    header = ["pairs", "text, MB", "wall, s", "CPU, s", "pairs/s", "pairs/s a core", "peak, MiB", "without files, MiB"]
    for title, key in (("dragoman prepare", "prepare"), ("Bare Polars", "bare")):
        text += f"## {title}\n\n" + table(header, [size_row(size, size[key]) for size in measured]) + "\n"
    text += ratios(measured) + "\n## Stages\n\nSeconds; and those of a second run with nothing changed.\n\n"
    stages = list(measured[0]["stages"])
    rows = [
        [f"{s['pairs']:,}", *(f"{s['stages'].get(stage, 0):.1f}" for stage in stages), f"{s['again']['seconds']:.1f}"]
        for s in measured
    ]
    text += table(["pairs", *stages, "again"], rows)
    text += (
        f"\n## Steps\n\nMicroseconds a pair in one thread, {SAMPLE:,} pairs. A filter sees what those before left.\n\n"
    )
    text += table(["step", "µs"], [[name, f"{cost:.2f}"] for name, cost in costs.items()])
    text += "\n## Off by default\n\nMicroseconds a pair that the stage takes more in one process. "
    text += (
        "What language identification drops says nothing here, for the languages are invented. A near-duplicate was "
    )
    text += "planted by changing one word, which in a short sentence is more than the default threshold allows.\n\n"
    rows = [[n, f"{a['microseconds']:.1f}", f"{a['planted']:,}", f"{a['dropped']:,}"] for n, a in apart.items()]
    text += table(["switch", "µs", "planted", "dropped"], rows)
    largest = max(measured, key=lambda size: int(size["pairs"]))
    text += f"\n## Planted and found, {largest['pairs']:,} pairs\n\n"
    rows = [[name, f"{planted:,}", f"{found:,}"] for name, (planted, found) in largest["truth"].items()]
    return text + table(["reported as", "planted", "found"], rows)


def size_row(size: dict[str, Any], usage: dict[str, Any]) -> list[str]:
    pairs, megabytes = size["pairs"], size["bytes"] / 1e6
    cells = [pairs, megabytes, usage["seconds"], usage["cpu_seconds"], pairs / usage["seconds"]]
    cells += [pairs / usage["cpu_seconds"], usage["peak_bytes"] / 2**20, usage["peak_anonymous_bytes"] / 2**20]
    return [f"{cell:,.0f}" if cell >= 10 else f"{cell:.1f}" for cell in cells]


def ratios(measured: list[dict[str, Any]]) -> str:
    """The largest size compared with the smallest."""
    small, large = (choose(measured, key=lambda size: size["pairs"]) for choose in (min, max))
    peak = large["prepare"]["peak_bytes"] / GIB
    if small is large:
        return f"Peak memory {peak:.2f} GiB (goal: at most 2).\n"

    growth = large["pairs"] / small["pairs"]
    wall, cpu, peaks = (
        large["prepare"][key] / small["prepare"][key] for key in ("seconds", "cpu_seconds", "peak_bytes")
    )
    growing = [size["prepare"]["seconds"] - size["stages"]["tokenizer"] for size in (large, small)]
    return (
        f"{large['pairs']:,} pairs beside {small['pairs']:,}: wall time a pair × **{wall / growth:.2f}**, CPU time a "
        f"pair × **{cpu / growth:.2f}** (goal: at most 1.2), peak memory × **{peaks:.2f}** (goal: at most 1.1) and "
        f"**{peak:.2f} GiB** (goal: at most 2). Learning the tokenizer takes a sample of the same size each time; "
        f"without it, wall time a pair × **{growing[0] / growing[1] / growth:.2f}**.\n"
    )


def run_all(sizes: list[int], processes: int, work: Path) -> None:
    """Measure all sizes and write the page."""
    measured = []
    for pairs in sorted({*sizes, SAMPLE}):  # steps are timed on the sample, with its tokenizer
        measured.append(measure(pairs, processes, work))
        print(json.dumps(measured[-1]), flush=True)
    costs, apart = measure_costs(work), measure_apart(work)
    shown = [size for size in measured if size["pairs"] in sizes]
    command = f"python -m benchmarks.preparation --pairs {' '.join(map(str, sizes))} --processes {processes}"
    figures = {"sizes": measured, "costs": costs, "apart": apart}
    write("preparation", page(shown, costs, apart, command), figures)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, nargs="+", default=[1_000_000, 10_000_000])
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--work", type=Path, help="keeps the corpora and what was made of them; else all is removed")
    chosen = options.parse_args()
    if chosen.work:
        run_all(chosen.pairs, chosen.processes, chosen.work.resolve())
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-preparation-") as work:
        run_all(chosen.pairs, chosen.processes, Path(work))


if __name__ == "__main__":
    main()
