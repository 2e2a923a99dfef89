"""Source memory of attention: keys, values and mask, one sentence per row."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import torch
from torch import Tensor

from dragoman.nn import deferred_gradient
from dragoman.nn.batches import Rows, is_real

T = TypeVar("T")


@dataclass(frozen=True)
class Memory(Rows):
    """Keys and values of the source, with lengths and mask.

    Keys and values are the same encoder states, or two halves of them (key-value attention: [daniluk2017] (7)-(10),
    [mino2017]). Position s is the s-th word of the source in its original order.

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
        """The same memory for a loop over target steps: its gradient is computed once, after the loop."""
        keys = deferred_gradient.defer(self.keys)
        return replace(
            self, keys=keys, values=keys if self.values is self.keys else deferred_gradient.defer(self.values)
        )

    def split_positions(self) -> Memory:
        """Each position as a separate memory of length 1. Shapes: batch -> batch × src, src -> 1."""
        keys = _split_positions(self.keys)
        values = keys if self.values is self.keys else _split_positions(self.values)
        return Memory.of(keys, values, torch.ones(keys.size(0), dtype=self.lengths.dtype, device=keys.device))


def split_positions(value: T, src: int) -> T:
    """Split the memories of a decoder into one row per source position. Shapes: [batch, …] -> [batch × src, …]."""
    if isinstance(value, Memory):
        return cast("T", value.split_positions())
    if isinstance(value, Tensor):
        return cast("T", value.repeat_interleave(src, 0))
    if isinstance(value, Rows):
        fields = dataclasses.fields(value)  # type: ignore[arg-type]
        chosen = {field.name: split_positions(getattr(value, field.name), src) for field in fields}
        return cast("T", replace(value, **chosen))  # type: ignore[type-var]
    if isinstance(value, tuple):
        return cast("T", tuple(split_positions(item, src) for item in value))
    assert value is None, f"a row-wise value cannot hold {type(value).__name__}"
    return value


def _split_positions(x: Tensor) -> Tensor:
    """Shapes: [batch, *, src, dim] -> [batch × src, *, 1, dim]."""
    return x.movedim(-2, 1).flatten(0, 1).unsqueeze(-2)
