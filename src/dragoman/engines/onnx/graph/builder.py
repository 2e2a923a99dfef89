"""Builder of an ONNX graph from names of values. Large constants are mapped from a file that several graphs share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle.weights import read_integer_places
from dragoman.environment import import_package
from dragoman.errors import CombinationError

Array = NDArray[Any]
Size = str | int
"""One dimension of a shape: a number, or the name of a dynamic dimension."""
Value = str
"""A tensor of the graph."""
TensorMessage = Any
"""A constant as an ONNX message."""

LARGEST = (1 << 31) - (1 << 20)
"""Maximum bytes of weights in a graph: an ONNX file is limited to 2 GiB."""
OPSET = 21
IR = 10

_MICROSOFT = "com.microsoft"
FLOAT, INT8, INT32, INT64 = 1, 3, 6, 7
"""ONNX type numbers."""
_LEVELS = 127
"""Quantisation levels on each side of zero."""
_WEIGHT_LEVELS = 63
"""Levels of weights. Processors without VNNI add two products of bytes in 16 bits, which overflows with 127."""


def import_onnx(module: str = "onnx") -> Any:
    """Import onnx, or one of its modules; only exporting needs it."""
    return import_package(module, "export", "exporting to ONNX")


class Graph:
    """Operations in execution order. With `precision` int8, `linear` multiplies 8-bit integers.

    Quantisation with the range of a batch would make results depend on other sentences. Therefore the range of the
    inputs of a product is fixed, or computed per row.
    """

    def __init__(self, name: str, precision: str, *, prefix: str = "", shared: SharedWeights | None = None) -> None:
        self.name = name
        self._shared = shared
        self._prefix = prefix
        self.is_int8 = precision == "int8"
        self._onnx = import_onnx("onnx.helper")
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._constants: list[Any] = []
        self._size = 0
        self._bytes: dict[Value, tuple[Value, Value | None]] = {}

    def input(self, name: str, kind: int, shape: Sequence[Size]) -> Value:
        """Add an input of one of the types above."""
        self._inputs.append(self._onnx.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: Value, kind: int, shape: Sequence[Size]) -> None:
        """Add an output."""
        self._nodes.append(self._onnx.make_node("Identity", [value], [name]))
        self._outputs.append(self._onnx.make_tensor_value_info(name, kind, shape))

    def constant(self, array: Array, **layout: bool) -> Value:
        """Add a constant tensor; `layout` is that of `SharedWeights.place`."""
        self._size += array.nbytes
        if self._size > LARGEST:
            raise CombinationError(
                f"the weights have more than {LARGEST:,} bytes, the limit of a file of ONNX; use the engine torch"
            )
        name = f"{self._prefix}constant.{len(self._constants)}"
        placed = None if self._shared is None else self._shared.place(array, name, **layout)
        if placed is None:
            placed = import_onnx("onnx.numpy_helper").from_array(np.asarray(array, order="C"), name)
        if placed.name not in {each.name for each in self._constants}:  # of equal matrices there is one
            self._constants.append(placed)
        return str(placed.name)

    def transposed(self, array: Array) -> Value:
        """Add the transpose of a matrix; of one that other graphs hold too, ONNX Runtime makes it at the start."""
        if self._shared is not None and self._shared.is_stored(array):
            return self.constant(array, is_transposed=True)
        if self._shared is not None and self._shared.holds(array):
            return self.op("Transpose", self.constant(array), perm=[1, 0])
        return self.constant(array.T)

    def number(self, value: float) -> Value:
        """A float32 scalar."""
        return self.constant(np.asarray(value, np.float32))

    def numbers(self, *values: int) -> Value:
        """A list of integers, for shapes and axes."""
        return self.constant(np.asarray(values, np.int64))

    def op(self, kind: str, *inputs: Value, domain: str = "", **attributes: Any) -> Value:
        """An operation with one result. An input named "" is omitted."""
        return self.several(kind, *inputs, results=1, domain=domain, **attributes)[0]

    def several(self, kind: str, *inputs: Value, results: int, domain: str = "", **attributes: Any) -> list[Value]:
        """An operation with several results."""
        names = [f"{self._prefix}{kind}.{len(self._nodes)}.{number}" for number in range(results)]
        self._nodes.append(self._onnx.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def branch(self, name: str) -> Graph:
        """A graph for `when`, which can use the values of this one; add one output to it."""
        return Graph(name, "int8" if self.is_int8 else "float32", prefix=f"{name}.")

    def when(self, condition: Value, then: Graph, otherwise: Graph) -> Value:
        """The output of one of two branches; only that branch is computed."""
        return self.op("If", condition, then_branch=then.proto(), else_branch=otherwise.proto())

    def split(self, x: Value, *sizes: int) -> list[Value]:
        """Parts along the last dimension."""
        if len(sizes) == 1:
            return [x]
        return self.several("Split", x, self.numbers(*sizes), results=len(sizes), axis=-1)

    def reshape(self, x: Value, *shape: int) -> Value:
        """Reshape; 0 keeps a dimension, -1 is inferred."""
        return self.op("Reshape", x, self.numbers(*shape))

    def linear(self, x: Value, W: Array, b: Array | None = None, *, bounded: bool = True) -> Value:
        """x W^T + b. `bounded`: all values of x are in [-1, 1]. Shapes: W [out, in], b [out]; x [*, in]."""
        if self.is_int8:
            return self._linear_int8(x, W, b, bounded=bounded)
        product = self.op("MatMul", x, self.constant(W.T))
        return product if b is None else self.op("Add", product, self.constant(b))

    def _linear_int8(self, x: Value, W: Array, b: Array | None, *, bounded: bool) -> Value:
        """Weights have one scale per row of W; x is in [-1, 1], if necessary after division by its row maximum."""
        return self._integer_product(x, *quantised_rows(W), b, bounded=bounded)

    def linear_stored(
        self,
        x: Value,
        integers: Array,
        steps: Array,
        b: Array | None,
        *,
        multiplier: float | None = None,
        is_positive: bool = False,
    ) -> Value:
        """x W^T + b for stored integers, W = integers × steps. `multiplier` of x; None takes the range of each row.

        `is_positive`: max(0, x) instead of x, as unsigned integers. Shapes: integers [out, in], steps, b [out].
        """
        if multiplier is None:
            assert not is_positive
            return self._integer_product(x, integers, steps, b, bounded=False)
        step = self.number(1 / multiplier)
        zero = self.constant(np.asarray(0, np.uint8)) if is_positive else self._middle()
        key = f"{x} × {multiplier}, {is_positive}"
        if key not in self._bytes:
            self._bytes[key] = self.op("QuantizeLinear", x, step, zero), None
        inputs = [self._bytes[key][0], self.transposed(integers), step, self.constant(steps.astype(np.float32)), zero]
        bias = [] if b is None else ["", self.constant(b)]
        return self.op("MatMulIntegerToFloat", *inputs, *bias, domain=_MICROSOFT)

    def _integer_product(self, x: Value, integers: Array, steps: Array, b: Array | None, *, bounded: bool) -> Value:
        if x not in self._bytes:
            self._bytes[x] = self._quantised(x, bounded=bounded)
        quantised, scale = self._bytes[x]
        inputs = [
            quantised,
            self.transposed(integers),
            self.number(1 / _LEVELS),
            self.constant(steps.astype(np.float32)),
            self._middle(),
            "",
        ]
        if scale is None:
            bias = [] if b is None else [self.constant(b)]
            return self.op("MatMulIntegerToFloat", *inputs, *bias, domain=_MICROSOFT)
        product = self.op("Mul", self.op("MatMulIntegerToFloat", *inputs, domain=_MICROSOFT), scale)
        return product if b is None else self.op("Add", product, self.constant(b))

    def product_of_inputs(self, x: Value, integers: Value, *, multiplier: float | None = None) -> Value:
        """x B for integers B that are an input of the graph. Shapes: B [batch, in, out]; x [batch, n, in]."""
        scale = None
        if multiplier is None:
            quantised, scale = self._quantised(x, bounded=False)
        else:
            quantised = self.op("QuantizeLinear", x, self.number(1 / multiplier), self._middle())
        inputs = [quantised, integers, self.number(1 / (multiplier or _LEVELS)), self.number(1.0), self._middle()]
        product = self.op("MatMulIntegerToFloat", *inputs, domain=_MICROSOFT)
        return product if scale is None else self.op("Mul", product, scale)

    def _quantised(self, x: Value, *, bounded: bool) -> tuple[Value, Value | None]:
        """x as 8-bit integers, and the scale of the product. Shapes: [*, dim] -> [*, dim], [*, 1]."""
        scale = None
        if not bounded:
            largest = self.op("ReduceMax", self.op("Abs", x), self.numbers(-1), keepdims=1)
            scale = self.op("Max", largest, self.number(float(np.finfo(np.float32).tiny)))
            x = self.op("Div", x, scale)
        return self.op("QuantizeLinear", x, self.number(1 / _LEVELS), self._middle()), scale

    def _middle(self) -> Value:
        return self.constant(np.asarray(_LEVELS + 1, np.uint8))

    def proto(self) -> Any:
        """The graph as an ONNX message."""
        return self._onnx.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._constants)

    def save(self, path: Path) -> None:
        """Write the graph to a file."""
        graph = self.proto()
        opsets = [self._onnx.make_opsetid("", OPSET), self._onnx.make_opsetid(_MICROSOFT, 1)]
        import_onnx().save_model(self._onnx.make_model(graph, opset_imports=opsets, ir_version=IR), path)


def quantised_rows(W: Array) -> tuple[Array, Array]:
    """Integers and one step per row, W ≈ integers × steps. Shapes: [out, in] -> [out, in], [out]."""
    steps = np.maximum(np.abs(W).max(1), np.finfo(np.float32).tiny) / _WEIGHT_LEVELS
    return np.rint(W / steps[:, None]).astype(np.int8), steps.astype(np.float32)


_ALIGNMENT = 4096  # a page of memory
_LEAST_BYTES = 4096  # smaller arrays, if they are no tables, are in the graphs


class SharedWeights:
    """The large arrays of graphs. Paths in the graphs are relative, so that a folder with all of them can be moved."""

    def __init__(self, path: Path, stored: Path | None = None) -> None:
        """`stored` is the file of weights of the bundle; its int8 matrices are not written again, except for tables."""
        self._path = path
        self._stored: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        if stored is not None:
            content = np.memmap(stored, np.int8, "r")
            for offset, shape in read_integer_places(stored).values():
                self._stored[_key(content[offset : offset + math.prod(shape)].reshape(shape))] = offset
        self._offsets: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._arrays: list[tuple[int, Array]] = []
        self._end = 0

    def holds(self, array: Array) -> bool:
        """Whether an array was placed in the file."""
        return _key(array) in self._offsets

    def is_stored(self, array: Array) -> bool:
        """Whether an array is in the file of the bundle only."""
        return _key(array) in self._stored.keys() - self._offsets.keys()

    def place(
        self, array: Array, name: str, *, is_table: bool = False, is_transposed: bool = False
    ) -> TensorMessage | None:
        """The ONNX tensor of an array that is placed in the file; None for a small one.

        Of a table only some rows are read. `is_transposed` is the transpose of a matrix in the file of the bundle.
        The name of a table, or of a matrix in the file of the bundle, is that by which `MappedWeights` finds it.
        """
        if array.nbytes < _LEAST_BYTES and not (is_table or is_transposed):
            return None
        key, shape = _key(array), array.shape[::-1] if is_transposed else array.shape
        offset = self._stored[key] if is_transposed else self._place(key, array)
        if is_table or is_transposed:
            kind = "stored" if is_transposed else "table"
            name = ".".join((kind, array.dtype.name, *map(str, (offset, *shape)), ""))
        onnx = import_onnx()
        tensor = onnx.TensorProto(name=name, dims=shape, data_location=onnx.TensorProto.EXTERNAL)
        tensor.data_type = import_onnx("onnx.helper").np_dtype_to_tensor_dtype(array.dtype)
        facts = {"location": self._path.name, "offset": offset, "length": array.nbytes}
        for fact, value in facts.items():
            tensor.external_data.add(key=fact, value=str(value))
        return tensor

    def _place(self, key: tuple[str, tuple[int, ...], bytes], array: Array) -> int:
        if key not in self._offsets:
            self._offsets[key] = self._end
            self._arrays.append((self._end, array))
            self._end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        return self._offsets[key]

    def save(self) -> None:
        """Write the file."""
        with self._path.open("wb") as file:
            for offset, array in self._arrays:
                file.seek(offset)
                file.write(np.ascontiguousarray(array).data)
            file.truncate(self._end)


def _key(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, hashlib.sha256(np.ascontiguousarray(array).data).digest()
