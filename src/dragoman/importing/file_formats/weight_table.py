"""Named arrays of a source model: each is taken once, with a check of its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError

Array = NDArray[np.float32]
_FIX = "get the model again; if it is complete, its architecture is not supported"


class WeightTable:
    """Arrays by name. `left` are the names of those that were not taken.

    `multipliers` of int8 arrays turn their numbers into integers; `input_multipliers` are those of the other factor of
    a product, as far as the file has them.
    """

    def __init__(
        self,
        arrays: Mapping[str, Callable[[], NDArray[Any]]],
        shapes: Mapping[str, tuple[int, ...]],
        *,
        multipliers: Mapping[str, float] = MappingProxyType({}),
        input_multipliers: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self._arrays = arrays
        self.multipliers = multipliers
        self.input_multipliers = input_multipliers
        self.shapes = dict(shapes)
        self.left = set(shapes)

    @classmethod
    def joined(cls, tables: Sequence[WeightTable]) -> WeightTable:
        """Join the arrays of several files, whose names must differ."""
        names = [name for table in tables for name in table.shapes]
        if len(set(names)) < len(names):
            raise BundleError(f"the files of the weights have an array twice; {_FIX}")
        arrays = {name: read for table in tables for name, read in table._arrays.items()}  # noqa: SLF001 -- the same class
        return cls(arrays, {name: shape for table in tables for name, shape in table.shapes.items()})

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def first(self, *names: str) -> str:
        """The first of these names that exists."""
        for name in names:
            if name in self.shapes:
                return name
        raise BundleError(f"the weights have no {' or '.join(names)}; {_FIX}")

    def take(self, name: str, shape: Sequence[int]) -> Array:
        """Return an array in float32."""
        if name not in self.shapes:
            raise BundleError(f"the weights have no {name}; {_FIX}")
        if self.shapes[name] != tuple(shape):
            got = ascii(self.shapes[name])[:80]
            raise BundleError(f"{name} must have the shape {tuple(shape)}, got {got}; {_FIX}")
        with np.errstate(all="ignore"):  # numbers that are not finite are an error below
            array = np.ascontiguousarray(self._arrays[name](), dtype=np.float32)
        if not np.isfinite(array).all():
            raise BundleError(f"{name} must hold finite numbers only; get the model again")
        self.left.discard(name)
        return array

    def ignore(self, *names: str) -> None:
        """Skip arrays that repeat others or can be computed."""
        self.left.difference_update(names)

    def check_all_taken(self) -> None:
        """Require that no array is left: one that is unknown would change the results."""
        if self.left:
            shown = ascii(min(self.left))[1:-1][:80]
            raise BundleError(
                f"the weights must be those of a supported architecture, got {len(self.left)} more, such as {shown}; "
                "this variant cannot be imported"
            )
