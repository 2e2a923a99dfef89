"""Read, write and check safetensors files of float32 weights."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from dragoman.errors import BundleError

_MAX_HEADER = 4 << 20
_MAX_DIMENSIONS = 8
_FIX = "write the bundle again with dragoman train"


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Convert safetensors errors about a full or broken disk to `OSError`."""
    try:
        yield
    except SafetensorError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        number = int(found[1])
        raise OSError(number, os.strerror(number), str(path)) from None


def write_weights(path: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name; they must be float32."""
    for name, array in weights.items():
        if array.dtype != np.float32:
            raise BundleError(
                f"{name} must be float32 in a bundle, got {array.dtype}; convert the weights before they are saved"
            )
    with disk_errors(path):
        save_file({name: np.asarray(array, order="C") for name, array in weights.items()}, path)


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read arrays by name."""
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise BundleError(f"{path} must hold float32 weights, got: {error}; {_FIX}") from None


def count_parameters(path: Path) -> int:
    """Return the number of weights, read from the header of the file."""
    with safe_open(path, framework="numpy") as file:
        return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 -- not a mapping


def check_weights(path: Path) -> None:
    """Check from the header that all tensors are float32 and that they cover the file."""
    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if header > _MAX_HEADER:
        raise BundleError(f"{path} must have a header of at most {_MAX_HEADER:,} bytes, got {header:,}; {_FIX}")
    try:
        with safe_open(path, framework="numpy") as file:
            faults = [fault for name in file.keys() if (fault := _fault(name, file.get_slice(name)))]  # noqa: SIM118
            empty = not file.keys()
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        raise BundleError(f"{path} must be a safetensors file, got: {error}; {_FIX}") from None
    if empty:
        raise BundleError(f"{path} must hold weights, got none; {_FIX}")
    if faults:
        raise BundleError(f"{path} must hold float32 weights, got {faults[0]}; {_FIX}")


def check_finite(path: Path) -> None:
    """Read all weights, one array at a time, and raise a `BundleError` if one is NaN or infinite."""
    with safe_open(path, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118 -- not a mapping
            if not np.isfinite(file.get_tensor(name)).all():
                raise BundleError(f"{path} must hold finite weights, got NaN or infinity in {ascii(name)[:80]}; {_FIX}")


def _fault(name: str, entry: Any) -> str | None:
    shape, kind = entry.get_shape(), entry.get_dtype()
    if kind != "F32":
        return f"{kind} in {ascii(name)[:80]}"
    if 0 in shape or len(shape) > _MAX_DIMENSIONS:
        return f"the shape {shape[: _MAX_DIMENSIONS + 1]} of {ascii(name)[:80]}"
    return None
