"""Read binary files of Marian and Bergamot (weights; shortlists, lex.*.bin) and of CTranslate2 (versions 2 to 6).

Marian: float32 arrays, and int8 arrays with a multiplier. Layout: version and count; per array the lengths of name,
shape and data, and the number type; all names; all shapes; padding; all data. An int8 array is followed by the factor
that it was multiplied by. Matrices of int8 are transposed, except embeddings.

Shortlist: magic number, checksum, number of frequent target tokens, number of tokens per list, length of the offsets,
length of the lists; offsets (uint64), one per source token and the end; lists of target tokens (uint32).
"""

import functools
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import WeightTable, check_shape


@dataclass
class BinaryReader:
    """The content of a file, and the position in it."""

    path: Path
    data: bytes
    place: int = 0

    def number(self, form: str) -> int:
        """Read one number; `form` is a code of `struct`, in little-endian order."""
        return self.numbers(form, 1)[0]

    def numbers(self, form: str, count: int) -> tuple[int, ...]:
        pattern = f"<{count}{form}"
        return struct.unpack(pattern, self.bytes(struct.calcsize(pattern)))

    def bytes(self, count: int) -> bytes:
        if not 0 <= count <= len(self.data) - self.place:
            raise BundleError(
                f"{self.path} ends at byte {len(self.data):,}, but must hold {count:,} bytes at {self.place:,}; "
                "get the file again"
            )
        self.place += count
        return self.data[self.place - count : self.place]

    def text(self, count: int) -> str:
        """Read a string that ends with a zero byte."""
        try:
            return self.bytes(count).rstrip(b"\0").decode("utf-8")
        except UnicodeDecodeError:
            raise BundleError(f"{self.path} must hold names in UTF-8; get the file again") from None

    def check_end(self) -> None:
        """Require that everything was read."""
        if self.place != len(self.data):
            raise BundleError(
                f"{self.path} must end at position {self.place:,}, got {len(self.data):,} bytes; get the file again"
            )


_VERSIONS = range(2, 7)
_TYPES = ("<f4", "<i1", "<i2", "<i4", "<f2", "<u2")
_INT8_ID, _INT16, _BFLOAT16 = 1, 2, 5
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
        self.flags = {name for name, (kind, array) in variables.items() if array.ndim == 0 and kind == _INT8_ID}
        arrays = {name: value for name, value in variables.items() if value[1].ndim}
        scales = {f"{name}_scale" for name, (kind, _) in arrays.items() if kind in (_INT8_ID, _INT16)}
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
    if kind not in (_INT8_ID, _INT16):
        return array
    if scale is None and kind == _INT8_ID:
        raise BundleError("int8 weights must come with their scales; convert the model again")
    stored = np.array(_INT16_SCALE) if scale is None else _floats(scale[0], scale[1], None)
    scales: NDArray[np.float32] = np.asarray(stored, np.float32)
    if scales.ndim and (array.ndim != 2 or scales.shape != (array.shape[0],)):
        raise BundleError("int8 weights must have one scale per row; convert the model again")
    if not np.all(np.isfinite(scales)) or not np.all(scales != 0) or math.prod(array.shape) == 0:
        raise BundleError("scales of int8 weights must be finite and not 0; convert the model again")
    return array.astype(np.float32) / (scales[:, np.newaxis] if scales.ndim else scales)


_VERSION = 1
_FLOAT32, _INT8, _INTGEMM8 = 0x404, 0x101, 0x4101
_INTEGERS = (_INT8, _INTGEMM8)
_CONFIG = "special:model.yml"
_INPUT = "_QuantMultA"
"""Ending of the name of an array that holds the multiplier of the input of a product."""
_MAX_ARRAYS = 100_000
_MAX_NAME = 1000
_SHORTLIST_MAGIC = 0xF11A48D5013417F5
_NO_SHORTLIST = "get the file again; a folder without it is imported without a shortlist"


