"""ONNX Runtime inference engine for recurrent models. Imports no torch."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dragoman.bundle import Bundle
from dragoman.engines.export_cache import Precision, cached_export
from dragoman.engines.incremental import IncrementalEngine
from dragoman.engines.onnx.export import DECODER_STEP_FILE, ENCODER_FILE, FORMAT, PACKAGES, export_onnx
from dragoman.engines.onnx.session import Session
from dragoman.search.decoding_protocol import Floats, Numbers, StepOutput
from dragoman.text import EOS_ID, PAD_ID


class OnnxEngine(IncrementalEngine):
    """A recurrent model as two graphs: the encoder, and one decoder step for all rows.

    `files` are the exported graphs by file name.
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
        self.encoder = Session(files[ENCODER_FILE], threads)
        self.decoder_step = Session(files[DECODER_STEP_FILE], threads)
        self.counts_steps = "position" in self.decoder_step.inputs
        self.shows = "weights" in self.decoder_step.outputs
        self.states = [name for name in self.decoder_step.inputs if name.startswith("state.")]
        self.nexts = [name.replace("state.", "next.") for name in self.states]

    @classmethod
    def open(cls, bundle: Bundle, *, precision: Precision = "float32", threads: int | None = None) -> Self:
        """Open the model of a bundle from its export, which is created if necessary (reported in `note`)."""
        make = functools.partial(export_onnx, bundle, precision=precision)
        export = cached_export(bundle, "onnx", precision, make, format_number=FORMAT, packages=PACKAGES)
        return cls(export.files, precision=precision, threads=threads, note=export.note, has_new_export=export.is_new)

    def start(self, sources: Sequence[Sequence[int]], return_attention: bool) -> OnnxDecodingState:
        lengths = np.asarray([len(source) + 1 for source in sources], np.int64)
        padded = np.full((len(sources), lengths.max()), PAD_ID, np.int64)  # [batch, src]
        for row, source in zip(padded, sources, strict=True):
            row[: len(source)] = source
            row[len(source)] = EOS_ID
        names = list(self.encoder.outputs)
        found = self.encoder.run(names, {"source": padded, "lengths": lengths}, len(sources))
        read = dict(zip(names, found, strict=True))
        state = tuple(read[name] for name in self.states)
        memory = {name: array for name, array in read.items() if name.startswith("memory.")}
        return OnnxDecodingState(self, memory, state, return_attention and self.shows)


@dataclass(frozen=True)
class OnnxDecodingState:
    """Decoding state. The `beam` rows of a sentence are adjacent and share its memory.

    Shapes: memory each [sentences, …]; state each [sentences * beam, hidden].
    """

    engine: OnnxEngine
    memory: dict[str, Floats]
    state: tuple[Floats, ...]
    return_attention: bool
    beam: int = 1
    position: int = 0

    def step(self, tokens: Numbers) -> StepOutput:
        engine = self.engine
        feeds: dict[str, Any] = dict(self.memory)
        for name, part in zip(engine.states, self.state, strict=True):
            feeds[name] = self._grouped(part)
        feeds["tokens"] = self._grouped(np.asarray(tokens, np.int64))
        if engine.counts_steps:
            feeds["position"] = np.asarray(self.position, np.int64)
        wanted = ["log_probs", *engine.nexts, *(["weights"] if self.return_attention else [])]
        found = engine.decoder_step.run(wanted, feeds, len(tokens))
        log_probs, *rest = [array.reshape(-1, array.shape[-1]) for array in found]
        state = tuple(rest[: len(engine.nexts)])
        after = replace(self, state=state, position=self.position + 1)
        return StepOutput(log_probs, rest[-1] if self.return_attention else None, after)

    def _grouped(self, rows: Any) -> Any:
        """Shapes: [rows, *] -> [sentences, beam, *]."""
        return rows.reshape(-1, self.beam, *rows.shape[1:])

    def reorder(self, rows: Numbers) -> Self:
        return replace(self, state=self._rows(rows))

    def select(self, rows: Numbers) -> Self:
        owners = np.asarray(rows) // self.beam
        starts = np.flatnonzero(np.diff(owners, prepend=-1))  # first row of each sentence
        beam, rest = divmod(len(owners), max(1, len(starts)))
        if rest or not np.array_equal(starts, np.arange(0, len(owners), max(1, beam))):
            starts, beam = np.arange(len(owners)), 1
        sentences = owners[starts]
        memory = {name: array.take(sentences, 0) for name, array in self.memory.items()}
        return replace(self, memory=memory, state=self._rows(rows), beam=max(1, beam))

    def _rows(self, rows: Numbers) -> tuple[Floats, ...]:
        return tuple(part.take(rows, 0) for part in self.state)
