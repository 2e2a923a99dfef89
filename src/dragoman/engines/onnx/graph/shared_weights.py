"""A file of weights for several ONNX graphs, which ONNX Runtime maps into memory; equal arrays are stored once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from dragoman.engines.onnx.graph.builder import Array, TensorMessage, import_onnx

_ALIGNMENT = 4096  # a page of memory
_LEAST_BYTES = 4096  # smaller arrays are in the graphs


class SharedWeights:
    """The large arrays of graphs. Paths in the graphs are relative, so that a folder with all of them can be moved."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._arrays: list[tuple[int, Array]] = []
        self._end = 0

    def holds(self, array: Array) -> bool:
        """Whether an array was placed in the file."""
        return _key(array) in self._offsets

    def place(self, array: Array, name: str, *, is_table: bool = False) -> TensorMessage | None:
        """The ONNX tensor of an array that is placed in the file; None for a small one.

        The name of a table is that by which `MappedWeights` finds it.
        """
        if array.nbytes < _LEAST_BYTES:
            return None
        key = _key(array)
        if key not in self._offsets:
            self._offsets[key] = self._end
            self._arrays.append((self._end, array))
            self._end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        if is_table:
            name = ".".join(("table", array.dtype.name, *map(str, (self._offsets[key], *array.shape)), ""))
        onnx = import_onnx()
        tensor = onnx.TensorProto(name=name, dims=array.shape, data_location=onnx.TensorProto.EXTERNAL)
        tensor.data_type = import_onnx("onnx.helper").np_dtype_to_tensor_dtype(array.dtype)
        facts = {"location": self._path.name, "offset": self._offsets[key], "length": array.nbytes}
        for fact, value in facts.items():
            tensor.external_data.add(key=fact, value=str(value))
        return tensor

    def save(self) -> None:
        """Write the file."""
        with self._path.open("wb") as file:
            for offset, array in self._arrays:
                file.seek(offset)
                file.write(np.ascontiguousarray(array).data)
            file.truncate(self._end)


def _key(array: Array) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, hashlib.sha256(np.ascontiguousarray(array).data).digest()
