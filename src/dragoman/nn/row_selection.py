"""Base class of batched values with one row per sentence, whose rows can be selected and reordered."""

import dataclasses
from typing import Self, TypeVar, cast

from torch import Tensor

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
