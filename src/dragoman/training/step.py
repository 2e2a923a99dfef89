"""One update: forward, loss, backward, clip, optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.protocol import Model
from dragoman.nn.noise import Noise
from dragoman.training.losses import Baseline, coverage_loss, cross_entropy, reinforce_loss
from dragoman.training.schedule import learning_rate

__all__ = ["Objective", "Task", "Update", "clip", "objective", "set_rate", "train_step"]


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


class Task(nn.Module):
    """Forward and loss as one module, in the precision of training: what DDP, FSDP2 and torch.compile can wrap."""

    def __init__(self, model: Model[Any, Any], config: TrainingConfig) -> None:
        super().__init__()
        self.model = model
        self.config = config

    def forward(self, batch: Batch, noise: Noise | None, baseline: Baseline) -> tuple[Tensor, Tensor]:
        """What is minimised, and Σ −log p(y_t): two scalars."""
        with torch.autocast(batch.source.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
            result = objective(self.model, batch, self.config, noise, baseline)
        return result.total, result.nll


def set_rate(optimizer: torch.optim.Optimizer, config: TrainingConfig, update: int) -> float:
    """Give the optimizer the learning rate of an update."""
    rate = learning_rate(config, update)
    for group in optimizer.param_groups:
        group["lr"] = rate
    return rate


def clip(model: nn.Module, config: TrainingConfig) -> Tensor:
    """Scale the gradient to the norm the configuration allows; the norm it had."""
    return nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm or float("inf"))


def train_step(
    model: Model[Any, Any],
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    config: TrainingConfig,
    update: int,
    baseline: Baseline | None = None,
) -> Update:
    """Update number `update` (from 1), on one batch: all that the training loop does at its simplest."""
    rate = set_rate(optimizer, config, update)
    baseline = baseline or Baseline(config.baseline_decay)
    total, nll = Task(model, config)(batch, Noise.of(config.seed, update, batch.rows), baseline)
    optimizer.zero_grad(set_to_none=True)
    (total / batch.target_tokens).backward()
    norm = clip(model, config)
    optimizer.step()
    loss = float(nll)
    return Update(
        loss / batch.target_tokens, batch.target_tokens, float(norm), rate, baseline.after(loss, batch.target_tokens)
    )
