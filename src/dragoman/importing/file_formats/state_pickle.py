"""Interpret the pickle of a PyTorch state dict without unpickling it: no object is constructed and nothing is called.

`pickletools.genops` yields the operations of a pickle. Those that torch writes for a dict of tensors are carried out
with tuples, dicts and descriptions of tensors; any other one is an error.
"""

import io
import pickletools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
