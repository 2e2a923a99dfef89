"""Read and write the int8 form of a bundle's weights: the multipliers that turn its float32 rows into stored integers.

Weights of a bundle are float32. Those of an imported int8 model are integers divided by a multiplier, so that the
integers can be computed from them without loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from dragoman.errors import BundleError

__all__ = ["Quantization"]

Array = NDArray[np.float32]

_WEIGHTS, _INPUTS = "weights/", "inputs/"
_LEVELS = 127
_TOLERANCE = 1e-3  # of a step; rounding to float32 moves an integer up to 127 by less than 1e-5
_FIX = "import the model again"


@dataclass(frozen=True)
class Quantization:
    """Multipliers by the name of a matrix, one per row. Shapes: each [rows].

    `weights`: row × multiplier are integers from −127 to 127. `inputs`: the multiplier of the input of the product with
    a row, fixed when the model was quantized; a matrix without an entry takes the range of each input.
    """

    weights: Mapping[str, Array]
    inputs: Mapping[str, Array]

    @classmethod
    def from_bytes(cls, data: bytes, shapes: Mapping[str, tuple[int, ...]]) -> Self:
        """Parse and check the file of a bundle; `shapes` are those of its weights."""
        try:
            arrays = load(data)
        except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise BundleError(f"the quantization of a bundle must be safetensors, got: {error}; {_FIX}") from None
        found = cls(_with_prefix(arrays, _WEIGHTS), _with_prefix(arrays, _INPUTS))
        if len(found.weights) + len(found.inputs) != len(arrays) or not found.weights.keys() >= found.inputs.keys():
            raise BundleError(f"the quantization of a bundle must hold multipliers of weights, got others; {_FIX}")
        for name, multipliers in (*found.weights.items(), *found.inputs.items()):
            rows = shapes.get(name, ())
            if len(rows) != 2 or multipliers.dtype != np.float32 or multipliers.shape != rows[:1]:
                raise BundleError(
                    f"the quantization of {ascii(name)[1:-1][:80]} must be one float32 multiplier per row of a matrix "
                    f"of the model, got another; {_FIX}"
                )
            if not (np.isfinite(multipliers) & (multipliers > 0)).all():
                raise BundleError(f"the multipliers of {name} must be positive and finite, got others; {_FIX}")
        return found

    def to_bytes(self) -> bytes:
        """The content of the file."""
        arrays = {_WEIGHTS + name: array for name, array in self.weights.items()}
        arrays |= {_INPUTS + name: array for name, array in self.inputs.items()}
        return bytes(save({name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}))

    def integers(self, name: str, weight: Array) -> NDArray[np.int8]:
        """The stored integers of a matrix. Shapes: [rows, columns] -> the same."""
        exact = weight.astype(np.float64) * self.weights[name][:, np.newaxis]
        rounded = np.rint(exact)
        if np.abs(exact - rounded).max(initial=0.0) > _TOLERANCE or np.abs(rounded).max(initial=0.0) > _LEVELS + 1:
            raise BundleError(f"{name} must hold integers divided by their multipliers, got other numbers; {_FIX}")
        return rounded.astype(np.int8)


def _with_prefix(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
