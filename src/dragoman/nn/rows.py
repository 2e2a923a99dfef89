"""Values that hold one row a sentence and can be reordered."""

from __future__ import annotations

import dataclasses
from typing import Self, TypeVar, cast

from torch import Tensor

__all__ = ["Rows"]

T = TypeVar("T")


class Rows:
    """A frozen dataclass whose tensors all have the sentence as their first dimension.

    Beam search reorders, repeats and drops hypotheses by `select`; it knows nothing else about what a model carries
    from one step to the next. Fields may be tensors, other `Rows`, tuples of these, or ``None``.
    """

    def select(self, rows: Tensor) -> Self:
        """The same value for the given rows, in that order. Shapes: rows [new batch] -> every field [new batch, …]."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        chosen = {field.name: _select(getattr(self, field.name), rows) for field in fields}
        return dataclasses.replace(self, **chosen)  # type: ignore[type-var]


def _select(value: T, rows: Tensor) -> T:
    if isinstance(value, Tensor):
        return cast("T", value.index_select(0, rows.to(value.device)))
    if isinstance(value, Rows):
        return value.select(rows)
    if isinstance(value, tuple):
        return cast("T", tuple(_select(item, rows) for item in value))
    assert value is None, f"a row-wise value cannot hold {type(value).__name__}"
    return value
