"""Named arrays of a source model, taken once each with their shape checked, from .npz and safetensors files."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tokenize import TokenError
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from dragoman.errors import BundleError
from dragoman.importing.source_files import check_zip_directory, reason

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


_CONFIG = "special:model.yml"
_MAX_DIRECTORY = 1 << 20  # about 10,000 arrays
_MAX_HEADER = 4096
_FLOATS = ("<f4", "<f2", "<f8")


def read_npz(path: Path) -> tuple[WeightTable, bytes]:
    """Return the weights and Marian's configuration (YAML)."""
    arrays: dict[str, Any] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    config = b""
    check_zip_directory(path, _MAX_DIRECTORY)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > path.stat().st_size:
                raise BundleError(f"{path} must hold uncompressed arrays; save it again without compression")
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if entry.compress_type != zipfile.ZIP_STORED:
                    raise BundleError(f"{path} must hold uncompressed arrays, got {ascii(name)[:60]} compressed")
                array = _array(path, name, archive.read(entry))
                if name == _CONFIG:
                    config = array.tobytes().rstrip(b"\0")
                elif array.dtype.str in _FLOATS:
                    arrays[name], shapes[name] = functools.partial(np.asarray, array), array.shape
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError, SyntaxError, TokenError) as error:
        raise BundleError(f"{path} must be an .npz file, got: {reason(error)}; get the file again") from None
    if not config:
        raise BundleError(f"{path} has no {_CONFIG}; it is not a model of Marian")
    return WeightTable(arrays, shapes), config


def _array(path: Path, name: str, data: bytes) -> NDArray[Any]:
    stream = io.BytesIO(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in read:
        raise ValueError(f"version {version} of an array")
    shape, is_fortran, dtype = read[version](stream, max_header_size=_MAX_HEADER)
    if dtype.hasobject or dtype.kind not in "fiu":
        raise ValueError(f"the number type {dtype} of an array")
    content = data[stream.tell() :]
    check_shape(path, name, shape, dtype.itemsize, len(content))
    return np.frombuffer(content, dtype).reshape(shape, order="F" if is_fortran else "C")


_MAX_LIST = 2 << 20  # 100 bytes per array; parsing takes 25 times its size
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_OTHERS = ("I64", "I32", "I16", "I8", "U8", "BOOL")  # counters and masks of checkpoints, never weights


def read_safetensors(path: Path) -> WeightTable:
    """Open a file; arrays are read when they are taken. Offsets and sizes are checked first."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if not 0 < header_bytes <= min(_MAX_LIST, path.stat().st_size):
            raise BundleError(f"{path} must be a safetensors file; get the file again")
        header = file.read(header_bytes)
    try:
        with safe_open(path, framework="numpy") as opened:  # checks that the arrays cover the file and do not overlap
            names = set(opened.keys())
        entries = {name: entry for name, entry in json.loads(header).items() if name in names}
    except (SafetensorError, OSError, ValueError, OverflowError, RecursionError) as error:
        raise BundleError(f"{path} must be a safetensors file, got: {reason(error)}; get the file again") from None
    floats = {name: entry for name, entry in entries.items() if entry["dtype"] not in _OTHERS}
    for name, entry in floats.items():
        if entry["dtype"] not in _TYPES:
            raise BundleError(
                f"{ascii(name)[1:-1][:80]} must be F32, F16, BF16 or F64, got {entry['dtype'][:20]}; convert the model"
            )
    start = 8 + header_bytes
    arrays = {name: functools.partial(_tensor, path, start, entry) for name, entry in floats.items()}
    return WeightTable(arrays, {name: tuple(entry["shape"]) for name, entry in floats.items()})


def _tensor(path: Path, start: int, entry: dict[str, Any]) -> NDArray[Any]:
    offset, end = entry["data_offsets"]
    with path.open("rb") as file:
        file.seek(start + offset)
        data = np.frombuffer(file.read(end - offset), _TYPES[entry["dtype"]])
    if entry["dtype"] == "BF16":  # the upper half of a float32
        data = (data.astype("<u4") << 16).view("<f4")
    return data.reshape(entry["shape"])


_MAX_DIMENSIONS = 8


def check_shape(path: Path, name: str, shape: Sequence[int], item: int, size: int) -> None:
    """Require that an array of this shape, with `item` bytes per number, has this size."""
    count = 1
    for length in shape:
        count *= length
    if len(shape) > _MAX_DIMENSIONS or any(length < 0 for length in shape) or count * item != size:
        raise BundleError(
            f"{ascii(name)[1:-1][:80]} in {path} must have the size of its shape {ascii(tuple(shape))[:60]}, got "
            f"{size:,} bytes; get the file again"
        )
