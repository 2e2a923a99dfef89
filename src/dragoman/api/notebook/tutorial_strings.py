"""Pairs of symbol strings, and a short training loop, for the chapters on sequence to sequence and attention."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dragoman.config.rnn import RnnConfig
from dragoman.config.search import SearchSettings
from dragoman.data.batch import Batch
from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import Model, build_model
from dragoman.search import Hypothesis, SearchInput
from dragoman.text import SPECIALS
from dragoman.training.step import cross_entropy

LETTERS = "abcdefghijklmnop"
Pair = tuple[str, str]


def encode(text: str) -> list[int]:
    """Return the ids of letters; the first ids are those of special tokens."""
    return [len(SPECIALS) + LETTERS.index(letter) for letter in text]


def decode(ids: Sequence[int]) -> str:
    """Return the letters of ids, without special tokens."""
    return "".join(LETTERS[number - len(SPECIALS)] for number in ids if number >= len(SPECIALS))


def small_config(hidden: int = 64, layers: int = 1, cell: str = "gru-fused", **changes: Any) -> RnnConfig:
    """Return the configuration of a small model. `decoder` and `attention` add settings of these parts."""
    encoder = {"cell": cell, "hidden": hidden, "layers": layers, "bidirectional": False} | changes.pop("encoder", {})
    decoder = {"cell": cell, "hidden": hidden, "layers": layers, "attend": "none"} | changes.pop("decoder", {})
    values = {"family": "rnn", "embedding": 32, "dropout": 0.0, "encoder": encoder, "decoder": decoder}
    return RnnConfig.model_validate(values | changes)


def train(
    config: RnnConfig,
    draw: Callable[[random.Random], Pair],
    updates: int,
    *,
    seed: int = 1,
    rate: float = 1e-2,
    change: Callable[[Batch], Batch] = lambda batch: batch,
) -> tuple[Model[Any, Any], list[float]]:
    """Train a model on batches of 64 new pairs; return it with the loss per token of each update.

    `change` can change a batch, to see what goes wrong.
    """
    vocabulary, source = len(SPECIALS) + len(LETTERS), random.Random(seed)
    model = build_model(config, vocabulary, vocabulary, seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=updates + 1, pct_start=0.1)
    losses = []
    for _ in range(updates):
        pairs = [draw(source) for _ in range(64)]
        batch = change(Batch.from_pairs([(encode(x), encode(y)) for x, y in pairs]))
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
        loss = cross_entropy(model.decoder.output, decoded.features, batch.labels, batch.target_lengths).total
        optimizer.zero_grad()
        (loss / batch.target_tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item() / batch.target_tokens)
    return model, losses


def translate(model: Model[Any, Any], sources: Sequence[str], **settings: Any) -> list[Hypothesis]:
    """Return the best translation of each source by the search of the product; by default greedy."""
    inputs = [SearchInput(encode(source)) for source in sources]
    chosen = SearchSettings.model_validate({"beam": 1} | settings)
    return [found[0] for found in TorchEngine(model).search(inputs, chosen, return_attention=True)]


def share_right(model: Model[Any, Any], pairs: Sequence[Pair]) -> float:
    """Return the share of pairs that greedy search translates without a mistake."""
    found = translate(model, [source for source, _ in pairs])
    return sum(decode(each.tokens) == target for each, (_, target) in zip(found, pairs, strict=True)) / len(pairs)
