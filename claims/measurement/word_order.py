"""Word order: small models learn to copy and to reverse sequences, and are tested on longer ones too."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from claims.measurement.samples import Samples
from dragoman.config import RnnConfig, TransformerConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model, greedy_tokens
from dragoman.models.build import build_model
from dragoman.text import EOS_ID
from dragoman.training.losses import cross_entropy

TASKS = ("copy", "reverse")
TRAINED, LONGER = (3, 8), (10, 12)
"""Sequence lengths of the training, and of a test beyond them."""

_SYMBOLS = 16
_VOCAB = EOS_ID + 1 + _SYMBOLS
_BATCH = 32


def word_order(seed: int, updates: int = 800, test: int = 200) -> Samples:
    """Share of right words of each test sequence, by model, task and length.

    Models: a bidirectional LSTM with attention, and Transformers with and without positions, of similar size.
    """
    samples: Samples = {}
    for name, config in _models().items():
        for task in TASKS:
            model = train_on_task(build_model(config, _VOCAB, _VOCAB, seed=seed), task, seed, updates)
            for where, lengths in (("trained", TRAINED), ("longer", LONGER)):
                draws = torch.Generator().manual_seed(10_000 + seed)
                samples[f"{name} {task} {where}"] = _shares(model, task, lengths, test, draws)
    return samples


def _models() -> dict[str, RnnConfig | TransformerConfig]:
    part = {"layers": 1, "hidden": 64}
    small = {"family": "transformer", "dim": 64, "encoder_layers": 2, "decoder_layers": 2, "feedforward": 128}
    small |= {"dropout": 0.0}
    rnn = {"family": "rnn", "embedding": 64, "dropout": 0.0, "encoder": part, "decoder": part}
    return {
        "rnn": RnnConfig.model_validate(rnn),
        "transformer": TransformerConfig.model_validate(small),
        "no-positions": TransformerConfig.model_validate(small | {"positions": "none"}),
    }


def _pairs(task: str, lengths: tuple[int, int], number: int, draws: torch.Generator) -> list[tuple[list[int], Any]]:
    found = []
    for _ in range(number):
        length = int(torch.randint(lengths[0], lengths[1] + 1, (1,), generator=draws))
        words = torch.randint(EOS_ID + 1, _VOCAB, (length,), generator=draws).tolist()
        found.append((words, words if task == "copy" else words[::-1]))
    return found


def train_on_task(model: Model[Any, Any], task: str, seed: int, updates: int) -> Model[Any, Any]:
    """Train a model by Adam, with a learning rate that rises for 100 updates and then falls to 0."""
    draws = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: min((done + 1) / 100, (updates - done) / updates)
    )
    for _ in range(updates):
        batch = Batch.from_pairs(_pairs(task, TRAINED, _BATCH, draws))
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
        loss = cross_entropy(model.decoder.output, decoded.features, batch.labels, batch.target_lengths)
        optimizer.zero_grad(set_to_none=True)
        (loss.total / batch.target_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def _shares(
    model: Model[Any, Any], task: str, lengths: tuple[int, int], number: int, draws: torch.Generator
) -> list[float]:
    """Return for each sequence the share of words that are right; an early end makes the rest wrong."""
    pairs = _pairs(task, lengths, number, draws)
    batch = Batch.from_pairs(pairs)
    decoded = greedy_tokens(model, batch, batch.labels.size(1)).tolist()
    shares = []
    for (_, expected), found in zip(pairs, decoded, strict=True):
        end = found.index(EOS_ID) if EOS_ID in found else len(found)
        right = sum(a == b for a, b in zip(expected, found[:end], strict=False))
        shares.append(right / len(expected))
    return shares
