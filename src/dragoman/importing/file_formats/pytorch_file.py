"""Read a PyTorch checkpoint (pytorch_model.bin) that holds a dict of tensors, without torch and without unpickling.

Since torch 1.6 it is a zip archive: ``data.pkl`` and one record of numbers per storage. Before, it is a sequence of
pickles (a magic number, the version, the system, the state, the keys of the storages), then the numbers of each storage
after their count. Of the operations that `pickletools.genops` yields, those that torch writes for a dict of tensors are
carried out with tuples, dicts and descriptions of tensors; any other is an error, so no object is constructed.
"""

import functools
import io
import math
import pickletools
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import BundleError
from dragoman.importing.file_formats.weight_table import WeightTable
from dragoman.importing.source_files import check_zip_directory, reason

_MAX_OPERATIONS = 250_000  # about 40 per tensor
_MARK = object()
_REBUILD, _PARAMETER = "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"
_ORDERED = "collections OrderedDict"


@dataclass(frozen=True)
class Storage:
    """A sequence of numbers in the file: the class of torch, its key and its length."""

    kind: str
    key: str
    count: int


@dataclass(frozen=True)
class Tensor:
    """A view of a storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Global:
    name: str


def read_state(data: bytes | io.BytesIO) -> Any:
    """Return the value of one pickle of plain values and tensors, and leave the stream after it; else `ValueError`."""
    interpreter = _Interpreter()
    for number, (operation, argument, _) in enumerate(pickletools.genops(data)):
        if number > _MAX_OPERATIONS:
            raise ValueError(f"more than {_MAX_OPERATIONS:,} operations in the pickle")
        if operation.name not in _OPERATIONS:
            raise ValueError(f"the operation {operation.name} in the pickle")
        try:
            _OPERATIONS[operation.name](interpreter, argument)
        except (IndexError, KeyError, TypeError):
            raise ValueError(f"the operation {operation.name} without its values in the pickle") from None
    if len(interpreter.stack) != 1:
        raise ValueError("a pickle without one value")
    return interpreter.stack[0]


class _Interpreter:
    """The stack and the memo of the pickle format."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def put(self, place: Any) -> None:
        self.memo[len(self.memo) if place is None else place] = self.stack[-1]

    def get(self, place: Any) -> None:
        self.stack.append(self.memo[place])

    def take(self, count: int | None) -> list[Any]:
        """Remove the last values; None: those after the last mark."""
        if count is None:
            place = len(self.stack) - 1
            while self.stack[place] is not _MARK:
                place -= 1
                if place < 0:
                    raise IndexError
            values = self.stack[place + 1 :]
            del self.stack[place:]
            return values
        if count > len(self.stack):
            raise IndexError
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def make_tuple(self, count: int | None) -> None:
        self.stack.append(tuple(self.take(count)))

    def append(self, count: int | None) -> None:
        values = self.take(count)
        list.extend(self.stack[-1], values)

    def set_items(self, count: int | None) -> None:
        values = self.take(count)
        if not all(type(key) is str for key in values[::2]):  # the hash of nested tuples may take forever
            raise ValueError("a key that is no text in the pickle")
        dict.update(self.stack[-1], zip(values[::2], values[1::2], strict=True))

    def build(self, _: Any) -> None:
        """Skip the attributes of a dict, such as versions of modules."""
        self.take(1)
        if not isinstance(self.stack[-1], dict):
            raise ValueError("attributes of another object than a dict in the pickle")

    def find_global(self, name: str | None) -> None:
        name = name or " ".join(self.take(2))
        module, _, item = name.partition(" ")
        if name not in (_REBUILD, _PARAMETER, _ORDERED) and not (module == "torch" and item.endswith("Storage")):
            raise ValueError(f"the object {ascii(name)[1:-1][:60]} in the pickle; it is no tensor")
        self.stack.append(_Global(name))

    def find_storage(self, _: Any) -> None:
        kind, storage, key, _, count = self.take(1)[0][:5]
        if kind != "storage" or not isinstance(storage, _Global) or not isinstance(key, str) or type(count) is not int:
            raise ValueError("another reference than one to a storage in the pickle")
        self.stack.append(Storage(storage.name.partition(" ")[2], key, count))

    def reduce(self, _: Any) -> None:
        function, values = self.take(2)
        if not isinstance(function, _Global) or not isinstance(values, tuple):
            raise TypeError
        if function.name == _ORDERED and not values:
            self.stack.append({})
        elif function.name == _PARAMETER and isinstance(values[0], Tensor):
            self.stack.append(values[0])
        elif function.name == _REBUILD and isinstance(values[0], Storage):
            self.stack.append(_tensor(*values[:4]))
        else:
            raise ValueError(f"a call of {ascii(function.name)[1:-1][:60]} in the pickle")


def _tensor(storage: Storage, offset: Any, shape: Any, strides: Any) -> Tensor:
    is_legal = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
    if not is_legal or not all(type(number) is int for number in (offset, *shape, *strides)):
        raise ValueError("a tensor without a shape in the pickle")
    return Tensor(storage, offset, shape, strides)


def _push(value: Callable[[Any], Any]) -> Callable[[_Interpreter, Any], None]:
    return lambda interpreter, argument: interpreter.stack.append(value(argument))


def _with(method: Callable[[_Interpreter, Any], None], argument: Any) -> Callable[[_Interpreter, Any], None]:
    return lambda interpreter, _: method(interpreter, argument)


_PLAIN = ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE")
_OPERATIONS: dict[str, Callable[[_Interpreter, Any], None]] = {
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), lambda _interpreter, _argument: None),
    **dict.fromkeys(_PLAIN, _push(lambda argument: argument)),
    "NONE": _push(lambda _: None),
    "NEWTRUE": _push(lambda _: True),
    "NEWFALSE": _push(lambda _: False),
    "MARK": _push(lambda _: _MARK),
    "EMPTY_DICT": _push(lambda _: {}),
    "EMPTY_LIST": _push(lambda _: []),
    "EMPTY_TUPLE": _push(lambda _: ()),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT"), _Interpreter.put),
    "MEMOIZE": _with(_Interpreter.put, None),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Interpreter.get),
    "TUPLE": _with(_Interpreter.make_tuple, None),
    "TUPLE1": _with(_Interpreter.make_tuple, 1),
    "TUPLE2": _with(_Interpreter.make_tuple, 2),
    "TUPLE3": _with(_Interpreter.make_tuple, 3),
    "APPEND": _with(_Interpreter.append, 1),
    "APPENDS": _with(_Interpreter.append, None),
    "SETITEM": _with(_Interpreter.set_items, 2),
    "SETITEMS": _with(_Interpreter.set_items, None),
    "BUILD": _Interpreter.build,
    "GLOBAL": _Interpreter.find_global,
    "STACK_GLOBAL": _with(_Interpreter.find_global, None),
    "BINPERSID": _Interpreter.find_storage,
    "REDUCE": _Interpreter.reduce,
}
"""Operations of the pickle format that a state dict consists of."""


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
