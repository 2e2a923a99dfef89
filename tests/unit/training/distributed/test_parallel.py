"""Choice of the parallel strategy, and the order of the ordered sum."""

import torch

from dragoman.config import TrainingConfig
from dragoman.training.distributed.parallel import OrderedSum, SingleProcess, build_strategy
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.step import LossModule
from testkit.presets import fresh_model, tiny_config


def task(config: TrainingConfig) -> LossModule:
    return LossModule(fresh_model(tiny_config("luong2015-desk")), config)


def test_one_process_shares_with_nobody():
    for config in (TrainingConfig(), TrainingConfig(sharded=True)):
        assert type(build_strategy(task(config), config, ProcessGroup())) is SingleProcess
    config = TrainingConfig(reproducible=True)
    assert type(build_strategy(task(config), config, ProcessGroup())) is OrderedSum


def test_gradients_are_added_in_the_order_of_the_batches():
    """Floating-point sums depend on their order: 1 is lost when added to 2^24, unless large numbers cancel first."""
    weight = torch.nn.Linear(1, 1, bias=False)
    ordered = OrderedSum(weight, ProcessGroup())

    def total(*gradients: float) -> float:
        ordered.zero_gradients()
        for gradient in gradients:
            weight.weight.grad = torch.full((1, 1), gradient)
            ordered.end_batch()
        ordered.end_update()
        assert weight.weight.grad is not None
        return float(weight.weight.grad)

    assert total(2.0**24, 1.0, -(2.0**24)) == 0.0
    assert total(2.0**24, -(2.0**24), 1.0) == 1.0


def test_what_a_failed_attempt_left_is_forgotten():
    weight = torch.nn.Linear(1, 1, bias=False)
    ordered = OrderedSum(weight, ProcessGroup())
    for _ in range(2):
        ordered.zero_gradients()
        weight.weight.grad = torch.ones(1, 1)
        ordered.end_batch()
    ordered.end_update()
    assert float(weight.weight.grad or 0) == 1.0


def test_a_parameter_without_a_gradient_gets_zeros():
    weight = torch.nn.Linear(1, 1)
    ordered = OrderedSum(weight, ProcessGroup())
    weight.weight.grad = torch.ones(1, 1)
    ordered.end_batch()
    ordered.end_update()
    assert weight.bias.grad is not None
    assert float(weight.bias.grad) == 0.0
