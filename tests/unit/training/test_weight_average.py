"""Averages of weights, compared with their definition."""

import pytest
import torch
from torch import nn

from dragoman.errors import BundleError
from dragoman.training.weight_average import MovingAverage, mean_weights


def test_the_moving_average_is_what_the_equation_says():
    model = nn.Linear(3, 2)
    average = MovingAverage(model, 0.7)
    literal = {name: weight.detach().clone().double() for name, weight in model.named_parameters()}
    for update in range(1, 40):
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight))
        average.update(update)
        memory = min(0.7, (1 + update) / (10 + update))
        for name, weight in model.named_parameters():
            literal[name] = memory * literal[name] + (1 - memory) * weight.detach().double()
    for name, mean in average.named().items():
        torch.testing.assert_close(mean.double(), literal[name], atol=1e-5, rtol=1e-5)


def test_the_model_is_left_alone():
    model = nn.Linear(2, 2)
    before = model.weight.detach().clone()
    average = MovingAverage(model, 0.9)
    average.update(1)
    average.named()["weight"].zero_()
    assert torch.equal(model.weight, before)


def test_tied_weights_are_averaged_once():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    assert list(MovingAverage(model, 0.9).named()) == ["0.weight"]


def test_the_mean_of_checkpoints():
    several = [{"a": torch.full((2,), float(n)), "b": torch.tensor(float(-n))} for n in range(1, 5)]
    found = mean_weights(iter(several))
    assert torch.equal(found["a"], torch.full((2,), 2.5))
    assert found["a"].dtype == torch.float32
    assert float(found["b"]) == -2.5
    only = {"a": torch.rand(7)}
    assert torch.equal(mean_weights([only])["a"], only["a"])


def test_weights_of_another_model_are_refused():
    with pytest.raises(BundleError, match="must be of one model"):
        mean_weights([{"a": torch.ones(2)}, {"a": torch.ones(3)}])
    with pytest.raises(BundleError, match="one checkpoint at least"):
        mean_weights([])
