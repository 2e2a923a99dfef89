"""One training update: forward pass, loss, backward pass, gradient clipping, optimizer step."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.nn.stateless_noise import Noise
from dragoman.nn.structured_attention import redundancy_penalty
from dragoman.training.losses import RewardBaseline, coverage_loss, cross_entropy, guided_alignment_loss, reinforce_loss
from dragoman.training.optimizer import learning_rate


@dataclass(frozen=True)
class Objective:
    """The loss of a batch: `total`, a sum over its target tokens, is minimised; `nll` is Σ −log p(y_t) alone."""

    total: Tensor
    nll: Tensor
    tokens: int


@dataclass(frozen=True)
class UpdateResult:
    """The result of one update; `loss` is the mean of −log p(y_t) without the other terms of the objective."""

    loss: float
    tokens: int
    gradient_norm: float
    learning_rate: float
    baseline: RewardBaseline


def objective(
    model: Model[Any, Any], batch: Batch, config: TrainingConfig, noise: Noise | None, baseline: RewardBaseline
) -> Objective:
    """Cross-entropy, plus the terms of the configuration and the attention: coverage, guided
    alignment, redundancy and REINFORCE.

    With R-Drop, half the objective of a batch that contains every pair twice, with two masks. Paper: [wu2021] (4).
    """
    if config.r_drop and noise is not None:
        both = _single_objective(model, batch.twice(), config, noise.twice(), baseline, config.r_drop)
        return Objective(both.total / 2, both.nll / 2, batch.target_tokens)
    return _single_objective(model, batch, config, noise, baseline)


def _single_objective(
    model: Model[Any, Any],
    batch: Batch,
    config: TrainingConfig,
    noise: Noise | None,
    baseline: RewardBaseline,
    r_drop: float = 0.0,
) -> Objective:
    covering, guided = config.coverage_weight > 0, config.guided_alignment
    links = None if guided is None else batch.links
    decoded = model(
        batch.source,
        batch.source_lengths,
        batch.inputs,
        batch.target_lengths,
        noise,
        return_attention=covering or links is not None,
    )
    likelihood = cross_entropy(
        model.decoder.output,
        decoded.features,
        batch.labels,
        batch.target_lengths,
        smoothing=config.label_smoothing,
        r_drop=r_drop,
    )
    total = likelihood.total
    alignment = decoded.alignment
    if covering and alignment is not None:
        term = coverage_loss(alignment, batch.source_lengths, batch.target_lengths, batch.source.size(1))
        total = total + config.coverage_weight * term
    if guided is not None and links is not None and alignment is not None:
        weights = alignment.one_map(batch.source.size(1), guided=True)
        total = total + guided.weight * guided_alignment_loss(weights, links)
    if config.structured_penalty and decoded.structured is not None:
        # The total is divided by the number of tokens: the mean over sentences is multiplied by it.
        penalty = redundancy_penalty(decoded.structured)
        total = total + config.structured_penalty * batch.target_tokens * penalty
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


class LossModule(nn.Module):
    """Forward pass and loss as one module, in the training precision; `baseline` is for hard attention."""

    def __init__(self, model: Model[Any, Any], config: TrainingConfig, baseline: RewardBaseline | None = None) -> None:
        super().__init__()
        self.model = model
        self.config = config
        self.baseline = baseline or RewardBaseline(config.baseline_decay)

    def forward(self, batch: Batch, noise: Noise | None) -> tuple[Tensor, Tensor]:
        """The objective and Σ −log p(y_t): two scalars."""
        # Adapted weights are computed once per batch, not at each step of a recurrent layer.
        adapted = nullcontext() if self.config.lora is None else parametrize.cached()
        autocast = torch.autocast(batch.source.device.type, torch.bfloat16, enabled=self.config.precision == "bf16")
        with autocast, adapted:
            result = objective(self.model, batch, self.config, noise, self.baseline)
        return result.total, result.nll


def set_learning_rate(optimizer: torch.optim.Optimizer, config: TrainingConfig, update: int) -> float:
    """Set the learning rate of an update, and return it."""
    rate = learning_rate(config, update)
    for group in optimizer.param_groups:
        group["lr"] = rate
    return rate


def clip_gradient(model: nn.Module, config: TrainingConfig) -> Tensor:
    """Clip the gradient to the maximum norm of the configuration; return the norm before."""
    return nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm or float("inf"))


def train_step(
    model: Model[Any, Any],
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    config: TrainingConfig,
    update: int,
    baseline: RewardBaseline | None = None,
) -> UpdateResult:
    """Make update number `update` (from 1) on one batch: the training loop in its simplest form."""
    rate = set_learning_rate(optimizer, config, update)
    loss_module = LossModule(model, config, baseline)
    total, nll = loss_module(batch, Noise.of(config.seed, update, batch.rows))
    optimizer.zero_grad(set_to_none=True)
    (total / batch.target_tokens).backward()
    norm = clip_gradient(model, config)
    optimizer.step()
    loss, tokens = float(nll), batch.target_tokens
    return UpdateResult(loss / tokens, tokens, float(norm), rate, loss_module.baseline.after(loss, tokens))
