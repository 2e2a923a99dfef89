"""Read model.bin of CTranslate2 (binary versions 2 to 6): variables by name; integers are converted to float32."""

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.binary_reader import BinaryReader, check_shape
from dragoman.importing.file_formats.weight_table import WeightTable

_VERSIONS = range(2, 7)
_TYPES = ("<f4", "<i1", "<i2", "<i4", "<f2", "<u2")
_INT8, _INT16, _BFLOAT16 = 1, 2, 5
_OLD_TYPES = {1: 1, 2: 2, 4: 0}  # bytes per item -> type, before version 4
_MAX_VARIABLES = 100_000
_MAX_GROWTH = 16  # int8 takes 4 times as much in float32, and tied embeddings are aliases
_SMALL = 1 << 20
_INT16_SCALE = 1000.0  # of files without a scale

Variable = tuple[int, NDArray[Any]]


class CTranslate2File:
    """Name and revision of the specification, scalar attributes, and weights. `flags` are attributes of one byte."""

    def __init__(self, specification: str, revision: int, variables: dict[str, Variable]) -> None:
        self.specification = specification
        self.revision = revision
        self.attributes = {name: float(array.reshape(())) for name, (_, array) in variables.items() if array.ndim == 0}
        self.flags = {name for name, (kind, array) in variables.items() if array.ndim == 0 and kind == _INT8}
        arrays = {name: value for name, value in variables.items() if value[1].ndim}
        scales = {f"{name}_scale" for name, (kind, _) in arrays.items() if kind in (_INT8, _INT16)}
        weights = {
            name: functools.partial(_floats, kind, array, variables.get(f"{name}_scale"))
            for name, (kind, array) in arrays.items()
            if name not in scales
        }
        self.weights = WeightTable(weights, {name: arrays[name][1].shape for name in weights})

    def attribute(self, name: str, default: float) -> float:
        """A scalar; absent ones have the default of CTranslate2."""
        return self.attributes.get(name, default)


def read_variables(path: Path) -> CTranslate2File:
    """Parse the file."""
    reader = BinaryReader(path, path.read_bytes())
    version = reader.number("I")
    if version not in _VERSIONS:
        raise BundleError(
            f"{path} must be of a version from {_VERSIONS[0]} to {_VERSIONS[-1]}, got {version}; convert the model "
            "again with a current CTranslate2"
        )
    specification, revision = reader.text(reader.number("H")), reader.number("I")
    count = reader.number("I")
    if count > _MAX_VARIABLES:
        raise BundleError(f"{path} must hold at most {_MAX_VARIABLES:,} variables, got {count:,}; get the file again")
    variables: dict[str, Variable] = {}
    for _ in range(count):
        name = reader.text(reader.number("H"))
        variables[name] = _variable(reader, name, version)
    if version > 2:
        aliases = reader.number("I")
        if aliases > _MAX_VARIABLES:
            raise BundleError(
                f"{path} must hold at most {_MAX_VARIABLES:,} aliases, got {aliases:,}; get the file again"
            )
        for _ in range(aliases):
            alias, name = (reader.text(reader.number("H")) for _ in range(2))
            for ending in ("", "_scale"):
                if name + ending in variables:
                    variables[alias + ending] = variables[name + ending]
    reader.check_end()
    size = sum(4 * array.size for _, array in variables.values())  # in float32, aliases included
    if size > _MAX_GROWTH * path.stat().st_size + _SMALL:
        raise BundleError(
            f"{path} must have at most {_MAX_GROWTH} times its size as weights, got {size:,} bytes; get the file again"
        )
    return CTranslate2File(specification, revision, variables)


def _variable(reader: BinaryReader, name: str, version: int) -> Variable:
    shape = reader.numbers("I", reader.number("B"))
    kind, count = reader.number("B"), reader.number("I")
    if version < 4:
        size = kind * count
        kind = _OLD_TYPES.get(kind, len(_TYPES))
    else:
        size = count
    if kind >= len(_TYPES):
        raise BundleError(f"{ascii(name)[:80]} in {reader.path} must have a known number format; get the file again")
    item = np.dtype(_TYPES[kind]).itemsize
    check_shape(reader.path, name, shape, item, size)
    return kind, np.frombuffer(reader.bytes(size), _TYPES[kind]).reshape(shape)


def _floats(kind: int, array: NDArray[Any], scale: Variable | None) -> NDArray[Any]:
    """Numbers in float32: w = q / scale, with one scale per row or one for all."""
    if kind == _BFLOAT16:
        return (array.astype("<u4") << 16).view("<f4")
    if kind not in (_INT8, _INT16):
        return array
    if scale is None and kind == _INT8:
        raise BundleError("int8 weights must come with their scales; convert the model again")
    stored = np.array(_INT16_SCALE) if scale is None else _floats(scale[0], scale[1], None)
    scales: NDArray[np.float32] = np.asarray(stored, np.float32)
    if scales.ndim and (array.ndim != 2 or scales.shape != (array.shape[0],)):
        raise BundleError("int8 weights must have one scale per row; convert the model again")
    if not np.all(np.isfinite(scales)) or not np.all(scales != 0) or math.prod(array.shape) == 0:
        raise BundleError("scales of int8 weights must be finite and not 0; convert the model again")
    return array.astype(np.float32) / (scales[:, np.newaxis] if scales.ndim else scales)
