"""What attention looks at: one sentence a row, encoded once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import torch
from torch import Tensor

from dragoman.nn import loop
from dragoman.nn.masks import is_real
from dragoman.nn.rows import Rows

__all__ = ["Memory", "apart"]

T = TypeVar("T")


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

    def apart(self) -> Memory:
        """Every place as a memory of its own, with nothing else in it. Shapes: batch -> batch × src, src -> 1."""
        keys = _apart(self.keys)
        values = keys if self.values is self.keys else _apart(self.values)
        return Memory.of(keys, values, torch.ones(keys.size(0), dtype=self.lengths.dtype, device=keys.device))


def apart(value: T, src: int) -> T:
    """What a decoder remembers, with every place of the source in a row of its own; all else is in each of them.

    Shapes: [batch, …] -> [batch × src, …].
    """
    if isinstance(value, Memory):
        return cast("T", value.apart())
    if isinstance(value, Tensor):
        return cast("T", value.repeat_interleave(src, 0))
    if isinstance(value, Rows):
        fields = dataclasses.fields(value)  # type: ignore[arg-type]
        chosen = {field.name: apart(getattr(value, field.name), src) for field in fields}
        return cast("T", replace(value, **chosen))  # type: ignore[type-var]
    if isinstance(value, tuple):
        return cast("T", tuple(apart(item, src) for item in value))
    assert value is None, f"a row-wise value cannot hold {type(value).__name__}"
    return value


def _apart(x: Tensor) -> Tensor:
    """Shapes: [batch, *, src, dim] -> [batch × src, *, 1, dim]."""
    return x.movedim(-2, 1).flatten(0, 1).unsqueeze(-2)
