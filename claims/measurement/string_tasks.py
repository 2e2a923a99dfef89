"""Small models that learn tasks on strings of letters, by the training of the product."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from dragoman.api.notebook.tutorial_strings import LETTERS, Pair, encode
from dragoman.config import RnnConfig, TrainingConfig, TransformerConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.models.build import build_model
from dragoman.text import SPECIALS
from dragoman.training import build_optimizer, train_step

_BATCH = 64
_VOCAB = len(SPECIALS) + len(LETTERS)

Draw = Callable[[random.Random], Pair]
"""Draws a source and its target."""


def train_on_strings(
    config: RnnConfig | TransformerConfig, draw: Draw, updates: int, *, seed: int, rate: float = 1e-2
) -> tuple[Model[Any, Any], list[float]]:
    """Train a model on batches of 64 new pairs; return it with the loss per token of each update.

    Adam, a learning rate that rises for a tenth of the updates and then falls to 0, gradients of a norm of at most 1.
    """
    settings = TrainingConfig(
        learning_rate=rate,
        schedule="cosine",
        warmup_updates=updates // 10,
        max_updates=updates,
        label_smoothing=0.0,
        clip_norm=1.0,
        seed=seed,
    )
    source = random.Random(seed)
    model = build_model(config, _VOCAB, _VOCAB, seed=seed)
    optimizer = build_optimizer(model, settings)
    losses, baseline = [], None
    for update in range(1, updates + 1):
        pairs = [draw(source) for _ in range(_BATCH)]
        batch = Batch.from_pairs([(encode(x), encode(y)) for x, y in pairs])
        result = train_step(model, optimizer, batch, settings, update, baseline)
        losses.append(result.loss)
        baseline = result.baseline
    return model.eval(), losses


def random_letters(draw: random.Random, fewest: int, most: int, letters: str = LETTERS[:8]) -> str:
    """Return a string of random letters; its length is random too."""
    return "".join(draw.choice(letters) for _ in range(draw.randint(fewest, most)))
