"""What attention looks at: one sentence a row, encoded once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from dragoman.nn import loop
from dragoman.nn.masks import is_real
from dragoman.nn.rows import Rows

__all__ = ["Memory"]


@dataclass(frozen=True)
class Memory(Rows):
    """Keys to compare with, values to take, and how many of them are real.

    Keys and values are the same encoder states, or two halves of them (key-value attention: [daniluk2017] (7)-(10),
    [mino2017]). Position s is the s-th word of the source in its own order, whatever order the encoder read it in.

    Shapes: keys [batch, *, src, key], values [batch, *, src, value], lengths [batch], may_attend [batch, *, 1, src]
    (True: a real word), where * is nothing or the heads.
    """

    keys: Tensor
    values: Tensor
    lengths: Tensor
    may_attend: Tensor

    @classmethod
    def of(cls, keys: Tensor, values: Tensor, lengths: Tensor) -> Memory:
        """A memory over padded keys and values. Shapes as above."""
        lengths = lengths.to(keys.device)
        real = is_real(lengths, keys.size(-2))  # [batch, src]
        between = (1,) * (keys.dim() - 2)
        return cls(keys, values, lengths, real.view(real.size(0), *between, real.size(1)))

    def deferred(self) -> Memory:
        """The same memory, for a loop over target steps: its gradient is put together once, after the loop."""
        keys = loop.defer(self.keys)
        return replace(self, keys=keys, values=keys if self.values is self.keys else loop.defer(self.values))
