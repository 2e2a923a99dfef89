"""Prepare every corpus of a collection, end to end, and say what was found in each.

Run it as ``python -m benchmarks.corpora --data DIR``. The collection is a folder of folders with files such as
``train.en.gz``; sets that have no training part are split here. Vocabularies have 4,000 tokens for small corpora, else
8,000; all other settings are the defaults.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write
from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import parse_config
from dragoman.data.readers.streams import open_stream

PAIRS = {
    "3am": ("en-zh",),
    "alignment-gold": ("de-en", "en-fr", "ro-en", "zh-en"),
    "europarl": ("en-de", "en-fr", "de-fr"),
    "multi30k": ("en-de", "en-fr", "en-cs"),
    "newstest": ("de-en", "fr-en", "cs-en", "zh-en"),
    "python-docs-zh": ("en-zh",),
    "tatoeba": ("en-de", "en-fr", "en-zh"),
    "ted-iwslt-devtest": ("de-en", "en-vi"),
    "tico19": ("en-fr", "en-zh"),
}


@dataclass(frozen=True)
class Set:
    """Two files of one folder that are each other's translation."""

    stem: str
    source: Path
    target: Path

    @property
    def files(self) -> list[str]:
        return [str(self.source), str(self.target)]


def sets(folder: Path, source: str, target: str) -> Iterator[Set]:
    """The sets of a language pair: ``train.en.gz`` and ``train.de.gz``, ``dev.en-de.en.gz`` and ``dev.en-de.de.gz``."""
    names = {f"{source}-{target}", f"{target}-{source}"}
    for path in sorted(folder.glob(f"*.{source}.gz")):
        stem = path.name.removesuffix(f".{source}.gz")
        partner = folder / f"{stem}.{target}.gz"
        pair = re.findall(r"[.-]?([a-z]{2}-[a-z]{2})$", stem)
        if partner.exists() and (not pair or pair[0] in names):
            yield Set(stem, path, partner)


def configuration(folder: Path, source: str, target: str) -> dict[str, Any]:
    """Which set is trained on and which is held out."""
    found = list(sets(folder, source, target))
    train = [each for each in found if each.stem.startswith("train")] or found[: max(1, len(found) - 1)]
    validation = [each for each in found if re.match(r"val|dev", each.stem) and each not in train][:1]
    test = [each for each in found if each not in train and each not in validation]
    data: dict[str, Any] = {
        "source": source,
        "target": target,
        "train": [{"files": each.files, "name": each.stem} for each in train],
        "test": [{"files": each.files, "name": each.stem} for each in test],
        "validation_pairs": 20,
        "on_bad_line": "error",
    }
    if validation:
        data["validation"] = {"files": validation[0].files, "name": validation[0].stem}
    size = 4_000 if lines(train[0].source) < 10_000 else 8_000
    return {"data": data, "tokenizer": {"size": size}, "model": {"family": "transformer"}}


def lines(path: Path) -> int:
    with open_stream(str(path)) as stream:
        while stream.read():
            pass
        return stream.lines


def measure(name: str, source: str, target: str, folder: Path, work: Path, processes: int) -> dict[str, Any]:
    """Prepare one corpus and sum up what happened."""
    config = parse_config(configuration(folder, source, target))
    started = time.perf_counter()
    prepared = prepare_corpora(config, work, processes=processes)
    seconds = time.perf_counter() - started
    said = json.loads((prepared.folder / "report.json").read_text(encoding="utf-8"))
    train = [corpus["summary"] for corpus in said["corpora"] if corpus["role"] == "train"]
    leaks = said["selection"]["leaks"].values()
    return {
        "corpus": name,
        "pair": f"{source}-{target}",
        "read": sum(each["records"] for each in train),
        "faults": sum(sum(each["faults"]["counts"].values()) for each in train),
        "repaired": sum(sum(each["repairs"]["counts"].values()) for each in train),
        "dropped": sum(sum(each["drops"]["counts"].values()) for each in train),
        "duplicates": sum(n for reason, n in said["selection"]["drops"]["counts"].items() if "duplicate" in reason),
        "leaked": said["selection"]["counts"].get("LEAKED", 0),
        "held_out_pairs_in_train": sum(each["held_out"]["pair"] for each in leaks),
        "kept": prepared.manifest["splits"]["train"]["rows"],
        "drops": counted(train, "drops"),
        "repairs": counted(train, "repairs"),
        "notes": counted(train, "notes"),
        "seconds": seconds,
    }


def counted(summaries: list[dict[str, Any]], kind: str) -> dict[str, int]:
    """One kind of count, summed over several corpora."""
    total: Counter[str] = Counter()
    for summary in summaries:
        total.update(summary[kind]["counts"])
    return dict(total.most_common())


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--corpora", nargs="*", default=list(PAIRS))
    arguments = options.parse_args()
    figures = []
    for name in arguments.corpora:
        for pair in PAIRS[name]:
            with tempfile.TemporaryDirectory() as work:
                source, target = pair.split("-")
                figures.append(measure(name, source, target, arguments.data / name, Path(work), arguments.processes))
                print(figures[-1])
    write("corpora", page(figures, arguments.processes), figures)


def page(figures: list[dict[str, Any]], processes: int) -> str:
    columns = ["read", "faults", "repaired", "dropped", "leaked", "duplicates", "kept"]
    rows = [
        [f"{row['corpus']} {row['pair']}", *(f"{row[column]:,}" for column in columns), f"{row['seconds']:.1f}"]
        for row in figures
    ]
    return (
        heading("Every corpus, prepared", "python -m benchmarks.corpora --data DIR", processes)
        + "\nPairs read from the training files (where a collection has none, from all but one of its sets); *faults* "
        "are lines that are not valid text, *repaired* counts mends and normalisations, *dropped* what the filters "
        "left out, *leaked* training pairs with a side in the validation or test sets. Tokenizer and shards included "
        "in the seconds.\n\n" + table(["corpus", *columns, "seconds"], rows)
    )


if __name__ == "__main__":
    main()
