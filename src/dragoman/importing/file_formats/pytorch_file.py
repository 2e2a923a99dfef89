"""Read a PyTorch checkpoint (pytorch_model.bin) that holds a dict of tensors, without torch and without unpickling.

Since torch 1.6 it is a zip archive: ``data.pkl`` and one record of numbers per storage. Before, it is a sequence of
pickles (a magic number, the version, the system, the state, the keys of the storages), then the numbers of each storage
after their count.
"""

import functools
import io
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.state_pickle import Storage, Tensor, read_state
from dragoman.importing.file_formats.weight_table import WeightTable
from dragoman.importing.source_files import check_zip_directory, reason

_MAX_PICKLE = 4 << 20
_MAX_DIRECTORY = 1 << 20
_MAX_GROWTH = 16
_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001
_TYPES = {"FloatStorage": "<f4", "HalfStorage": "<f2", "DoubleStorage": "<f8", "BFloat16Storage": "<u2"}
_OTHERS = {"LongStorage": 8, "IntStorage": 4, "ShortStorage": 2, "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1}
"""Bytes per number of counters and masks, which are never weights."""

Read = Callable[[Storage], bytes]


def read_pytorch(path: Path) -> WeightTable:
    """Open a checkpoint; arrays are read when they are taken."""
    try:
        with path.open("rb") as file:
            is_archive = file.read(4) == b"PK\x03\x04"
        state, read = _read_archive(path) if is_archive else _read_sequence(path)
        tensors = _tensors(state)
        _check_size(tensors, path.stat().st_size)
        arrays = {name: functools.partial(_array, tensor, read) for name, tensor in tensors.items()}
    except (ValueError, KeyError, OSError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile) as error:
        raise BundleError(
            f"{path} must be a PyTorch checkpoint that holds weights only, got: {reason(error)}; use model.safetensors "
            "of the same model"
        ) from None
    return WeightTable(arrays, {name: tensor.shape for name, tensor in tensors.items()})


def _tensors(state: Any) -> dict[str, Tensor]:
    """The tensors of floating-point numbers by name."""
    if not isinstance(state, dict):
        raise ValueError("no dict of tensors")
    found = {name: value for name, value in state.items() if isinstance(name, str) and isinstance(value, Tensor)}
    if not found:
        raise ValueError("no tensors")
    for tensor in found.values():
        if tensor.storage.kind not in (*_TYPES, *_OTHERS):
            raise ValueError(f"a tensor of {ascii(tensor.storage.kind)[1:-1][:40]}")
    return {name: tensor for name, tensor in found.items() if tensor.storage.kind in _TYPES}


def _check_size(tensors: dict[str, Tensor], size: int) -> None:
    """Require that all tensors as float32 are not much larger than the file: tensors may share numbers."""
    if any(number < 0 for tensor in tensors.values() for number in tensor.shape):
        raise ValueError("a tensor of a negative size")
    needed = sum(4 * math.prod(tensor.shape) for tensor in tensors.values())
    if needed > _MAX_GROWTH * size + (1 << 20):
        raise ValueError(f"tensors of {needed:,} bytes in a file of {size:,}")


def _array(tensor: Tensor, read: Read) -> NDArray[Any]:
    count = math.prod(tensor.shape)
    last = tensor.offset + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True))
    is_legal = all(number >= 0 for number in (tensor.offset, *tensor.shape, *tensor.strides))
    if not is_legal or not 0 < count <= tensor.storage.count or last >= tensor.storage.count:
        raise ValueError(f"a tensor that exceeds its storage of {tensor.storage.count:,} numbers")
    numbers = np.frombuffer(read(tensor.storage), _TYPES[tensor.storage.kind])
    if len(numbers) != tensor.storage.count:
        raise ValueError(f"a storage of {len(numbers):,} numbers in place of {tensor.storage.count:,}")
    steps = [stride * numbers.itemsize for stride in tensor.strides]
    view = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, steps, writeable=False)
    return (view.astype("<u4") << 16).view("<f4") if tensor.storage.kind == "BFloat16Storage" else view.copy()


# -------------------------------------------------------------------------------------------------------------- layouts


def _read_archive(path: Path) -> tuple[Any, Read]:
    check_zip_directory(path, _MAX_DIRECTORY)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        pickles = [entry for entry in entries if entry.filename.endswith("/data.pkl")]
        if len(pickles) != 1 or pickles[0].file_size > _MAX_PICKLE:
            raise ValueError(f"no data.pkl of at most {_MAX_PICKLE:,} bytes")
        is_stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        if not is_stored or sum(entry.file_size for entry in entries) > path.stat().st_size:
            raise ValueError("compressed records")
        prefix = pickles[0].filename.removesuffix("data.pkl")
        order = f"{prefix}byteorder"
        if order in archive.namelist() and archive.read(order) != b"little":
            raise ValueError("numbers that are not little-endian")
        state = read_state(archive.read(pickles[0]))
    return state, functools.partial(_record, path, f"{prefix}data/")


def _record(path: Path, prefix: str, storage: Storage) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(prefix + storage.key)


def _read_sequence(path: Path) -> tuple[Any, Read]:
    """The layout before torch 1.6."""
    with path.open("rb") as file:
        head = io.BytesIO(file.read(2 * _MAX_PICKLE))
    if read_state(head) != _MAGIC or read_state(head) != _VERSION:
        raise ValueError("another file")
    read_state(head)  # sizes of types of the system
    state, keys = read_state(head), read_state(head)
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise ValueError("no keys of storages")
    tensors = [value for value in state.values() if isinstance(value, Tensor)] if isinstance(state, dict) else []
    sizes = {tensor.storage.key: tensor.storage for tensor in tensors}
    if any(tensor.storage != sizes[tensor.storage.key] for tensor in tensors):
        raise ValueError("two storages with one key")
    place, places = head.tell(), {}
    for key in keys:
        storage = sizes[key]
        width = np.dtype(_TYPES[storage.kind]).itemsize if storage.kind in _TYPES else _OTHERS[storage.kind]
        places[key] = place + 8
        place += 8 + width * max(0, storage.count)
    if place != path.stat().st_size:
        raise ValueError(f"storages up to position {place:,}")
    return state, functools.partial(_part, path, places)


def _part(path: Path, places: dict[str, int], storage: Storage) -> bytes:
    with path.open("rb") as file:
        file.seek(places[storage.key] - 8)
        if int.from_bytes(file.read(8), "little") != storage.count:
            raise ValueError(f"a storage that has not {storage.count:,} numbers")
        return file.read(np.dtype(_TYPES[storage.kind]).itemsize * storage.count)