def read_bergamot(path: Path, data: bytes) -> tuple[WeightTable, bytes]:
    """Return the weights and the configuration (YAML). `path` is for messages."""
    reader = BinaryReader(path, data)
    version, count = reader.numbers("Q", 2)
    if version != _VERSION:
        raise BundleError(f"{path} must be of version {_VERSION}, got {version}; get the file again")
    if count > _MAX_ARRAYS:
        raise BundleError(f"{path} must hold at most {_MAX_ARRAYS:,} arrays, got {count:,}; get the file again")
    headers = [reader.numbers("Q", 4) for _ in range(count)]  # length of the name, type, dimensions, bytes
    if any(header[0] > _MAX_NAME or header[2] > 8 for header in headers):
        raise BundleError(f"{path} must hold short names and at most 8 dimensions; get the file again")
    names = [reader.text(header[0]) for header in headers]
    shapes = [reader.numbers("i", header[2]) for header in headers]
    reader.bytes(reader.number("Q"))
    config = b""
    arrays: dict[str, Any] = {}
    multipliers: dict[str, float] = {}
    input_multipliers: dict[str, float] = {}
    for name, (_, kind, _, size), shape in zip(names, headers, shapes, strict=True):
        content = reader.bytes(size)
        if name == _CONFIG:
            config = content.rstrip(b"\0")
        elif name.endswith(_INPUT):
            if kind == _FLOAT32 and (factor := _factor(content, 0)):  # other types hold no number
                input_multipliers[name.removesuffix(_INPUT)] = factor
        else:
            arrays[name] = functools.partial(_array, path, name, kind, shape, content)
            if kind in _INTEGERS and (factor := _factor(content, math.prod(shape))):
                multipliers[name] = factor
    reader.check_end()
    if not config:
        raise BundleError(f"{path} has no {_CONFIG}; the model is too old")
    by_name = dict(zip(names, shapes, strict=True))
    shapes_of_arrays = {name: by_name[name] for name in arrays}
    return WeightTable(arrays, shapes_of_arrays, multipliers=multipliers, input_multipliers=input_multipliers), config


def _factor(content: bytes, place: int) -> float:
    """A multiplier at a position; 0 if it is not there, or not a positive number."""
    if not 0 <= place <= len(content) - 4:
        return 0.0
    factor = float(np.frombuffer(content, "<f4", 1, offset=place)[0])
    return factor if np.isfinite(factor) and factor > 0 else 0.0


def _array(path: Path, name: str, kind: int, shape: tuple[int, ...], content: bytes) -> NDArray[Any]:
    if kind == _FLOAT32:
        size = 4 * int(np.prod(shape, dtype=np.int64))
        check_shape(path, name, shape, 4, size if 0 <= size <= len(content) else -1)  # data is padded
        return np.frombuffer(content[:size], "<f4").reshape(shape)
    if kind not in _INTEGERS or len(shape) != 2:
        raise BundleError(f"{ascii(name)[:80]} in {path} must be float32 or an int8 matrix, got the type {kind:#x}")
    rows, columns = shape
    count = rows * columns
    check_shape(path, name, shape, 1, count if count + 4 <= len(content) else -1)
    factor = float(np.frombuffer(content, "<f4", 1, offset=count)[0])
    if not np.isfinite(factor) or factor == 0:
        raise BundleError(f"{ascii(name)[:80]} in {path} must have a finite multiplier, got {factor:g}; get it again")
    numbers = np.frombuffer(content, "<i1", count)
    matrix = numbers.reshape(rows, columns) if name.endswith("Wemb") else numbers.reshape(columns, rows).T
    return matrix.astype(np.float32) / np.float32(factor)


def read_lexical_shortlist(
    path: Path, data: bytes, source_vocab: int, target_vocab: int
) -> tuple[int, list[NDArray[np.int64]]]:
    """Return the number of frequent tokens, and the target tokens of each source token. `path` is for messages."""
    reader = BinaryReader(path, data)
    magic, _, frequent, _, offset_count, token_count = reader.numbers("Q", 6)
    if magic != _SHORTLIST_MAGIC:
        raise BundleError(f"{path} is no binary shortlist of Marian; {_NO_SHORTLIST}")
    if offset_count != source_vocab + 1:
        raise BundleError(
            f"{path} must have a list for each of {source_vocab:,} source tokens, got {offset_count - 1:,}; "
            f"{_NO_SHORTLIST}"
        )
    offsets = np.frombuffer(reader.bytes(8 * offset_count), "<u8")
    tokens = np.frombuffer(reader.bytes(4 * token_count), "<u4").astype(np.int64)
    reader.check_end()
    if offsets[0] != 0 or offsets[-1] != token_count or (offsets[1:] < offsets[:-1]).any():
        raise BundleError(f"{path} must have lists in order; {_NO_SHORTLIST}")
    if tokens.max(initial=0) >= target_vocab:
        raise BundleError(f"{path} must hold tokens below {target_vocab:,}, got {tokens.max():,}; {_NO_SHORTLIST}")
    return min(frequent, target_vocab), np.split(tokens, offsets[1:-1].astype(np.int64))
