"""One training update: forward pass, losses (cross-entropy, R-Drop, coverage, alignment, REINFORCE), clipping, step.

The cross-entropy never holds the scores of all words for all steps: it processes the steps in chunks and computes the
gradient of each chunk from its probabilities in the forward pass.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.utils import parametrize

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.models.rnn_encoder import redundancy_penalty
from dragoman.nn.attention import Alignment
from dragoman.nn.batches import at_least_float32, compute_dtype, is_real
from dragoman.nn.embedding import Output
from dragoman.nn.stateless_noise import Noise
from dragoman.training.optimizer import learning_rate

CHUNK = 1024
"""Steps per chunk; 1,024 rows of 8,000 words are 32 MB."""


@dataclass(frozen=True)
class TokenLosses:
    """Cross-entropy of the reference words.

    Shapes: total, the objective, a scalar with a gradient; losses [batch, tgt], −log p(y_t) itself, without
    smoothing and without a gradient, zero in the padding.
    """

    total: Tensor
    losses: Tensor


def cross_entropy(
    output: Output,
    features: Tensor,
    labels: Tensor,
    lengths: Tensor,
    *,
    smoothing: float = 0.0,
    r_drop: float = 0.0,
    chunk: int = CHUNK,
) -> TokenLosses:
    """(1 − ε)·(−log p(y_t)) + ε·mean_v(−log p(v)), summed over real steps.

    With `r_drop`, the second half of the batch is the first half with other masks, and α · (KL(p_1 ‖ p_2) +
    KL(p_2 ‖ p_1)) / 2 is added for every step.
    Papers: [szegedy2016] (section 7), [vaswani2017] (section 5.4), [wu2021] (2). Padding is removed before anything is
    computed. Shapes: features [batch, tgt, dim], labels [batch, tgt], lengths [batch].
    """
    real = is_real(lengths.to(labels.device), labels.size(1)).flatten().nonzero().squeeze(1)  # [steps]
    chosen = features.flatten(0, 1).index_select(0, real)  # [steps, dim]
    total, losses = _ChunkedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        chosen, output.weight, output.bias, labels.flatten().index_select(0, real), smoothing, r_drop, chunk
    )
    padded = losses.new_zeros(labels.numel()).index_copy_(0, real, losses)
    return TokenLosses(total, padded.view_as(labels))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """The smoothed sum, and −log p(y_t) [steps]; the forward pass computes the gradient of the sum chunk by chunk."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        smoothing: float,
        r_drop: float,
        chunk: int,
    ) -> tuple[Tensor, Tensor]:
        ctx.features_dtype = features.dtype
        dtype = compute_dtype(features)
        features, cast_weight = features.to(dtype), weight.to(dtype)
        needs_gradient = any(ctx.needs_input_grad[:3])
        wide = torch.promote_types(bias.dtype, torch.float32)
        losses = torch.empty(labels.size(0), dtype=wide, device=bias.device)
        d_features = torch.empty_like(features) if needs_gradient else None
        d_weight = torch.zeros_like(weight) if needs_gradient else None
        d_bias = torch.zeros_like(bias) if needs_gradient else None
        total = losses.new_zeros(())
        vocab = weight.size(0)
        masks = 2 if r_drop else 1
        steps = torch.arange(labels.size(0), device=labels.device).view(masks, -1)
        size = max(1, chunk // masks)
        for start in range(0, steps.size(1), size):
            at = steps[:, start : start + size].flatten() if r_drop else slice(start, start + size)
            label = labels[at].unsqueeze(1)
            scores = (features[at] @ cast_weight.t()).to(wide).add_(bias)  # [chunk, vocab]
            log_probs = scores.log_softmax(-1)
            losses[at] = -log_probs.gather(1, label).squeeze(1)
            total += (1.0 - smoothing) * losses[at].sum()
            if smoothing:
                total -= smoothing * log_probs.mean(-1).sum()
            divergence, d_divergence = _symmetric_divergence(log_probs) if r_drop else (None, None)
            if divergence is not None:
                total += r_drop * divergence
            if d_features is None or d_weight is None or d_bias is None:
                continue
            d_scores = log_probs.exp_()
            if smoothing:
                d_scores.sub_(smoothing / vocab)
            d_scores.scatter_add_(1, label, d_scores.new_full((1, 1), smoothing - 1.0).expand_as(label))
            if d_divergence is not None:
                d_scores.add_(d_divergence, alpha=r_drop)
            d_bias += d_scores.sum(0)
            d_scores = d_scores.to(dtype)
            d_features[at] = d_scores @ cast_weight
            d_weight += d_scores.t() @ features[at]
        ctx.save_for_backward(d_features, d_weight, d_bias)
        ctx.mark_non_differentiable(losses)
        return total, losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_features, d_weight, d_bias = ctx.saved_tensors
        # In the precision of the features: a factor rounded to bfloat16 would bias all gradients alike.
        scaled = (at_least_float32(d_features) * grad).to(ctx.features_dtype)
        return scaled, d_weight * grad.to(d_weight.dtype), d_bias * grad.to(d_bias.dtype), None, None, None, None


def _symmetric_divergence(log_probs: Tensor) -> tuple[Tensor, Tensor]:
    """Σ (KL(p ‖ q) + KL(q ‖ p)) / 2 of both halves of rows, its gradient. Shapes: [2 steps, vocab] -> scalar, same."""
    first, second = log_probs.chunk(2)
    difference, p, q = first - second, first.exp(), second.exp()
    forward = (p * difference).sum(-1, keepdim=True)  # KL(p ‖ q) [steps, 1]
    backward = (q * difference).sum(-1, keepdim=True).neg_()  # KL(q ‖ p)
    d_first = (difference - forward).mul_(p).add_(p).sub_(q)
    d_second = (difference + backward).mul_(q).neg_().add_(q).sub_(p)
    return (forward + backward).sum() / 2, torch.cat([d_first, d_second]).div_(2)


def coverage_loss(alignment: Alignment, source_lengths: Tensor, target_lengths: Tensor, src: int) -> Tensor:
    """Σ_s (1 − Σ_t a_t(s))², doubly stochastic: [xu2015] (14). Shapes: alignment [batch, tgt, src], lengths [batch]."""
    weights = alignment.averaged(src)  # [batch, tgt, src]
    written = is_real(target_lengths.to(weights.device), weights.size(1)).unsqueeze(-1)
    covered = (weights * written).sum(1)  # [batch, src]
    real = is_real(source_lengths.to(weights.device), src)
    return ((1.0 - covered) ** 2 * real).sum()


def guided_alignment_loss(weights: Tensor, links: Tensor) -> Tensor:
    """−Σ_t Σ_s G_{t,s} log a_t(s): the cross-entropy of the attention weights, summed over linked target tokens.

    G are the links, normalised to a sum of 1 per target token. Paper: [garg2019] (section 4.2).
    Shapes: weights [batch, tgt, src], links [links, 3] (sentence, target position, source position) -> a scalar.
    """
    sentence, target, source = links.unbind(1)
    number = weights.new_zeros(weights.shape[:2], dtype=torch.float32)
    number.index_put_((sentence, target), number.new_ones(()), accumulate=True)
    chosen = weights[sentence, target, source].float().clamp(min=torch.finfo(torch.float32).tiny)
    return -(chosen.log() / number[sentence, target]).sum()


@dataclass(frozen=True)
class RewardBaseline:
    """The moving mean log p(y_t), b_k = decay · b_{k-1} + (1 − decay) · mean. Paper: [xu2015] (section 4.1)."""

    decay: float
    mean: float | None = None

    def after(self, nll: float, tokens: int) -> RewardBaseline:
        """The baseline after an update on `tokens` target tokens with this sum of −log p(y_t)."""
        now = -nll / tokens
        return RewardBaseline(self.decay, now if self.mean is None else self.decay * self.mean + (1 - self.decay) * now)


def reinforce_loss(
    alignment: Alignment,
    losses: Tensor,
    lengths: Tensor,
    baseline: RewardBaseline,
    *,
    weight: float = 1.0,
    entropy_weight: float = 0.0,
) -> Tensor:
    """A term whose gradient is an unbiased estimate of that of −E[log p(y)] with respect to the hard attention weights.

    −Σ_t (Σ_{u ≥ t} (log p(y_u) − b)) log p(s_t) − λ_e Σ_t H_t. Papers: [xu2015] (10)-(12), [williams1992].
    A position cannot change earlier words, so only the words from t on reward it: the same expectation as the
    paper's reward for the complete sentence, with lower variance. b is the moving average of earlier batches
    (0 before the first).

    Shapes: alignment.log_prob, losses (−log p(y_t), zero in the padding) [batch, tgt], lengths [batch] -> a scalar.
    """
    assert alignment.log_prob is not None, "only hard attention samples positions"
    assert alignment.entropy is not None
    real = is_real(lengths.to(losses.device), losses.size(1))
    better = (-losses.detach() - (baseline.mean or 0.0)) * real  # [batch, tgt]
    reward = better.flip(1).cumsum(1).flip(1)
    return -(weight * reward * alignment.log_prob * real + entropy_weight * alignment.entropy * real).sum()


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
