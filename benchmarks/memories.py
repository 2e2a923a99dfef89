"""Translation memories: import, look-up, recall against a full scan, disk.

    python -m benchmarks.memories FOLDER [--units 1000000] [--database postgresql://USER@HOST/NAME]

FOLDER has corpora, as shared/data: all English lines of it (`*.en.gz`, first column of `en-*.tsv.gz`) are sources of
units. If they are too few, further units are the first half of one line and the second half of another. A second memory
has all Chinese lines (`*.zh.gz`, second column of `en-zh_CN.tsv.gz`). Queries are sources of random units: with one
or two words replaced by others of the same language, of 2 to 4 words with one replaced, and Chinese ones with one
character replaced. A look-up requests the best match at or above 70. Recall is the share of queries for which it is as
good as the best of a scan of all units, among those for which the scan finds one. Times are of one process, with the
database in the cache of the machine; other work of the machine is not excluded.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from benchmarks.reporting import RESULTS, heading, parser, table, write
from dragoman.storage.database import Database
from dragoman.storage.memories import MemoryStore, Unit
from dragoman.storage.memory_match import Query
from dragoman.storage.segment_text import mask, normalize_segment, segment_words

THRESHOLD = 70


def read_lines(folder: Path, language: str, column: int, tables: str) -> list[str]:
    """Return the different lines of all corpora in a language."""
    lines: dict[str, None] = {}
    for path in sorted(folder.rglob(f"*.{language}.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines |= dict.fromkeys(normalize_segment(line) for line in file)
    for path in sorted(folder.rglob(tables)):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines |= dict.fromkeys(normalize_segment(line.split("\t")[column]) for line in file if "\t" in line)
    return [line for line in lines if line and len(line) < 2000]


def enough_lines(lines: list[str], count: int, rng: random.Random) -> list[str]:
    """Return as many lines, new ones made of halves of others."""
    known = set(lines)
    while len(lines) < count:
        first, second = (rng.choice(lines).split() for _ in range(2))
        line = " ".join(first[: (len(first) + 1) // 2] + second[len(second) // 2 :])
        if line not in known:
            known.add(line)
            lines.append(line)
    lines = lines[:count]
    rng.shuffle(lines)
    return lines


def changed(words: list[str], count: int, others: Sequence[str], rng: random.Random) -> list[str]:
    """Return words of which some are replaced."""
    words = list(words)
    for place in rng.sample(range(len(words)), count):
        words[place] = rng.choice(others)
    return words


def groups(
    english: list[str], chinese: list[str], count: int, rng: random.Random
) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the names, languages and queries of groups."""
    words = [word for line in rng.sample(english, min(5000, len(english))) for word in line.split()]
    long, short = ([x for x in english if len(x.split()) in lengths] for lengths in (range(6, 40), range(2, 5)))
    for name, lines, changes in (("one word", long, 1), ("two words", long, 2), ("2 to 4 words, one", short, 1)):
        yield name, "en", [" ".join(changed(x.split(), changes, words, rng)) for x in rng.sample(lines, count)]
    characters = "".join(chinese[:5000])
    lines = [x for x in chinese if 4 <= len(x) < 60]
    yield (
        "Chinese, one character",
        "zh",
        ["".join(changed(list(x), 1, characters, rng)) for x in rng.sample(lines, count)],
    )


