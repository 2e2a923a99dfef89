"""Read binary files of Marian and Bergamot (Firefox Translations): weights, and lexical shortlists (lex.*.bin).

Weights are float32 arrays, and int8 arrays with a multiplier. Layout: version and count; per array the lengths of name,
shape and data, and the number type; all names; all shapes; padding; all data. An int8 array is followed by the factor
that it was multiplied by. Matrices of int8 are transposed, except embeddings.

Shortlist: magic number, checksum, number of frequent target tokens, number of tokens per list, length of the offsets,
length of the lists; offsets (uint64), one per source token and the end; lists of target tokens (uint32).
"""

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.binary_reader import BinaryReader, check_shape
from dragoman.importing.file_formats.weight_table import WeightTable

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
