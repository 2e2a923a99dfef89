"""The same batches for every driver, and what a driver reports. Needs nothing but torch."""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

PAD, UNK, BOS, EOS = range(4)
Pair = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Corpus:
    """Prepared data as subword numbers without specials."""

    train: list[Pair]
    test: list[list[int]]
    subwords: list[str]
    batches: list[list[int]]

    @classmethod
    def read(cls, folder: Path, tokens: int) -> Corpus:
        subwords = read_lines(folder / "vocab.txt")
        numbers = {subword: number for number, subword in enumerate(subwords)}
        sides = {
            name: [[numbers.get(subword, UNK) for subword in line.split()] for line in read_lines(folder / name)]
            for name in ("train.en", "train.de", "test.en")
        }
        batches = json.loads((folder / f"batches.{tokens}.json").read_text(encoding="utf-8"))
        return cls(list(zip(sides["train.en"], sides["train.de"], strict=True)), sides["test.en"], subwords, batches)

    def rows(self, seed: int = 1) -> Iterator[list[int]]:
        """Batches for ever, in a new order each epoch."""
        epoch = 0
        while True:
            order = list(self.batches)
            random.Random(f"{seed} {epoch}").shuffle(order)
            yield from order
            epoch += 1

    def pairs(self, rows: list[int]) -> list[Pair]:
        return [self.train[row] for row in rows]


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def padded(sentences: list[list[int]], pad: int = PAD) -> torch.Tensor:
    """Shapes: -> [batch, longest]."""
    longest = max(map(len, sentences))
    return torch.tensor([sentence + [pad] * (longest - len(sentence)) for sentence in sentences])


def target_tokens(pairs: list[Pair]) -> int:
    """Number of predictions: target subwords and ends of sentences, no padding."""
    return sum(len(target) + 1 for _, target in pairs)


def learning_rate(update: int, peak: float, warmup: int) -> float:
    """Rises to the peak, then falls with the square root; `update` counts from 1."""
    return peak * min(update / warmup, math.sqrt(warmup / update))


def train(corpus: Corpus, options: argparse.Namespace, step: Callable[[list[int], float], None]) -> None:
    """Call step(rows, learning rate) for each batch, and print what it took, a JSON object an update."""
    for update, rows in enumerate(corpus.rows(), 1):
        began = time.perf_counter()
        step(rows, learning_rate(update, options.peak, options.warmup))
        seconds = time.perf_counter() - began
        tokens = target_tokens(corpus.pairs(rows))
        print(json.dumps({"updates": 1, "tokens": tokens, "seconds": seconds}), flush=True)
        if update == options.updates:
            return


def translate(
    corpus: Corpus, path: Path, greedy: Callable[[list[list[int]]], list[list[int]]], batch: int = 50
) -> None:
    """Write the subwords of each translation of the test set, one line per sentence."""
    order = sorted(range(len(corpus.test)), key=lambda row: len(corpus.test[row]))
    lines = [""] * len(order)
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        for row, found in zip(rows, greedy([corpus.test[row] for row in rows]), strict=True):
            lines[row] = " ".join(corpus.subwords[subword] for subword in found)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def cut(subwords: list[int]) -> list[int]:
    """A translation up to its end, without specials."""
    if EOS in subwords:
        subwords = subwords[: subwords.index(EOS)]
    return [subword for subword in subwords if subword > EOS]


def longest_output(sources: list[list[int]]) -> int:
    """The most subwords that a translation of any of these may have."""
    return 2 * max(map(len, sources)) + 10


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options all drivers share. Without --updates a driver trains until it is stopped."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--model", choices=["R", "T"], default="T")
    options.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    options.add_argument("--tokens", type=int, default=4096)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--peak", type=float, default=1e-3)
    options.add_argument("--warmup", type=int, default=400)
    options.add_argument("--updates", type=int, default=0)
    options.add_argument("--hypotheses", type=Path)
    return options
