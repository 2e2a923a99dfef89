"""Parallel strategies: one process, DDP, FSDP2, and sums in fixed order (same bits for any number of processes).

DDP: every process has all weights, and gradients are averaged while the backward pass runs. FSDP2: weights, gradients
and optimizer state are sharded. Ordered sum: gradients of single batches are added in the order of the batches; it is
slower, and gives the same bits for any number of processes.
"""

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
from dragoman.nn.stateless_noise import exclude_noise_from_compilation
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.step import LossModule


class ParallelStrategy(Protocol):
    """How the processes of an update share weights and combine gradients."""

    loss_module: nn.Module
    """Forward pass and loss."""
    gradient_divisor: int
    """Gradients are divided by this number, so losses are multiplied by it."""

    def zero_gradients(self) -> None:
        """Clear the gradients of the previous update, or of a failed attempt at this one."""

    def synchronization(self, *, is_last: bool) -> AbstractContextManager[Any]:
        """Context of each forward and backward pass; gradients are exchanged after the last one of an update."""

    def end_batch(self) -> None:
        """Called when the gradient of one complete batch is computed."""

    def end_update(self) -> None:
        """Called after the last batch: store the total gradient in the parameters."""


class SingleProcess:
    """One process; autograd accumulates the gradients."""

    gradient_divisor = 1

    def __init__(self, loss_module: nn.Module) -> None:
        self.loss_module = loss_module
        self._trainable = [parameter for parameter in loss_module.parameters() if parameter.requires_grad]

    def zero_gradients(self) -> None:
        for parameter in self._trainable:
            parameter.grad = None

    def synchronization(self, *, is_last: bool) -> AbstractContextManager[Any]:
        return nullcontext()

    def end_batch(self) -> None:
        pass

    def end_update(self) -> None:
        pass


class DdpStrategy(SingleProcess):
    """DistributedDataParallel."""

    def __init__(self, loss_module: nn.Module, group: ProcessGroup) -> None:
        cuda = group.device.type == "cuda"
        with warnings.catch_warnings():
            # Its successor is not in every supported torch; our buffers are constant, so none must be sent.
            warnings.filterwarnings("ignore", "`broadcast_buffers` is deprecated", FutureWarning)
            self._replica = DistributedDataParallel(
                loss_module,
                device_ids=[group.device] if cuda else None,
                broadcast_buffers=False,
                gradient_as_bucket_view=True,
            )
        super().__init__(self._replica)
        self.gradient_divisor = group.size

    def synchronization(self, *, is_last: bool) -> AbstractContextManager[Any]:
        return nullcontext() if is_last else self._replica.no_sync()


class FsdpStrategy(SingleProcess):
    """FSDP2: one shard per layer with `shard_methods`, and one for the rest."""

    def __init__(self, loss_module: LossModule, group: ProcessGroup) -> None:
        for layer in loss_module.model.modules():
            if methods := getattr(layer, "shard_methods", None):
                fully_shard(layer)
                for method in set(methods) - {"forward"}:
                    register_fsdp_forward_method(layer, method)
        self._shard: FSDPModule = fully_shard(loss_module)
        super().__init__(loss_module)
        self.gradient_divisor = group.size

    @contextmanager
    def synchronization(self, *, is_last: bool) -> Iterator[None]:
        self._shard.set_requires_gradient_sync(is_last)
        with warnings.catch_warnings():
            # Keys and values by head are views. They are never written to, so the warning does not apply.
            warnings.filterwarnings("ignore", ".* returned a view tensor", UserWarning)
            yield


class OrderedSum(SingleProcess):
    """Gradients of single batches, added in the order of the batches: g = ((g_0 + g_1) + g_2) + …"""

    def __init__(self, loss_module: nn.Module, group: ProcessGroup) -> None:
        super().__init__(loss_module)
        self._group = group
        self._sum: Tensor | None = None

    def zero_gradients(self) -> None:
        super().zero_gradients()
        self._sum = None

    def end_batch(self) -> None:
        """Add the gradients of one batch per process, by rank, and clear them."""
        for parameter in self._trainable:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        own = parameters_to_vector([p.grad for p in self._trainable if p.grad is not None])
        for gradient in self._all_gather(own):
            self._sum = gradient if self._sum is None else self._sum.add_(gradient)
        for parameter in self._trainable:
            parameter.grad = None

    def _all_gather(self, own: Tensor) -> list[Tensor]:
        if self._group.size == 1:
            return [own]
        ranks = [torch.empty_like(own) for _ in range(self._group.size)]
        distributed.all_gather(ranks, own)
        return ranks

    def end_update(self) -> None:
        assert self._sum is not None, "end_update() follows an end_batch()"
        for parameter in self._trainable:
            parameter.grad = torch.empty_like(parameter)
        vector_to_parameters(self._sum, [p.grad for p in self._trainable if p.grad is not None])
        self._sum = None


def build_strategy(loss_module: LossModule, config: TrainingConfig, group: ProcessGroup) -> ParallelStrategy:
    """Choose the strategy for a configuration and a number of processes."""
    if config.sharded and group.size > 1:
        return FsdpStrategy(loss_module, group)
    if config.compile:
        exclude_noise_from_compilation()
        loss_module.model.compile(dynamic=True)  # not the loss: its loop over chunks would break the graph
    if config.reproducible:
        return OrderedSum(loss_module, group)
    return DdpStrategy(loss_module, group) if group.size > 1 else SingleProcess(loss_module)
