"""The gradient of one update, over several batches and processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dragoman.config.training import TrainingConfig
from dragoman.data.batch import Batch
from dragoman.errors import TrainingError
from dragoman.nn.noise import Noise
from dragoman.training.losses import Baseline
from dragoman.training.sharing import Sharing
from dragoman.training.world import World

__all__ = ["Gradient", "GradientMaker", "is_out_of_memory"]

_NO_MEMORY = ("allocate memory", "out of memory", "bad_alloc", "ALLOC_FAILED")
_MEND = "begin a run with a lower training.batch_tokens, and a higher training.micro_batches"


@dataclass(frozen=True)
class Gradient:
    """What was found on the way to it: Σ −log p(y_t) over all batches of all processes, and their target pieces."""

    nll: float
    tokens: int

    @property
    def loss(self) -> float:
        """The mean of −log p(y_t)."""
        return self.nll / self.tokens


class GradientMaker:
    """Makes gradients: the sum over the batches of all processes, divided by the target pieces of all of them.

    Where memory does not suffice and there is one process, the update is done again in smaller parts, and later
    batches are cut to what fitted; `note` is told.
    """

    def __init__(self, sharing: Sharing, config: TrainingConfig, world: World, note: Callable[[str], None]) -> None:
        self._sharing = sharing
        self._config = config
        self._world = world
        self._note = note
        self._most_cells = 0

    def make(self, batches: Sequence[Batch], tokens: int, update: int, baseline: Baseline) -> Gradient:
        """Leave the gradient of these batches, and those of the other processes, with the parameters.

        `tokens` are the target pieces of all of them.
        """
        while True:
            try:
                mine = self._pass(batches, tokens, update, baseline)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                error.__traceback__ = None  # its frames hold the very tensors there is no room for
                self._cut_smaller(batches, str(error).splitlines()[0])
            else:
                everyone = self._world.gathered(mine)
                # In the order of the batches, whichever process had them.
                return Gradient(sum(value for turn in zip(*everyone, strict=True) for value in turn), tokens)

    def _pass(self, batches: Sequence[Batch], tokens: int, update: int, baseline: Baseline) -> list[float]:
        """Forward and backward through every batch; their Σ −log p(y_t)."""
        self._sharing.begin()
        sums: list[Tensor] = []
        for number, batch in enumerate(batches):
            parts = self._parts(batch)
            nll = torch.zeros((), dtype=torch.float64)
            for place, part in enumerate(parts):
                is_last = number + 1 == len(batches) and place + 1 == len(parts)
                nll = nll + self._backward(part.to(self._world.device), tokens, update, baseline, is_last=is_last)
            self._sharing.collect()
            sums.append(nll)
        self._sharing.finish()
        return torch.stack(sums).tolist()

    def _backward(self, batch: Batch, tokens: int, update: int, baseline: Baseline, *, is_last: bool) -> Tensor:
        noise = Noise.of(self._config.seed, update, batch.rows)
        with self._sharing.synced(is_last=is_last):
            total, nll = self._sharing.task(batch, noise, baseline)
            (total * (self._sharing.averaged_over / tokens)).backward()
        return nll.detach().double().cpu()

    def _parts(self, batch: Batch) -> list[Batch]:
        return batch.parts(self._most_cells) if self._most_cells else [batch]

    def _cut_smaller(self, batches: Sequence[Batch], said: str) -> None:
        if self._world.size > 1:
            raise TrainingError(f"memory must suffice for a batch on every process, got: {said}; {_MEND}") from None
        largest = max((part for batch in batches for part in self._parts(batch)), key=lambda part: part.cells)
        if len(largest.rows) == 1:
            raise TrainingError(f"memory must suffice for one pair, got: {said}; take a smaller model") from None
        self._most_cells = largest.cells // 2
        if self._world.device.type == "cuda":
            torch.cuda.empty_cache()
        self._note(
            f"out of memory: from here on a batch is worked through in parts of at most {self._most_cells:,} pieces "
            f"of both sides, with the same result but for the order of sums; to avoid it, {_MEND}"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there was no memory left, on a GPU or on the host."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)
