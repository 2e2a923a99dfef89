"""Read, write and check safetensors files of float32 weights."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from dragoman.bundle.weight_shapes import NamedShape
from dragoman.errors import BundleError
from dragoman.files import usual_permissions

_MAX_HEADER = 4 << 20
_MAX_DIMENSIONS = 8
_BLOCK = 1 << 18  # bytes: two blocks and their mask fit the cache of a core
_FIX = "write the bundle again with dragoman train"
_DIVERGED = "the training diverged: use an earlier checkpoint"


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
    """Write arrays by name; they must be float32 and finite."""
    for name, array in weights.items():
        if array.dtype != np.float32:
            raise BundleError(
                f"{name} must be float32 in a bundle, got {array.dtype}; convert the weights before they are saved"
            )
        if not np.isfinite(array).all():
            raise BundleError(f"{name} must be finite in a bundle, got NaN or infinity; {_DIVERGED}")
    with disk_errors(path), usual_permissions(path):
        save_file({name: np.asarray(array, order="C") for name, array in weights.items()}, path)


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read arrays by name."""
    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise BundleError(f"{path} must hold float32 weights, got: {error}; {_FIX}") from None


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Read the shapes by name from the header of the file."""
    with safe_open(path, framework="numpy") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 -- not a mapping


def count_parameters(path: Path) -> int:
    """Return the number of weights, read from the header of the file."""
    return sum(math.prod(shape) for shape in read_shapes(path).values())


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


def check_shapes(folder: Path, found: Mapping[str, tuple[int, ...]], expected: Iterable[NamedShape]) -> None:
    """Compare the names and shapes of weights with those of a model; raise a `BundleError` at the first difference.

    The number of steps is limited by the weights that were found, however large the model.
    """
    left = dict(found)
    for name, shape in expected:
        if (got := left.pop(name, None)) != shape:
            raise _other_model(folder, f"no {name}" if got is None else f"{name} of the shape {got} instead of {shape}")
    if left:
        raise _other_model(folder, f"{ascii(min(left))[1:-1][:80]} as well")


def _other_model(folder: Path, got: str) -> BundleError:
    return BundleError(
        f"the weights of {folder} must be those of the model that its configuration describes, got {got}; restore it "
        "from its source"
    )


def refuse_non_finite(path: Path) -> None:
    """Raise a `BundleError` if a file of float32 weights, checked with `check_weights`, has NaN or infinity."""
    with path.open("rb") as file:
        header = file.read(int.from_bytes(file.read(8), "little"))
        block = bytearray(_BLOCK)
        done = 0
        while size := file.readinto(block):
            is_finite = np.isfinite(np.frombuffer(block, "<f4", size // 4))
            if not is_finite.all():
                name = _name_at(header, done + 4 * int(is_finite.argmin()))
                raise BundleError(f"{path} must hold finite weights, got NaN or infinity in {name}; {_DIVERGED}")
            done += size


def _name_at(header: bytes, offset: int) -> str:
    """Return the name of the tensor at an offset in the data of a file."""
    for name, facts in json.loads(header).items():
        begin, end = facts.get("data_offsets", (0, 0))
        if begin <= offset < end:
            return ascii(name)[1:-1][:80]
    return "a tensor"


def _fault(name: str, entry: Any) -> str | None:
    shape, kind = entry.get_shape(), entry.get_dtype()
    if kind != "F32":
        return f"{kind} in {ascii(name)[:80]}"
    if 0 in shape or len(shape) > _MAX_DIMENSIONS:
        return f"the shape {shape[: _MAX_DIMENSIONS + 1]} of {ascii(name)[:80]}"
    return None