class FullScan:
    """Compares a text with all units; a word is a character, so that the comparison is one of strings."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._codes: dict[str, str] = {}
        self._texts = [self._encode(line) for line in lines]

    def _encode(self, line: str) -> str:
        codes = self._codes
        return "".join(
            codes.setdefault(word, chr(len(codes) + (0x100 if len(codes) < 0xD000 else 0x10000 - 0xD000)))
            for word in segment_words(mask(normalize_segment(line)).text)
        )

    def best(self, query: str) -> int:
        scores = process.cdist(
            [self._encode(query)],
            self._texts,
            scorer=Levenshtein.normalized_similarity,
            dtype=np.float32,
            score_cutoff=THRESHOLD / 100,
        )
        return min(98, int(100 * float(scores.max()) + 0.5))


def measure(
    store: MemoryStore, lines: dict[str, list[str]], queries: Sequence[tuple[str, str, list[str]]]
) -> dict[str, Any]:
    """Import the lines and look up the queries."""
    found: dict[str, Any] = {"import": {}, "look_up": []}
    for language, some in lines.items():
        memory = store.create("", language)
        start, cpu = time.perf_counter(), time.process_time()
        store.add(memory, language, "de", (Unit(line, line[::-1]) for line in some))
        seconds = time.perf_counter() - start
        found["import"][language] = {
            "units": len(some),
            "seconds": round(seconds, 1),
            "cpu_seconds": round(time.process_time() - cpu, 1),
            "words": round(sum(len(line.split()) for line in some) / len(some), 1),
        }
        print(found["import"][language], flush=True)
    for name, language, texts in queries:
        memories, times, best = [store.get("", language)], list[float](), list[int]()
        for text in texts[:20]:  # fill the cache
            store.look_up(memories, language, "de", [Query(text)], threshold=THRESHOLD)
        cpu = time.process_time()
        for text in texts:
            start = time.perf_counter()
            (matches,) = store.look_up(memories, language, "de", [Query(text)], threshold=THRESHOLD)
            times.append(1000 * (time.perf_counter() - start))
            best.append(matches[0].score if matches else 0)
        p50, p99 = (float(np.percentile(times, each)) for each in (50, 99))
        row = {"group": name, "p50_ms": round(p50, 1), "p99_ms": round(p99, 1), "best": best}
        found["look_up"].append(row | {"cpu_ms": round(1000 * (time.process_time() - cpu) / len(texts), 1)})
        print(name, p50, p99, flush=True)
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--units", type=int, default=1_000_000)
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--scanned", type=int, default=60, help="queries of each group for recall")
    options.add_argument("--database")
    chosen = options.parse_args()
    rng = random.Random(1)
    english = read_lines(chosen.folder, "en", 0, "en-*.tsv.gz")
    chinese = read_lines(chosen.folder, "zh", 1, "en-zh_CN.tsv.gz")[: chosen.units]
    real = min(len(english), chosen.units)
    lines = {"en": enough_lines(english, chosen.units, rng), "zh": chinese}
    queries = list(groups(lines["en"], chinese, chosen.queries, rng))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memories.db"
        with contextlib.closing(Database.open(chosen.database or f"sqlite:///{file}")) as database:
            found = measure(MemoryStore(database), lines, queries)
        found["bytes"] = file.stat().st_size if file.exists() else None
    found["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    for language, some in lines.items():
        scan = FullScan(some)
        for group, (_, of, texts) in zip(found["look_up"], queries, strict=True):
            if of == language:
                wanted = [scan.best(text) for text in texts[: chosen.scanned]]
                pairs = [(had, want) for had, want in zip(group.pop("best"), wanted, strict=False) if want >= THRESHOLD]
                group["scanned"] = len(pairs)
                group["recall"] = sum(had >= want for had, want in pairs) / max(1, len(pairs))
                print(group, flush=True)
    report(found, real, "PostgreSQL" if chosen.database else "SQLite")


def report(found: dict[str, Any], real: int, kind: str) -> None:
    """Write the page."""
    name = "memories" if kind == "SQLite" else "memories-postgresql"
    page = RESULTS / f"{name}.json"
    before = json.loads(page.read_text(encoding="utf-8")) if page.exists() else found
    text = heading(f"Translation memories on {kind}", "python -m benchmarks.memories FOLDER", 1)
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    rows = [
        [
            language,
            f"{each['units']:,}",
            str(each["words"]),
            f"{each['seconds']:.0f}",
            f"{each['units'] / each['seconds']:,.0f}",
            f"{each['units'] / each['cpu_seconds']:,.0f}",
            f"{old['units'] / old['cpu_seconds']:,.0f}",
        ]
        for language, each in found["import"].items()
        for old in [before["import"][language]]
    ]
    header = ["memory", "units", "words per unit", "seconds", "units per second", "per CPU second", "before"]
    text += table(header, rows)
    size = f" The database has {found['bytes'] / 1e6:,.0f} MB." if found["bytes"] else ""
    text += f"\n{real:,} English units are real lines.{size} The process had {found['memory_mib']:,} MiB at most.\n\n"
    cells = [
        [
            each["group"],
            f"{each['p50_ms']:.1f}",
            f"{each['p99_ms']:.1f}",
            f"{each['cpu_ms']:.1f}" if "cpu_ms" in each else "–",
            f"{old['p50_ms']:.1f}, {old['p99_ms']:.1f}",
            f"{100 * each['recall']:.0f} %",
            str(each["scanned"]),
        ]
        for each, old in zip(found["look_up"], before["look_up"], strict=True)
    ]
    header = ["changed", "p50, ms", "p99, ms", "CPU, ms", "p50, p99 before", "recall", "queries with a match"]
    text += table(header, cells)
    text += "\nBefore: the last committed measurement of this page. CPU: mean per look-up. "
    text += f"Load average of the machine at the end: {os.getloadavg()[1]:.0f}.\n"
    write(name, text, found)


if __name__ == "__main__":
    main()
