"""One update: forward, loss, backward, clip, optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.config.schema import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.protocol import Model
from dragoman.nn.noise import Noise
from dragoman.training.losses import Baseline, coverage_loss, cross_entropy, reinforce_loss
from dragoman.training.schedule import learning_rate

__all__ = ["Objective", "Update", "objective", "train_step"]


@dataclass(frozen=True)
class Objective:
    """The loss of a batch: `total` is what is minimised, a sum over its target pieces; `nll` is Σ −log p(y_t) alone."""

    total: Tensor
    nll: Tensor
    tokens: int


@dataclass(frozen=True)
class Update:
    """What one update did; `loss` is the mean of −log p(y_t), whatever else was minimised with it."""

    loss: float
    tokens: int
    gradient_norm: float
    learning_rate: float
    baseline: Baseline


def objective(
    model: Model[Any, Any], batch: Batch, config: TrainingConfig, noise: Noise | None, baseline: Baseline
) -> Objective:
    """Cross-entropy, and the terms the configuration and the attention ask for."""
    covering = config.coverage_weight > 0
    decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, noise, show=covering)
    likelihood = cross_entropy(
        model.decoder.output, decoded.features, batch.labels, batch.target_lengths, smoothing=config.label_smoothing
    )
    total = likelihood.total
    alignment = decoded.alignment
    if covering and alignment is not None:
        term = coverage_loss(alignment, batch.source_lengths, batch.target_lengths, batch.source.size(1))
        total = total + config.coverage_weight * term
    if alignment is not None and alignment.log_prob is not None:
        total = total + reinforce_loss(
            alignment,
            likelihood.losses,
            batch.target_lengths,
            baseline,
            weight=config.reinforce_weight,
            entropy_weight=config.entropy_weight,
        )
    return Objective(total, likelihood.losses.sum(), batch.target_tokens)


def train_step(
    model: Model[Any, Any],
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    config: TrainingConfig,
    update: int,
    baseline: Baseline | None = None,
) -> Update:
    """Update number `update` (from 1), on one batch."""
    noise = Noise.of(config.seed, update, batch.rows)
    rate = learning_rate(config, update)
    for group in optimizer.param_groups:
        group["lr"] = rate
    device = batch.source.device.type
    with torch.autocast(device, torch.bfloat16, enabled=config.precision == "bf16"):
        baseline = baseline or Baseline(config.baseline_decay)
        result = objective(model, batch, config, noise, baseline)
    optimizer.zero_grad(set_to_none=True)
    (result.total / result.tokens).backward()
    limit = config.clip_norm or float("inf")
    norm = nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
    nll = float(result.nll)
    return Update(nll / result.tokens, result.tokens, float(norm), rate, baseline.after(nll, result.tokens))
