"""Padded batches: masks, reversal, precision, and values with one row per sentence that can be selected."""

import dataclasses
from typing import Self, TypeVar, cast

import torch
from torch import Tensor


def compute_dtype(x: Tensor) -> torch.dtype:
    """The dtype of products of `x`: that of autocast if enabled, otherwise its own."""
    kind = x.device.type
    if x.dtype == torch.float32 and torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return x.dtype


def at_least_float32(x: Tensor) -> Tensor:
    """Convert half precision to float32. Shapes: unchanged."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


T = TypeVar("T")


class Rows:
    """Base of frozen dataclasses whose tensors all have the batch as their first dimension.

    Beam search reorders, repeats and drops hypotheses with `select`, for the state of any model. Fields may be tensors,
    other `Rows`, tuples of these, or ``None``.
    """

    def select(self, rows: Tensor) -> Self:
        """Select rows, in this order. Shapes: rows [new batch] -> every field [new batch, …]."""
        return _select(self, rows, {})


def _select(value: T, rows: Tensor, done: dict[int, Tensor]) -> T:
    """`done` holds selected tensors by id, so that a tensor used twice (as keys and values) is selected once."""
    if isinstance(value, Tensor):
        if id(value) not in done:
            done[id(value)] = value.index_select(0, rows.to(value.device))
        return cast("T", done[id(value)])
    if isinstance(value, Rows):
        fields = dataclasses.fields(value)  # type: ignore[arg-type]
        chosen = {field.name: _select(getattr(value, field.name), rows, done) for field in fields}
        return cast("T", dataclasses.replace(value, **chosen))  # type: ignore[type-var]
    if isinstance(value, tuple):
        return cast("T", tuple(_select(item, rows, done) for item in value))
    assert value is None, f"a row-wise value cannot hold {type(value).__name__}"
    return value


def is_real(lengths: Tensor, size: int) -> Tensor:
    """True where a position holds a token, False where it is padding. Shapes: [batch] -> [batch, size]."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(1)


def reverse_real(x: Tensor, lengths: Tensor) -> Tensor:
    """Reverse the real positions of rows; self-inverse. Shapes: x [batch, src, *], lengths [batch] -> as x."""
    place = torch.arange(x.size(1), device=x.device).expand(x.size(0), -1)  # [batch, src]
    mirrored = lengths.to(x.device).unsqueeze(1) - 1 - place
    index = torch.where(mirrored >= 0, mirrored, place)
    return x.gather(1, index.view(*index.shape, *(1,) * (x.dim() - 2)).expand_as(x))


def masked_softmax(scores: Tensor, may_attend: Tensor) -> Tensor:
    """Softmax in float32 over positions that may be attended to; zero elsewhere. Shapes: both [*, src] -> [*, src]."""
    scores = at_least_float32(scores)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~may_attend, lowest).softmax(-1)
    return weights.masked_fill(~may_attend, 0.0)
