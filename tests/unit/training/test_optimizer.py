"""The learning rate as a function of the update's number."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from dragoman.config import TrainingConfig, load_config
from dragoman.errors import BundleError
from dragoman.training.optimizer import MovingAverage, learning_rate, mean_weights

SCHEDULES = ["constant", "inverse-sqrt", "halving", "cosine"]


def rates(updates: list[int], **settings: Any) -> list[float]:
    config = TrainingConfig(learning_rate=2.0, **settings)
    return [learning_rate(config, update) for update in updates]


def test_a_constant_rate():
    assert rates([1, 2, 1000, 10**9]) == [2.0] * 4


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rate_rises_in_a_line_to_its_peak(schedule: str):
    found = rates([1, 2, 3, 4], schedule=schedule, warmup_updates=4, halve_from=100)
    assert found == pytest.approx([0.5, 1.0, 1.5, 2.0])


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_first_update_moves(schedule: str):
    for warmup in (0, 1, 2, 100):
        assert 0.0 < rates([1], schedule=schedule, warmup_updates=warmup, halve_from=100)[0] <= 2.0


def test_the_inverse_square_root():
    found = rates([100, 400, 10_000], schedule="inverse-sqrt", warmup_updates=100)
    assert found == pytest.approx([2.0, 1.0, 0.2])


@given(st.integers(1, 10**6))
def test_the_preset_of_the_paper_has_the_formula_of_the_paper(update: int):
    """lrate = d^−0.5 · min(step^−0.5, step · warmup^−1.5). Paper: [vaswani2017] (3)."""
    wanted = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
    assert learning_rate(load_config("vaswani2017-base").training, update) == pytest.approx(wanted)


def test_halving():
    found = rates([1, 9, 10, 14, 15, 19, 20], schedule="halving", halve_from=10, halve_every=5)
    assert found == [2.0, 2.0, 1.0, 1.0, 0.5, 0.5, 0.25]


def test_halving_ends_in_nothing_and_not_in_an_error():
    assert rates([10**9], schedule="halving", halve_from=1, halve_every=1) == [0.0]


def test_a_cosine():
    found = rates([20, 40, 60, 80, 100, 101, 10**6], schedule="cosine", warmup_updates=20, max_updates=100)
    assert found == pytest.approx([2.0, 1 + math.sqrt(0.5), 1.0, 1 - math.sqrt(0.5), 0.0, 0.0, 0.0])


@given(
    schedule=st.sampled_from(SCHEDULES),
    warmup=st.integers(0, 50),
    max_updates=st.integers(1, 100),
    halve_from=st.integers(0, 100),
    update=st.integers(1, 200),
)
def test_the_rate_never_exceeds_its_peak_and_falls_once_it_has_risen(
    schedule: str, warmup: int, max_updates: int, halve_from: int, update: int
):
    settings = {"schedule": schedule, "warmup_updates": warmup, "max_updates": max_updates, "halve_from": halve_from}
    now, then = rates([update, update + 1], **settings)
    assert 0.0 <= now <= 2.0
    if update >= warmup:
        assert then <= now
    elif update + 1 < warmup:
        assert then > now


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
    with pytest.raises(BundleError, match="different names or shapes of weights"):
        mean_weights([{"a": torch.ones(2)}, {"a": torch.ones(3)}])
    with pytest.raises(BundleError, match="no checkpoint to average"):
        mean_weights([])
