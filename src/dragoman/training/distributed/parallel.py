"""Gradients over batches and processes: one process, DDP, FSDP2, and sums in fixed order (the same bits for all).

DDP: every process has all weights, and gradients are averaged while the backward pass runs. FSDP2: weights, gradients
and optimizer state are sharded. Ordered sum: gradients of single batches are added in the order of the batches; it is
slower, and gives the same bits for any number of processes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.errors import TrainingError
from dragoman.nn.stateless_noise import Noise, exclude_noise_from_compilation
from dragoman.training.distributed.process_group import ProcessGroup
from dragoman.training.step import LossModule

_OUT_OF_MEMORY = ("allocate memory", "out of memory", "bad_alloc", "ALLOC_FAILED")
_FIX = "start a run with a lower training.batch_tokens and a higher training.micro_batches"


@dataclass(frozen=True)
class Gradient:
    """The loss that belongs to a gradient: Σ −log p(y_t) and the target tokens of all batches of all processes."""

    nll: float
    tokens: int

    @property
    def loss(self) -> float:
        """The mean of −log p(y_t)."""
        return self.nll / self.tokens


class GradientAccumulator:
    """Sums gradients of all processes per target token; an update that does not fit into memory is divided."""

    def __init__(
        self, strategy: ParallelStrategy, config: TrainingConfig, group: ProcessGroup, report: Callable[[str], None]
    ) -> None:
        self._strategy = strategy
        self._config = config
        self._group = group
        self._report = report
        self._max_cells = 0

    def accumulate(self, batches: Sequence[Batch], tokens: int, update: int) -> Gradient:
        """Store the gradient of the batches of all processes, with `tokens` target tokens, in the parameters."""
        while True:
            try:
                sums = self._pass(batches, tokens, update)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                error.__traceback__ = None  # its frames hold the tensors that do not fit
                self._reduce_part_size(batches, str(error).splitlines()[0])
            else:
                ranks = self._group.all_gather(sums)
                # In the order of the batches, on any number of processes.
                return Gradient(sum(value for batch in zip(*ranks, strict=True) for value in batch), tokens)

    def measure(self, batch: Batch, update: int) -> None:
        """Compute a gradient that is discarded, to measure the speed."""
        self._strategy.zero_gradients()
        self._backward(batch.to(self._group.device), batch.target_tokens, update, is_last=True)

    def _pass(self, batches: Sequence[Batch], tokens: int, update: int) -> list[float]:
        """Forward and backward pass of every batch; the Σ −log p(y_t) of each."""
        self._strategy.zero_gradients()
        sums: list[Tensor] = []
        for number, batch in enumerate(batches):
            parts = self._parts(batch)
            nll = torch.zeros((), dtype=torch.float64)
            for index, part in enumerate(parts):
                is_last = number + 1 == len(batches) and index + 1 == len(parts)
                nll = nll + self._backward(part.to(self._group.device), tokens, update, is_last=is_last)
            self._strategy.end_batch()
            sums.append(nll)
        self._strategy.end_update()
        return torch.stack(sums).tolist()

    def _backward(self, batch: Batch, tokens: int, update: int, *, is_last: bool) -> Tensor:
        noise = Noise.of(self._config.seed, update, batch.rows)
        with self._strategy.synchronization(is_last=is_last):
            total, nll = self._strategy.loss_module(batch, noise)
            (total * (self._strategy.gradient_divisor / tokens)).backward()
        return nll.detach().double().cpu()

    def _parts(self, batch: Batch) -> list[Batch]:
        return batch.parts(self._max_cells) if self._max_cells else [batch]

    def _reduce_part_size(self, batches: Sequence[Batch], error: str) -> None:
        if self._group.size > 1:
            raise TrainingError(f"a batch does not fit into the memory of a process: {error}; {_FIX}") from None
        largest = max((part for batch in batches for part in self._parts(batch)), key=lambda part: part.cells)
        if len(largest.rows) == 1:
            raise TrainingError(f"one pair does not fit into memory: {error}; use a smaller model") from None
        self._max_cells = largest.cells // 2
        if self._group.device.type == "cuda":
            torch.cuda.empty_cache()
        self._report(
            f"out of memory: batches are now processed in parts of at most {self._max_cells:,} source and target "
            f"tokens; the result is the same except for the order of sums; to avoid this, {_FIX}"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error reports exhausted memory, on a GPU or on the host."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _OUT_OF_MEMORY)


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
