"""Hard attention: whether it learns to reverse strings, and its gradient noise. Papers: [xu2015], [williams1992]."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import Tensor

from claims.measurement.samples import Samples
from claims.measurement.string_tasks import random_letters, train_on_strings
from dragoman.api.notebook.tutorial_strings import Pair, decode, small_config, translate
from dragoman.config import RnnConfig, TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.models.build import build_model
from dragoman.nn.stateless_noise import Noise
from dragoman.text import EOS_ID
from dragoman.training.step import RewardBaseline, objective

RATE = 3e-3
"""Learning rate of all models."""

_VOCAB = 32
_LENGTH = 8
_SENTENCES = 16  # per batch
_WIRINGS: dict[str, dict[str, Any]] = {
    "soft": {"decoder": {"attend": "after"}, "attention": {"score": "general"}},
    "hard": {"decoder": {"attend": "after"}, "attention": {"score": "general", "alignment": "hard"}},
    "none": {"decoder": {"attend": "none"}},
}


def reversed_strings(seed: int, updates: int = 3000, test: int = 300) -> Samples:
    """Whether each string of 4 to 10 letters is reversed without a mistake, with soft, hard and no attention."""
    draw = random.Random(10_000 + seed)
    pairs = [_pair(draw) for _ in range(test)]
    samples: Samples = {}
    for name, parts in _WIRINGS.items():
        config = small_config(64, encoder={"bidirectional": True}, **parts)
        model, _ = train_on_strings(config, _pair, updates, seed=seed, rate=RATE)
        found = translate(model, [source for source, _ in pairs])
        samples[name] = [float(decode(each.tokens) == target) for each, (_, target) in zip(found, pairs, strict=True)]
    return samples


def _pair(draw: random.Random) -> Pair:
    text = random_letters(draw, 4, 10)
    return text, text[::-1]


def gradient_noise(seed: int, models: int = 2, batches: int = 128) -> Samples:
    """Relative variance of the gradient of the score weights over batches, for soft and hard attention.

    One value for each of several models with initial weights; soft and hard attention share weights and batches.
    Hard attention samples its positions, and is learned by REINFORCE with a moving baseline (section 4.1).
    """
    samples: Samples = {"soft": [], "hard": []}
    for name, alignment in (("soft", "global"), ("hard", "hard")):
        for number in range(models):
            own = models * seed + number
            model, draws, baseline = _model(alignment, own), torch.Generator().manual_seed(own), RewardBaseline(0.9)
            gradients: list[Tensor] = []
            for place in range(batches):
                gradient, baseline = _gradient(model, _batch(draws), own, place, baseline)
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
