"""Read a safetensors file whose arrays are floating-point numbers of any precision."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import WeightTable
from dragoman.importing.source_files import reason

_MAX_HEADER = 2 << 20  # 100 bytes per array; parsing takes 25 times its size
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_OTHERS = ("I64", "I32", "I16", "I8", "U8", "BOOL")  # counters and masks of checkpoints, never weights


def read_safetensors(path: Path) -> WeightTable:
    """Open a file; arrays are read when they are taken. Offsets and sizes are checked first."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if not 0 < header_bytes <= min(_MAX_HEADER, path.stat().st_size):
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
    arrays = {name: functools.partial(_array, path, start, entry) for name, entry in floats.items()}
    return WeightTable(arrays, {name: tuple(entry["shape"]) for name, entry in floats.items()})


def _array(path: Path, start: int, entry: dict[str, Any]) -> NDArray[Any]:
    offset, end = entry["data_offsets"]
    with path.open("rb") as file:
        file.seek(start + offset)
        data = np.frombuffer(file.read(end - offset), _TYPES[entry["dtype"]])
    if entry["dtype"] == "BF16":  # the upper half of a float32
        data = (data.astype("<u4") << 16).view("<f4")
    return data.reshape(entry["shape"])
