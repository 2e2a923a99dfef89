"""Gradients of several batches: the same as of one that holds them all, cut or not."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.config import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.errors import TrainingError
from dragoman.models import Model
from dragoman.training.distributed.parallel import (
    Gradient,
    GradientAccumulator,
    ParallelStrategy,
    build_strategy,
    is_out_of_memory,
)
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.step import LossModule, RewardBaseline
from testkit.presets import EVERY_LENGTH, alone, fresh_model, sentences, tiny_config

MODELS = ["luong2015-local-p-desk", "xu2015-desk", "vaswani2017-desk"]
NO_MEMORY = "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"


def of(batch: Batch, rows: Sequence[int]) -> Batch:
    """Some pairs of a batch."""
    ones = [alone(batch, row) for row in rows]
    pairs = [(one.source[0, :-1].tolist(), one.labels[0, :-1].tolist()) for one in ones]
    return Batch.from_pairs(pairs, [int(one.rows[0]) for one in ones])


class Maker:
    """A gradient accumulator for a new model, and its messages."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.config = TrainingConfig(**settings)
        self.model: Model[Any, Any] = fresh_model(tiny_config(name))
        self.strategy: ParallelStrategy = build_strategy(
            LossModule(self.model, self.config, RewardBaseline(0.9, 1.5)), self.config, ProcessGroup()
        )
        self.notes: list[str] = []
        self.maker = GradientAccumulator(self.strategy, self.config, ProcessGroup(), self.notes.append)

    def make(self, batches: Sequence[Batch]) -> tuple[Gradient, dict[str, Tensor]]:
        tokens = sum(batch.target_tokens for batch in batches)
        found = self.maker.accumulate(batches, tokens, 3)
        named = {name: p.grad.clone() for name, p in self.model.named_parameters() if p.grad is not None}
        return found, named

    def fail_at(self, number: int, error: Exception) -> None:
        """The so-many-th forward pass finds no memory, once."""
        passes = iter(range(1, 1000))

        def before(*_: object) -> None:
            if next(passes) == number:
                raise error

        self.strategy.loss_module.register_forward_pre_hook(before)


def check_close(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-6, rtol=1e-5, msg=name)


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_several_batches_are_one_large_one(name: str, reproducible: bool):
    batch = sentences(EVERY_LENGTH)
    whole, gradients = Maker(name).make([batch])
    parts = [of(batch, rows) for rows in ([0, 3], [1], [2, 4, 5, 6, 7])]
    several, summed = Maker(name, reproducible=reproducible).make(parts)
    assert several.tokens == whole.tokens
    assert several.loss == pytest.approx(whole.loss, abs=1e-6)
    check_close(gradients, summed)


def test_a_gradient_is_forgotten_before_the_next():
    batch = sentences(EVERY_LENGTH)
    maker = Maker(MODELS[0])
    _, first = maker.make([batch])
    _, second = maker.make([batch])
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("failing", [1, 2, 3])
@pytest.mark.parametrize("error", [RuntimeError(NO_MEMORY), MemoryError(NO_MEMORY)])
def test_without_memory_the_update_is_made_in_parts(reproducible: bool, failing: int, error: Exception):
    """Also where a part of it was there already: nothing is counted twice."""
    batch = sentences(EVERY_LENGTH)
    parts = [of(batch, rows) for rows in ([0, 3, 5], [1, 2], [4, 6, 7])]
    whole, gradients = Maker(MODELS[0]).make(parts)
    maker = Maker(MODELS[0], reproducible=reproducible)
    maker.fail_at(failing, error)
    found, summed = maker.make(parts)
    assert found.loss == pytest.approx(whole.loss, abs=1e-6)
    check_close(gradients, summed)
    assert len(maker.notes) == 1
    assert maker.notes[0].startswith("out of memory")


def test_where_one_pair_is_too_much_it_says_so():
    maker = Maker(MODELS[0])
    maker.fail_at(1, MemoryError(NO_MEMORY))
    with pytest.raises(TrainingError, match="one pair does not fit into memory"):
        maker.make([alone(sentences(EVERY_LENGTH), 0)])


def test_other_errors_are_not_taken_for_it():
    maker = Maker(MODELS[0])
    maker.fail_at(1, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        maker.make([sentences(EVERY_LENGTH)])
    assert not is_out_of_memory(ValueError("out of memory"))
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
