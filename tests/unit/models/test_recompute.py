"""Forgetting inner values until the backward pass changes memory and time, and nothing else."""

import pytest
import torch
from torch import Tensor

from dragoman.config import TrainingConfig
from dragoman.nn.stateless_noise import Noise
from dragoman.training.step import RewardBaseline, objective
from testkit.presets import EVERY_LENGTH, fresh_model, sentences, tiny_config

MODELS = ["vaswani2017-desk", "pairs-5k + model.attention_dropout=0.2 + model.activation_dropout=0.2"]


def gradients(name: str, *, recompute: bool, coverage: float) -> tuple[float, dict[str, Tensor]]:
    torch.manual_seed(0)
    model = fresh_model(tiny_config(name))
    if recompute:
        model.recompute_layers()
    batch = sentences(EVERY_LENGTH)
    config = TrainingConfig(coverage_weight=coverage)
    found = objective(model, batch, config, Noise.of(1, 2, batch.rows), RewardBaseline(0.0))
    found.total.backward()
    return float(found.total.detach()), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("coverage", [0.0, 0.5])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_gradients_to_the_bit(name: str, coverage: float):
    loss, kept = gradients(name, recompute=False, coverage=coverage)
    again, made = gradients(name, recompute=True, coverage=coverage)
    assert loss == again
    assert kept.keys() == made.keys()
    assert all(torch.equal(kept[name], made[name]) for name in kept)


def test_less_is_kept_for_the_backward_pass():
    def kept(recompute: bool) -> int:
        model = fresh_model(tiny_config(MODELS[0]))
        if recompute:
            model.recompute_layers()
        batch = sentences(EVERY_LENGTH)
        sizes: list[int] = []

        def pack(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            objective(model, batch, TrainingConfig(), None, RewardBaseline(0.0))
        return sum(sizes)

    assert kept(recompute=True) < 0.5 * kept(recompute=False)
