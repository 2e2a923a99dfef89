"""The share of its time that ``dragoman evaluate`` spends on anything but translating.

One bundle, 3,000 sentences of Multi30k (the test sets of 2016 to 2018), the default options: BLEU, chrF++ and TER
with bootstrap intervals, BLEU and chrF++ by length, quality flags, beam 5. The command runs in its own process; its
wall time, from start to end with all imports, is compared with the time it reports for opening the model and
translating. The goal is at most 10 %.

Statistics of the scores are computed in a thread while the next sentences are translated, so the share is the time a
user waits. The last column is the CPU time of everything but translation.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.reporting import heading, parser, table, write

GOAL = 0.10
SENTENCES = 3000
SETS = ("test_2016_flickr", "test_2017_flickr", "test_2018_flickr")


@dataclass(frozen=True)
class Row:
    """One run of the command, in seconds."""

    engine: str
    whole: float
    inside: float
    translating: float
    scoring: float
    cpu: float
    cpu_translating: float

    @property
    def share(self) -> float:
        return 1 - self.translating / self.whole

    @property
    def inside_share(self) -> float:
        return 1 - self.translating / self.inside


def test_set(corpora: Path, folder: Path, sentences: int) -> list[Path]:
    paths = []
    for language in ("en", "de"):
        lines: list[str] = []
        for name in SETS:
            with gzip.open(
                corpora / "multi30k" / f"{name}.{language}.gz", "rt", encoding="utf-8", newline="\n"
            ) as file:
                lines += file
        paths.append(folder / f"multi30k.{language}")
        paths[-1].write_text("".join(lines[:sentences]), encoding="utf-8")
    return paths


def run(bundle: Path, test: list[Path], engine: str, threads: int) -> Row:
    options = ["--engine", engine, "--threads", str(threads), "--json"]
    command = [sys.executable, "-m", "dragoman", "evaluate", str(bundle), "--test", *map(str, test), *options]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=True, env=os.environ | {"OMP_NUM_THREADS": str(threads)})
    whole, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(done.stdout)
    seconds, speed = found["seconds"], found["systems"][0]["members"][0]["speed"]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Row(
        engine, whole, seconds["all"], seconds["translating"], seconds["scoring"], cpu, float(speed["cpu_seconds"])
    )


def page(rows: list[Row], command: str, threads: int) -> str:
    head = [
        "engine",
        "command, s",
        "translating, s",
        "scores, s",
        "outside, all",
        "outside, evaluate()",
        "other CPU, s",
    ]
    cells = []
    for engine in dict.fromkeys(row.engine for row in rows):
        some = [row for row in rows if row.engine == engine]
        middle = sorted(some, key=lambda row: row.share)[len(some) // 2]
        spread = " – ".join(f"{100 * share:.1f}" for share in (min(r.share for r in some), max(r.share for r in some)))
        cells.append(
            [
                engine,
                *(f"{value:.1f}" for value in (middle.whole, middle.translating, middle.scoring)),
                f"{100 * middle.share:.1f} % ({spread})",
                f"{100 * statistics.median(row.inside_share for row in some):.1f} %",
                f"{middle.cpu - middle.cpu_translating:.1f}",
            ]
        )
    text = heading("What evaluation adds to translation", command, threads)
    return (
        f"{text}\n{__doc__}\nThe run with the median share of {len(rows) // len(cells)}; in brackets the range.\n\n"
        + table(head, cells)
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("bundle", type=Path, help="a Transformer from en to de")
    options.add_argument("--corpora", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    options.add_argument("--engines", nargs="+", default=["ctranslate2", "torch"])
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--sentences", type=int, default=SENTENCES, help="fewer only try the benchmark out")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = test_set(given.corpora, Path(folder), given.sentences)
        rows = [run(given.bundle, test, engine, given.threads) for engine in given.engines for _ in range(given.runs)]
    text = page(rows, "python -m benchmarks.evaluation BUNDLE", given.threads)
    if given.sentences < SENTENCES:
        print(text)
        return
    write("evaluation", text, [asdict(row) for row in rows])
    sys.exit(0 if all(row.share <= GOAL for row in rows) else 1)


if __name__ == "__main__":
    main()
