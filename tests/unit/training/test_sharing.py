"""Which way of sharing a configuration asks for, and that the ordered one adds in order."""

import torch

from dragoman.config import TrainingConfig
from dragoman.training.sharing import Alone, Ordered, build_sharing
from dragoman.training.step import Task
from dragoman.training.world import World
from tests.presets import fresh_model, tiny_config


def task(config: TrainingConfig) -> Task:
    return Task(fresh_model(tiny_config("luong2015-desk")), config)


def test_one_process_shares_with_nobody():
    for config in (TrainingConfig(), TrainingConfig(sharded=True)):
        assert type(build_sharing(task(config), config, World())) is Alone
    config = TrainingConfig(reproducible=True)
    assert type(build_sharing(task(config), config, World())) is Ordered


def test_gradients_are_added_in_the_order_of_the_batches():
    """Floating-point sums depend on their order: 1 is lost beside 2^24, unless the two large ones meet first."""
    weight = torch.nn.Linear(1, 1, bias=False)
    ordered = Ordered(weight, World())

    def total(*gradients: float) -> float:
        ordered.begin()
        for gradient in gradients:
            weight.weight.grad = torch.full((1, 1), gradient)
            ordered.collect()
        ordered.finish()
        assert weight.weight.grad is not None
        return float(weight.weight.grad)

    assert total(2.0**24, 1.0, -(2.0**24)) == 0.0
    assert total(2.0**24, -(2.0**24), 1.0) == 1.0


def test_what_a_failed_attempt_left_is_forgotten():
    weight = torch.nn.Linear(1, 1, bias=False)
    ordered = Ordered(weight, World())
    for _ in range(2):
        ordered.begin()
        weight.weight.grad = torch.ones(1, 1)
        ordered.collect()
    ordered.finish()
    assert float(weight.weight.grad or 0) == 1.0


def test_a_parameter_without_a_gradient_gets_zeros():
    weight = torch.nn.Linear(1, 1)
    ordered = Ordered(weight, World())
    weight.weight.grad = torch.ones(1, 1)
    ordered.collect()
    ordered.finish()
    assert weight.bias.grad is not None
    assert float(weight.bias.grad) == 0.0
