"""Run an ONNX graph in parallel over the sentences of a batch.

A single operation of a step is too small to parallelise: waking a thread takes longer than it saves. Therefore each
thread computes all operations for a part of the sentences. All inputs and outputs have the sentence as first dimension.

The search between two steps runs on one thread. Several batches at the same time therefore use the processor better
than one batch on all threads: the threads of an engine are divided among its batches.
"""

from __future__ import annotations

import functools
import itertools
import mmap
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.engines.protocol import Device, no_cuda_error
from dragoman.environment import import_package

Array = NDArray[Any]

_MIN_ROWS = 8  # per thread
TABLE = re.compile(rb"((table|stored)\.(int8|float32)\.(\d+)\.(\d+)\.(\d+)\.)")
"""Name of a table, or of a matrix that the bundle stores: its type, place in the file and shape."""
_PROVIDERS = {
    "cpu": ["CPUExecutionProvider"],
    "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"],  # the second for what the first does not support
}


def import_onnxruntime() -> Any:
    """Import onnxruntime, which runs graphs."""
    return import_package("onnxruntime", "export", "the ONNX engine")


@functools.cache
def has_vnni(cpu_info: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor is known to multiply bytes without intermediate overflow."""
    try:
        flags = cpu_info.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False
    return not {"avx512_vnni", "avx_vnni"}.isdisjoint(flags)


class BatchThreads:
    """The threads of an engine, divided equally among the batches that it translates at the same time."""

    def __init__(self, threads: int) -> None:
        self.count = threads
        self.pool = ThreadPoolExecutor(max(1, threads - 1))
        self._batches = 0
        self._lock = threading.Lock()

    @property
    def per_batch(self) -> int:
        """Number of threads for one of the running batches."""
        return max(1, self.count // max(1, self._batches))

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Count a batch as running."""
        with self._lock:
            self._batches += 1
        try:
            yield
        finally:
            with self._lock:
                self._batches -= 1


class MappedWeights:
    """The weights of several graphs, mapped into memory beyond the life of the file; `stored` is the bundle's file."""

    def __init__(self, file: Path, stored: mmap.mmap | None = None) -> None:
        self._name, self._stored = file.name, stored
        self._transposed: list[mmap.mmap] = []
        with file.open("rb") as opened:
            self._content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if file.stat().st_size else b""
        self._tables: dict[str, Any] = {}
        self._lock = threading.Lock()  # a second copy of a table would be freed while a graph uses it

    def provide(self, options: Any, graph: Path | bytes, *, has_tables: bool) -> None:
        """Give a session the tables of its graph in the memory of the processor, which it would map again."""
        content = graph.read_bytes() if isinstance(graph, Path) else graph
        for name, place, kind, *numbers in {match.groups() for match in TABLE.finditer(content) if has_tables}:
            table, (offset, rows, columns) = name.decode(), map(int, numbers)
            with self._lock:
                if table not in self._tables:
                    self._tables[table] = self._table(place, kind.decode(), offset, rows, columns)
            options.add_initializer(table, self._tables[table])
        if isinstance(graph, bytes) and self._content:  # which has no folder
            options.add_external_initializers_from_files_in_memory([self._name], [self._content], [len(self._content)])

    def _table(self, place: bytes, kind: str, offset: int, rows: int, columns: int) -> Any:
        if place == b"stored":
            array = self._transpose(offset, rows, columns)
        else:
            array = np.frombuffer(self._content, kind, rows * columns, offset).reshape(rows, columns)
        return import_onnxruntime().OrtValue.ortvalue_from_numpy(array)

    def _transpose(self, offset: int, rows: int, columns: int) -> Array:
        """Write the transpose of a matrix of the bundle into memory. Shapes: -> [rows, columns]."""
        assert self._stored is not None, "the bundle of the export is given"
        self._transposed.append(memory := mmap.mmap(-1, rows * columns))
        found = np.frombuffer(memory, np.int8).reshape(rows, columns)
        found[:] = np.frombuffer(self._stored, np.int8, len(memory), offset).reshape(columns, rows).T
        return found

    def free_stored(self) -> int:
        """Free the matrices of the bundle: open graphs have them in another layout. Return their bytes."""
        self._stored = None
        for memory in self._transposed if hasattr(mmap, "MADV_DONTNEED") else ():
            memory.madvise(mmap.MADV_DONTNEED)
        return sum(map(len, self._transposed))


class Session:
    """A graph on the threads of a batch. Safe to use from several threads at once.

    `full_range`: int8 weights up to 127. Processors without VNNI add two products of such weights in 16 bits, which
    overflows, unless ONNX Runtime uses slower kernels. `weights` are those that the graph refers to.
    """

    def __init__(
        self,
        graph: Path | bytes,
        threads: BatchThreads,
        *,
        full_range: bool = False,
        device: Device = "cpu",
        weights: MappedWeights | None = None,
    ) -> None:
        runtime = import_onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # it would keep a plan for every shape
        options.enable_cpu_mem_arena = False  # it would keep the largest size: twice the memory, 2 % less time
        options.log_severity_level = 3
        if full_range and not has_vnni():
            options.add_session_config_entry("session.x64quantprecision", "1")
        if weights is not None:
            weights.provide(options, graph, has_tables=device == "cpu")
        self._session = runtime.InferenceSession(
            graph if isinstance(graph, bytes) else str(graph),
            options,
            providers=_PROVIDERS[device],
            disabled_optimizers=["SkipLayerNormFusion"],  # its kernel takes four times as long as both parts
        )
        if self._session.get_providers()[0] != _PROVIDERS[device][0]:  # its libraries are missing: it only warns
            raise no_cuda_error("onnx")
        self.inputs = {value.name: value.shape for value in self._session.get_inputs()}
        self.outputs = {value.name: value.shape for value in self._session.get_outputs()}
        self._threads, self._weights = threads, weights  # the session has no copy of the tables

    def run(self, wanted: Sequence[str], feeds: Mapping[str, Array], rows: int) -> list[Array]:
        """Compute the outputs `wanted` for a number of rows. A scalar input is the same for all sentences."""
        sentences = max(len(array) for array in feeds.values() if array.ndim)
        parts = min(self._threads.per_batch, sentences, rows // _MIN_ROWS)
        if parts < 2:
            found: list[Array] = self._session.run(wanted, feeds)
            return found
        cuts = [sentences * number // parts for number in range(parts + 1)]
        slices = [slice(first, last) for first, last in itertools.pairwise(cuts)]
        shapes = self._shapes(feeds, wanted)
        if shapes is None:
            return self._run_and_join(slices, feeds, wanted)
        results = [np.empty(shape, np.float32) for shape in shapes]
        waiting = [self._threads.pool.submit(self._run_part, part, feeds, wanted, results) for part in slices[1:]]
        self._run_part(slices[0], feeds, wanted, results)
        for each in waiting:
            each.result()
        return results

    def _shapes(self, feeds: Mapping[str, Array], wanted: Sequence[str]) -> list[list[int]] | None:
        """The shapes of outputs; None if one has a dimension that no input has."""
        sizes = {
            size: found
            for name, array in feeds.items()
            for size, found in zip(self.inputs[name], array.shape, strict=True)
            if isinstance(size, str)
        }
        shapes = [[sizes.get(size, size) for size in self.outputs[name]] for name in wanted]
        return None if any(isinstance(size, str) for shape in shapes for size in shape) else shapes

    def _run_and_join(self, slices: Sequence[slice], feeds: Mapping[str, Array], wanted: Sequence[str]) -> list[Array]:
        """Run the parts of the sentences and concatenate the results."""

        def run(part: slice) -> list[Array]:
            found: list[Array] = self._session.run(
                wanted, {name: array[part] if array.ndim else array for name, array in feeds.items()}
            )
            return found

        waiting = [self._threads.pool.submit(run, part) for part in slices[1:]]
        parts = [run(slices[0]), *(each.result() for each in waiting)]
        return [np.concatenate(each) for each in zip(*parts, strict=True)]

    def _run_part(
        self, part: slice, feeds: Mapping[str, Array], wanted: Sequence[str], results: Sequence[Array]
    ) -> None:
        """Run a part of the sentences and write the results in place."""
        binding = self._session.io_binding()
        for name, array in feeds.items():
            binding.bind_cpu_input(name, array[part] if array.ndim else array)
        for name, whole in zip(wanted, results, strict=True):
            place = whole[part]
            binding.bind_output(name, "cpu", 0, np.float32, place.shape, place.ctypes.data)
        self._session.run_with_iobinding(binding)
