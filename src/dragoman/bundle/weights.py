"""Weights on disk: safetensors files of float32 numbers, checked before anything of them is used."""

from __future__ import annotations

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

__all__ = ["check_weights", "disk_faults", "read_weights", "write_weights"]

_LONGEST_HEADER = 4 << 20
_MOST_DIMENSIONS = 8
_MEND = "write the bundle again with dragoman train"


@contextmanager
def disk_faults(path: Path) -> Iterator[None]:
    """Turn what safetensors says of a full or broken disk into the `OSError` that it is."""
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
    with disk_faults(path):
        save_file({name: np.asarray(array, order="C") for name, array in weights.items()}, path)


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read arrays by name."""
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise BundleError(f"{path} must hold float32 weights, got: {error}; {_MEND}") from None


def check_weights(path: Path) -> None:
    """Read the header alone: is all of the file accounted for, and is all of it float32?"""
    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if header > _LONGEST_HEADER:
        raise BundleError(f"{path} must have a header of at most {_LONGEST_HEADER:,} bytes, got {header:,}; {_MEND}")
    try:
        with safe_open(path, framework="numpy") as file:
            faults = [fault for name in file.keys() if (fault := _fault(name, file.get_slice(name)))]  # noqa: SIM118
            empty = not file.keys()
    except (SafetensorError, OSError, ValueError, OverflowError) as error:
        raise BundleError(f"{path} must be a safetensors file, got: {error}; {_MEND}") from None
    if empty:
        raise BundleError(f"{path} must hold weights, got none; {_MEND}")
    if faults:
        raise BundleError(f"{path} must hold float32 weights, got {faults[0]}; {_MEND}")


def _fault(name: str, entry: Any) -> str | None:
    shape, kind = entry.get_shape(), entry.get_dtype()
    if kind != "F32":
        return f"{kind} in {ascii(name)[:80]}"
    if 0 in shape or len(shape) > _MOST_DIMENSIONS:
        return f"the shape {shape[: _MOST_DIMENSIONS + 1]} of {ascii(name)[:80]}"
    return None
