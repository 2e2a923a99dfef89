"""How processes share an update: who holds which weights, and how the gradients of all become one.

Four ways behind one protocol. Alone there is nothing to share. Replicated (DDP): every process has all weights, and
gradients are averaged while the backward pass still runs. Sharded (FSDP2): weights, gradients and optimizer state are
divided among the processes. Ordered: the gradients of all batches are added one after the other in the order of the
batches, whoever made them; slower, and the same bits for any number of processes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from dragoman.config.training import TrainingConfig
from dragoman.training.step import Task
from dragoman.training.world import World

__all__ = ["Sharing", "build_sharing"]


class Sharing(Protocol):
    """What an update needs to know of the other processes."""

    task: nn.Module
    """Forward and loss."""
    averaged_over: int
    """Gradients come out divided by this number, so losses are multiplied by it."""

    def begin(self) -> None:
        """Forget the gradient of the update before, and of an attempt at this one that failed."""

    def synced(self, *, is_last: bool) -> AbstractContextManager[Any]:
        """Around each forward and backward pass; only the last one of an update is followed by an exchange."""

    def collect(self) -> None:
        """The gradient of one whole batch is there."""

    def finish(self) -> None:
        """Every batch is through: put the gradient of all of them in its place."""


class Alone:
    """One process."""

    averaged_over = 1

    def __init__(self, task: nn.Module) -> None:
        self.task = task
        self._learning = [parameter for parameter in task.parameters() if parameter.requires_grad]

    def begin(self) -> None:
        """Room is made when there is something to put there."""
        for parameter in self._learning:
            parameter.grad = None

    def synced(self, *, is_last: bool) -> AbstractContextManager[Any]:
        """Nobody to wait for."""
        return nullcontext()

    def collect(self) -> None:
        """Autograd adds to what is there."""

    def finish(self) -> None:
        """It is in its place."""


class Replicated(Alone):
    """DDP."""

    def __init__(self, task: nn.Module, world: World) -> None:
        cuda = world.device.type == "cuda"
        with warnings.catch_warnings():
            # Its successor is not in every torch that we support, and ours are constants: nothing to send either way.
            warnings.filterwarnings("ignore", "`broadcast_buffers` is deprecated", FutureWarning)
            self._replica = DistributedDataParallel(
                task, device_ids=[world.device] if cuda else None, broadcast_buffers=False, gradient_as_bucket_view=True
            )
        super().__init__(self._replica)
        self.averaged_over = world.size

    def synced(self, *, is_last: bool) -> AbstractContextManager[Any]:
        """Gradients of the batches before the last one stay here until then."""
        return nullcontext() if is_last else self._replica.no_sync()


class Sharded(Alone):
    """FSDP2: each layer that says it can be a shard, and the rest."""

    def __init__(self, task: Task, world: World) -> None:
        for layer in task.model.modules():
            if methods := getattr(layer, "shard_methods", None):
                fully_shard(layer)
                for method in set(methods) - {"forward"}:
                    register_fsdp_forward_method(layer, method)
        self._shard: FSDPModule = fully_shard(task)
        super().__init__(task)
        self.averaged_over = world.size

    @contextmanager
    def synced(self, *, is_last: bool) -> Iterator[None]:
        """Gradients of the batches before the last one stay here until then."""
        self._shard.set_requires_gradient_sync(is_last)
        with warnings.catch_warnings():
            # Keys and values by head are views. What a warning fears, that they are written to, nobody does: a memory
            # is a value.
            warnings.filterwarnings("ignore", ".* returned a view tensor", UserWarning)
            yield


class Ordered(Alone):
    """Gradients of single batches, added in the order of the batches: g = ((g_0 + g_1) + g_2) + …"""

    def __init__(self, task: nn.Module, world: World) -> None:
        super().__init__(task)
        self._world = world
        self._sum: Tensor | None = None

    def begin(self) -> None:
        """The sum too."""
        super().begin()
        self._sum = None

    def collect(self) -> None:
        """Of as many batches as there are processes: add their gradients by rank, and make room for the next."""
        for parameter in self._learning:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        mine = parameters_to_vector([p.grad for p in self._learning if p.grad is not None])
        for gradient in self._everyones(mine):
            self._sum = gradient if self._sum is None else self._sum.add_(gradient)
        for parameter in self._learning:
            parameter.grad = None

    def _everyones(self, mine: Tensor) -> list[Tensor]:
        if self._world.size == 1:
            return [mine]
        everyone = [torch.empty_like(mine) for _ in range(self._world.size)]
        distributed.all_gather(everyone, mine)
        return everyone

    def finish(self) -> None:
        """Give each parameter its part of the sum."""
        assert self._sum is not None, "finish() follows a collect()"
        for parameter in self._learning:
            parameter.grad = torch.empty_like(parameter)
        vector_to_parameters(self._sum, [p.grad for p in self._learning if p.grad is not None])
        self._sum = None


def build_sharing(task: Task, config: TrainingConfig, world: World) -> Sharing:
    """The way that a configuration and the number of processes ask for."""
    if config.sharded and world.size > 1:
        return Sharded(task, world)
    if config.compile:
        task.model.compile(dynamic=True)  # the loss works through its chunks in a loop that would break the graph
    if config.reproducible:
        return Ordered(task, world)
    return Replicated(task, world) if world.size > 1 else Alone(task)
