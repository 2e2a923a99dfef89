"""The loader compared with Grain: target tokens per second on one core, padding, shuffling, state.

The job of every contender: random access to the same Arrow shards, sentence pairs in a new random order each epoch,
padded batches of at most 4,096 cells a side as torch tensors. Multi30k and Europarl en→de, one joint unigram vocabulary
of 8,000, pairs of at most 256 tokens a side.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from benchmarks.grain_loaders import grain_plan, grain_rows, grain_windows
from benchmarks.reporting import heading, parser, table, write
from dragoman.data.batch import Batch
from dragoman.data.batch_plan import BatchPlan, CorpusRows, StreamPosition
from dragoman.data.loader import BatchLoader, SubwordSampling
from dragoman.data.shards import Shards, ShardWriter
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.text import SentencePieceTokenizer, train_sentencepiece

VOCAB, TOKENS, MAX_PIECES = 8000, 4096, 256
GOAL = 300_000
CORPORA = ("multi30k", "europarl")


@dataclass(frozen=True)
class Prepared:
    """One corpus as shards, with its plan."""

    name: str
    shards: Shards
    plan: BatchPlan
    tokenizer: SentencePieceTokenizer


def prepare(corpora: Path, name: str, folder: Path) -> Prepared:
    texts = []
    for language in ("en", "de"):
        with gzip.open(corpora / name / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as lines:
            texts.append([line.rstrip("\n") for line in lines])
    tokenizer = train_sentencepiece([*texts[0], *texts[1]], size=VOCAB, model="unigram", sample_size=200_000)
    pairs = [[tokenizer.encode(text) for text in side] for side in texts]
    kept = [pair for pair in zip(*pairs, strict=True) if max(map(len, pair)) <= MAX_PIECES]
    sides = []
    for side in range(2):
        lengths = np.array([len(pair[side]) for pair in kept])
        sides.append(Sentences(np.concatenate([np.array(pair[side], dtype=np.uint16) for pair in kept]), lengths))
    path = folder / f"{name}.arrow"
    with ShardWriter(path, (VOCAB, VOCAB)) as writer:
        writer.append(Pairs(*sides))
    shards = Shards([path])
    plan = BatchPlan([CorpusRows(name, 0, len(shards))], shards.lengths, seed=1, batch_tokens=TOKENS)
    return Prepared(name, shards, plan, tokenizer)


def padding(batches: list[Batch]) -> tuple[float, float]:
    """The share of padding among all cells of both sides, and how full batches are."""
    cells = sum(batch.source.numel() + batch.labels.numel() for batch in batches)
    tokens = sum(int(batch.source_lengths.sum()) + batch.target_tokens for batch in batches)
    fill = statistics.mean(max(batch.source.numel(), batch.labels.numel()) / TOKENS for batch in batches)
    return 1 - tokens / cells, fill


def rate(batches: Iterator[Batch], seconds: float) -> float:
    """Target tokens per second of processor time."""
    next(batches)  # the first one plans, opens, starts
    done, began = 0, time.process_time()
    while (spent := time.process_time() - began) < seconds:
        done += next(batches).target_tokens
    return done / spent


def contenders(data: Prepared) -> dict[str, Callable[[], Iterator[Batch]]]:
    subword = SubwordSampling(data.tokenizer, data.tokenizer, seed=1, temperature=5.0, max_tokens=MAX_PIECES)
    long = np.quantile(data.shards.lengths(np.arange(len(data.shards))).max(axis=1), 0.99)
    return {
        "Dragoman": lambda: iter(BatchLoader(data.shards, data.plan)),
        "Dragoman, subwords drawn (temperature 5)": lambda: iter(BatchLoader(data.shards, data.plan, subword=subword)),
        "Grain, a row at a time, fixed number of rows": lambda: grain_rows(data.shards, int(TOKENS / long)),
        "Grain's shuffle in windows, our order by length": lambda: grain_windows(data.shards, TOKENS),
        "Grain over our plan": lambda: grain_plan(data.shards, data.plan),
    }


def measure_rates(data: Prepared, rounds: int, seconds: float) -> list[dict[str, object]]:
    roads = contenders(data)
    rates: dict[str, list[float]] = {name: [] for name in roads}
    for _ in range(rounds):
        for name, start in roads.items():
            rates[name].append(rate(start(), seconds))
            print(data.name, name, f"{rates[name][-1]:,.0f}", flush=True)
    figures: list[dict[str, object]] = []
    for name, start in roads.items():
        count = 200 if "drawn" in name else 1400
        waste, fill = padding(list(islice(start(), count)))
        figures.append({"corpus": data.name, "road": name, "rates": rates[name], "waste": waste, "fill": fill})
    return figures


def measure_workers(data: Prepared, seconds: float) -> list[dict[str, object]]:
    """Workers: what comes out in real time, and what it costs the process that trains."""
    figures: list[dict[str, object]] = []
    for workers in (1, 2):
        with BatchLoader(data.shards, data.plan, workers=workers) as loader:
            next(loader)
            done, began, spent = 0, time.perf_counter(), time.process_time()
            while time.perf_counter() - began < seconds:
                done += next(loader).target_tokens
            real, processor = time.perf_counter() - began, time.process_time() - spent
        figures.append({"corpus": data.name, "workers": workers, "real": done / real, "main": done / processor})
    return figures


def shuffling(data: Prepared) -> dict[str, object]:
    """Two epochs of the plan: does a pair come at another time, with other pairs?"""
    pairs = data.plan.pairs
    places, companies = np.empty((2, pairs)), np.empty((2, pairs), dtype=np.int64)
    for epoch in range(2):
        done = number = 0
        for batch in data.plan.batches(StreamPosition(epoch=epoch)):
            if batch.epoch != epoch:
                break
            places[epoch, batch.rows] = done + np.arange(len(batch.rows))
            companies[epoch, batch.rows] = number
            done, number = done + len(batch.rows), number + 1
    before = np.bincount(companies[0])
    _, both = np.unique(companies[0] * pairs + companies[1], return_counts=True)
    return {
        "corpus": data.name,
        "pairs": pairs,
        "batches": number,
        "correlation": float(np.corrcoef(places[0], places[1])[0, 1]),
        "with the file": float(np.corrcoef(places[0], np.arange(pairs))[0, 1]),
        "together again": float((both * (both - 1)).sum() / (before * (before - 1)).sum()),
    }


def hashed(batches: Iterator[Batch]) -> str:
    digest = hashlib.sha256()
    for batch in islice(batches, 300):
        digest.update(batch.labels.numpy().tobytes())
    return digest.hexdigest()[:12]


def measure_state(data: Prepared) -> dict[str, object]:
    """The state after 300 batches, the order of batches by number of workers, and the time of a resume."""
    figures: dict[str, object] = {}
    for workers in (0, 1, 2):
        with BatchLoader(data.shards, data.plan, workers=workers) as loader:
            figures[f"Dragoman, workers: {workers}"] = {"order": hashed(loader), "state": json.dumps(loader.state())}
        batches = grain_windows(data.shards, TOKENS, workers)
        figures[f"Grain, workers: {workers}"] = {"order": hashed(batches), "state": json.dumps(batches.get_state())}
        batches.close()
    return figures


def resume_seconds(pairs: int) -> float:
    """Time from a resume in the middle of a generated corpus to the first batch."""

    def lengths(rows: np.ndarray) -> np.ndarray:
        return np.stack([rows % 61 + 1, rows % 59 + 1], axis=1)

    began = time.perf_counter()
    plan = BatchPlan([CorpusRows("made", 0, pairs)], lengths, seed=1, batch_tokens=TOKENS)
    next(plan.batches(StreamPosition(epoch=9, window=plan.windows // 2, batch=11, number=12345)))
    return time.perf_counter() - began


def page(options: argparse.Namespace, figures: dict[str, list]) -> str:  # type: ignore[type-arg]
    text = heading("The loader beside Grain", "python -m benchmarks.loader", options.threads)
    text += f"\n{__doc__ or ''}\nRates are of processor time in one process, the mean and range of {options.rounds} "
    text += f"rounds of {options.seconds:.0f} s, interleaved. The goal is {GOAL:,} target tokens a second and at most "
    text += "6 % padding; fill is the cells of a batch's larger side over its budget.\n\n## Speed and padding\n\n"
    rows = []
    for found in figures["rates"]:
        mean = statistics.mean(found["rates"])
        spread = f"{min(found['rates']):,.0f}–{max(found['rates']):,.0f}"
        waste, fill = f"{100 * found['waste']:.1f} %", f"{100 * found['fill']:.1f} %"
        rows.append([f"{found['corpus']}: {found['road']}", f"**{mean:,.0f}**", spread, waste, fill])
    text += table(["road", "target tokens/s a core", "rounds", "padding", "fill"], rows)
    text += "\n## Workers\n\nReal time, and the processor time of the process that trains, target tokens a second.\n\n"
    rows = [
        [f"{f['corpus']}, workers: {f['workers']}", f"{f['real']:,.0f}", f"{f['main']:,.0f}"]
        for f in figures["workers"]
    ]
    text += table(["", "real time", "training process"], rows)
    text += (
        "\n## Shuffling\n\nTwo epochs: the correlation of a pair's place in one with its place in the other, and in "
    )
    text += "the file; the share of pairs of pairs in one batch that are in one batch again.\n\n"
    rows = [
        [f["corpus"], f"{f['pairs']:,}", f"{f['batches']:,}", f"{f['correlation']:+.4f}", f"{f['with the file']:+.4f}",
         f"{100 * f['together again']:.0f} %"] for f in figures["shuffling"]
    ]  # fmt: skip
    text += table(["corpus", "pairs", "batches", "between epochs", "with the file", "together again"], rows)
    text += "\n## State\n\nAfter 300 batches of Europarl; order is a hash over their target tokens.\n\n"
    rows = [[name, f["order"], f"`{f['state']}`"] for name, f in figures["state"][0].items()]
    text += table(["", "order", "state"], rows)
    text += "\nA resume in the middle of an epoch, from nothing to the first batch planned: "
    return text + "; ".join(f"{n:,} pairs {1000 * s:.0f} ms" for n, s in figures["resume"]) + ".\n"


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)
    options.add_argument("--corpus", type=Path, default=Path("../shared/data"), help="a folder of corpora")
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    figures: dict[str, list] = {"rates": [], "workers": [], "shuffling": []}  # type: ignore[type-arg]
    with tempfile.TemporaryDirectory() as folder:
        for name in CORPORA:
            data = prepare(chosen.corpus, name, Path(folder))
            figures["rates"] += measure_rates(data, chosen.rounds, chosen.seconds)
            figures["workers"] += measure_workers(data, chosen.seconds)
            figures["shuffling"].append(shuffling(data))
        figures["state"] = [measure_state(data)]
    figures["resume"] = [[n, resume_seconds(n)] for n in (30_000, 10_000_000, 200_000_000, 2**40)]
    write("loader", page(chosen, figures), figures)


if __name__ == "__main__":
    main()
