"""A ledger that trains in seconds: copying short sentences."""

from __future__ import annotations

import random
from pathlib import Path

from claims.ledger.claim import Ledger
from dragoman.files import sha256_of_file

WORDS = [
    "a",
    "man",
    "dog",
    "cat",
    "house",
    "runs",
    "sleeps",
    "red",
    "blue",
    "tree",
    "and",
    "the",
    "old",
    "small",
    "walks",
]

CLAIM = """
id = "C1"
title = "Wide is better than narrow"
column = "cells"
decision = "The whole interval is above the smallest effect."
seeds = 1
searches = ["keep-1"]
[statement]
en = "Wide is better."
zh = "宽的更好。"
[origin]
note = "000"
[variants.wide]
base = "tiny"
[variants.narrow]
base = "tiny"
changes = ["model.dim=8"]
[[comparisons]]
name = "wide minus narrow"
terms = [{ variant = "wide" }, { variant = "narrow", weight = -1.0 }]
hypothesis = 1.0
"""

BASE = """
[tokenizer]
kind = "word"
size = 40
[model]
family = "transformer"
dim = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
feedforward = 16
[training]
learning_rate = 1e-2
max_updates = 12
batch_tokens = 300
validate_every = 6
checkpoint_every = 6
validation_sentences = 0
"""


def write_toy_ledger(folder: Path) -> tuple[Ledger, Path]:
    """Write a ledger and its corpus; return both."""
    draws = random.Random(1)
    data = folder / "data"
    data.mkdir()
    for split, lines in (("train", 200), ("val", 10), ("test", 8)):
        texts = [" ".join(draws.choices(WORDS, k=draws.randint(3, 7))) for _ in range(lines)]
        for side, each in (("en", texts), ("de", [" ".join(reversed(text.split())) for text in texts])):
            (data / f"{split}.{side}").write_text("\n".join(each) + "\n", encoding="utf-8")
    ledger = folder / "claims"
    for name in ("bases", "corpora", "records"):
        (ledger / name).mkdir(parents=True)
    (ledger / "C1.toml").write_text(CLAIM, encoding="utf-8")
    (ledger / "bases" / "tiny.toml").write_text(BASE, encoding="utf-8")
    pairs = {"train": "train", "validation": "val", "test": "test"}
    corpus = 'source = "en"\ntarget = "de"\n'
    corpus += "".join(f'{split} = ["{name}.en", "{name}.de"]\n' for split, name in pairs.items())
    digests = "".join(f'"{path.name}" = "{sha256_of_file(path)}"\n' for path in sorted(data.iterdir()))
    (ledger / "corpora" / "multi30k-en-de.toml").write_text(f"{corpus}[sha256]\n{digests}", encoding="utf-8")
    return Ledger.read(ledger), data
