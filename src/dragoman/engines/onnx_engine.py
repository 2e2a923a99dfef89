"""The engine of recurrent models without torch: ONNX Runtime, a step at a time."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dragoman.bundle import Bundle
from dragoman.engines.exports import Precision, export_of
from dragoman.engines.onnx_export import FORMAT, PACKAGES, READER, WRITER, export_onnx
from dragoman.engines.onnx_session import Session
from dragoman.engines.stepping import SteppingEngine
from dragoman.search.protocol import Floats, Numbers, Prediction
from dragoman.text import EOS_ID, PAD_ID

__all__ = ["OnnxEngine"]


class OnnxEngine(SteppingEngine):
    """A recurrent model as two graphs: one reads sources, the other writes one word of every row.

    `files` are the graphs by the names that exports give them.
    """

    name = "onnx"

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        precision: Precision = "float32",
        threads: int | None = None,
        note: str = "",
        has_new_export: bool = False,
    ) -> None:
        self.precision = precision
        self.note = note
        self.has_new_export = has_new_export
        self.reader = Session(files[READER], threads)
        self.writer = Session(files[WRITER], threads)
        self.counts_steps = "position" in self.writer.inputs
        self.shows = "weights" in self.writer.outputs
        self.states = [name for name in self.writer.inputs if name.startswith("state.")]
        self.nexts = [name.replace("state.", "next.") for name in self.states]

    @classmethod
    def open(cls, bundle: Bundle, *, precision: Precision = "float32", threads: int | None = None) -> Self:
        """The model of a bundle, from the export beside it, which is made if there is no good one (`note` says so)."""
        make = functools.partial(export_onnx, bundle, precision=precision)
        export = export_of(bundle, "onnx", precision, make, format_number=FORMAT, packages=PACKAGES)
        return cls(export.files, precision=precision, threads=threads, note=export.note, has_new_export=export.is_new)

    def start(self, sources: Sequence[Sequence[int]], show: bool) -> OnnxWriting:
        lengths = np.asarray([len(source) + 1 for source in sources], np.int64)
        padded = np.full((len(sources), lengths.max()), PAD_ID, np.int64)  # [batch, src]
        for row, source in zip(padded, sources, strict=True):
            row[: len(source)] = source
            row[len(source)] = EOS_ID
        names = list(self.reader.outputs)
        found = self.reader.run(names, {"source": padded, "lengths": lengths}, len(sources))
        read = dict(zip(names, found, strict=True))
        state = tuple(read[name] for name in self.states)
        memory = {name: array for name, array in read.items() if name.startswith("memory.")}
        return OnnxWriting(self, memory, state, show and self.shows)


@dataclass(frozen=True)
class OnnxWriting:
    """Rows in the making. The rows of a sentence stand side by side, `beam` of them, and share what is kept of it.

    Shapes: memory each [sentences, …]; state each [sentences * beam, hidden].
    """

    engine: OnnxEngine
    memory: dict[str, Floats]
    state: tuple[Floats, ...]
    show: bool
    beam: int = 1
    position: int = 0

    def step(self, tokens: Numbers) -> Prediction:
        engine = self.engine
        feeds: dict[str, Any] = dict(self.memory)
        for name, part in zip(engine.states, self.state, strict=True):
            feeds[name] = self._grouped(part)
        feeds["tokens"] = self._grouped(np.asarray(tokens, np.int64))
        if engine.counts_steps:
            feeds["position"] = np.asarray(self.position, np.int64)
        wanted = ["log_probs", *engine.nexts, *(["weights"] if self.show else [])]
        found = engine.writer.run(wanted, feeds, len(tokens))
        log_probs, *rest = [array.reshape(-1, array.shape[-1]) for array in found]
        state = tuple(rest[: len(engine.nexts)])
        after = replace(self, state=state, position=self.position + 1)
        return Prediction(log_probs, rest[-1] if self.show else None, after)

    def _grouped(self, rows: Any) -> Any:
        """Shapes: [rows, *] -> [sentences, beam, *]."""
        return rows.reshape(-1, self.beam, *rows.shape[1:])

    def reorder(self, rows: Numbers) -> Self:
        return replace(self, state=self._rows(rows))

    def select(self, rows: Numbers) -> Self:
        owners = np.asarray(rows) // self.beam
        starts = np.flatnonzero(np.diff(owners, prepend=-1))  # where another sentence begins
        beam, rest = divmod(len(owners), max(1, len(starts)))
        if rest or not np.array_equal(starts, np.arange(0, len(owners), max(1, beam))):
            starts, beam = np.arange(len(owners)), 1
        sentences = owners[starts]
        memory = {name: array.take(sentences, 0) for name, array in self.memory.items()}
        return replace(self, memory=memory, state=self._rows(rows), beam=max(1, beam))

    def _rows(self, rows: Numbers) -> tuple[Floats, ...]:
        return tuple(part.take(rows, 0) for part in self.state)
