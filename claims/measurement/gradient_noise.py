"""Noise of the gradient: how much it differs between batches, for soft and hard attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from claims.measurement.samples import Samples
from dragoman.config import RnnConfig, TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.models.build import build_model
from dragoman.nn.stateless_noise import Noise
from dragoman.text import EOS_ID
from dragoman.training.losses import RewardBaseline
from dragoman.training.step import objective

_VOCAB = 32
_LENGTH = 8
_SENTENCES = 16  # per batch


def gradient_noise(seed: int, rounds: int = 8, batches: int = 32) -> Samples:
    """Relative variance of the gradient of the score weights over batches, for soft and hard attention.

    Both models have the same initial weights and batches. Hard attention samples its positions, and is learned by
    REINFORCE with a moving baseline. Papers: [xu2015] (section 4.1), [williams1992].
    """
    samples: Samples = {"soft": [], "hard": []}
    for name, alignment in (("soft", "global"), ("hard", "hard")):
        model = _model(alignment, seed)
        draws = torch.Generator().manual_seed(seed)
        baseline = RewardBaseline(0.9)
        for place in range(rounds):
            gradients: list[Tensor] = []
            for number in range(place * batches, (place + 1) * batches):
                gradient, baseline = _gradient(model, _batch(draws), seed, number, baseline)
                gradients.append(gradient)
            samples[name].append(relative_variance(torch.stack(gradients)))
    return samples


def relative_variance(gradients: Tensor) -> float:
    """Return the variance of gradients divided by the squared norm of their mean. Shapes: [batches, parameters]."""
    mean = gradients.mean(0)
    variance = (gradients - mean).square().sum(1).sum() / (gradients.size(0) - 1)
    return float(variance / mean.square().sum())


def _model(alignment: str, seed: int) -> Model[Any, Any]:
    part = {"layers": 1, "hidden": 64}
    table = {"family": "rnn", "embedding": 64, "dropout": 0.0, "encoder": part, "decoder": part}
    config = RnnConfig.model_validate(table | {"attention": {"alignment": alignment}})
    return build_model(config, _VOCAB, _VOCAB, seed=seed)


def _batch(draws: torch.Generator) -> Batch:
    rows = torch.randint(EOS_ID + 1, _VOCAB, (_SENTENCES, _LENGTH), generator=draws).tolist()
    return Batch.from_pairs([(row, row) for row in rows])


def _gradient(
    model: Model[Any, Any], batch: Batch, seed: int, number: int, baseline: RewardBaseline
) -> tuple[Tensor, RewardBaseline]:
    config = TrainingConfig(entropy_weight=0.0)
    noise = Noise.of(seed, number, batch.rows)
    found = objective(model, batch, config, noise, baseline)
    model.zero_grad(set_to_none=True)
    (found.total / found.tokens).backward()
    weight = dict(model.named_parameters())["decoder.attention.score.W_a"]
    assert weight.grad is not None
    return weight.grad.flatten().clone(), baseline.after(found.nll.item(), found.tokens)
