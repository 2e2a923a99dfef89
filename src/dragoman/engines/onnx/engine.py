"""ONNX Runtime engine for recurrent models and Transformers with an SSRU decoder. Imports no torch.

In a search with shortlists the id of a token is its place in the shortlist of its sentence. The special tokens are in
every shortlist and come first, so that they keep their ids. Each sentence has its own shortlist, not that of the batch:
its translation does not depend on other sentences, and the output layer is smaller.
"""

from __future__ import annotations

import functools
import mmap
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from dragoman.bundle import Bundle
from dragoman.bundle.position_table import longest_sentence
from dragoman.bundle.shortlist import Shortlist, distinct
from dragoman.config.schema import TransformerConfig
from dragoman.engines.export_cache import Precision, cached_export
from dragoman.engines.onnx.export import (
    DECODER_STEP_FILE,
    ENCODER_FILE,
    FORMAT,
    OUTPUT_FILE,
    PACKAGES,
    SHARED_WEIGHTS_FILE,
    SHORTLIST_OUTPUT_FILE,
    SHORTLIST_ROWS_FILE,
    export_onnx,
)
from dragoman.engines.onnx.session import BatchThreads, MappedWeights, Session, import_onnxruntime
from dragoman.engines.protocol import Device, IncrementalEngine
from dragoman.environment import default_threads, trim_heap
from dragoman.errors import DataError
from dragoman.search import Hypothesis, SearchInput, SearchOptions, SearchSettings, SearchTrace, StartDecoding, search
from dragoman.search.decoding_protocol import Floats, MappedMonitor, Numbers, StepOutput
from dragoman.text import EOS_ID, PAD_ID


@dataclass(frozen=True)
class ShortlistVocabulary:
    """The tokens that each sentence can write. Shapes: tokens [sentences, n], sorted, padded; counts [sentences]."""

    tokens: Numbers
    counts: Numbers

    @classmethod
    def of(cls, shortlist: Shortlist, sentences: Sequence[SearchInput]) -> Self:
        """The vocabulary of a batch."""
        each = [
            distinct(np.concatenate([shortlist.candidates(sentence.tokens), _required(sentence)]))
            for sentence in sentences
        ]
        counts = np.asarray([len(tokens) for tokens in each], np.int64)
        tokens = np.full((len(sentences), counts.max()), PAD_ID, np.int64)
        for row, own in zip(tokens, each, strict=True):
            row[: len(own)] = own
        return cls(tokens, counts)

    def number(self, sentence: int, tokens: Sequence[int]) -> list[int]:
        """Ids in the shortlist of tokens that are in it."""
        own = self.tokens[sentence, : self.counts[sentence]]
        found: list[int] = np.searchsorted(own, np.asarray(tokens, np.int64)).tolist()
        return found

    def name(self, sentence: int, numbers: Sequence[int]) -> list[int]:
        """Token ids of ids in the shortlist."""
        found: list[int] = self.tokens[sentence, np.asarray(numbers, np.int64)].tolist()
        return found

    def numbered(self, place: int, sentence: SearchInput) -> SearchInput:
        """Constraints of a sentence with ids in the shortlist; the source keeps its ids."""
        return replace(
            sentence,
            prefix=self.number(place, sentence.prefix),
            phrases=[self.number(place, phrase) for phrase in sentence.phrases],
            may_follow=None if sentence.may_follow is None else sentence.may_follow[self.tokens[place]],
        )


def search_shortlisted(
    start: StartDecoding,
    vocabulary: ShortlistVocabulary,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None,
    **options: Unpack[SearchOptions],
) -> list[list[Hypothesis]]:
    """`dragoman.search.search` within a vocabulary of shortlists, whose token ids `start` takes."""
    monitor, trace, tree = options.get("monitor"), options.get("trace"), SearchTrace()
    if monitor is not None:
        options["monitor"] = MappedMonitor(monitor, vocabulary.name)
    if trace is not None:
        options["trace"] = tree
    numbered = [vocabulary.numbered(place, sentence) for place, sentence in enumerate(sentences)]
    found = search(start, numbered, settings, longest=longest, **options)
    if trace is not None:
        for sentence, nodes in tree.trees.items():
            for node, token in zip(nodes, vocabulary.name(sentence, [node.token for node in nodes]), strict=True):
                trace.add(sentence, replace(node, token=token))
    return [
        [replace(each, tokens=vocabulary.name(sentence, each.tokens)) for each in hypotheses]
        for sentence, hypotheses in enumerate(found)
    ]


def _required(sentence: SearchInput) -> Numbers:
    return np.asarray([*sentence.prefix, *(token for phrase in sentence.phrases for token in phrase)], np.int64)


_LEAST_PRESENT = 0.75
_SENTENCES_OF_VOCABULARY = 9
"""From this number of sentences, for any beam, the product with the whole matrix is faster than gathered rows."""


class OnnxEngine(IncrementalEngine):
    """A model as graphs: the encoder, one decoder step for all rows, and for a Transformer the output layer.

    `folder` has the exported graphs. All files are opened here, so that it may be removed while the engine is in use.
    With a `shortlist` a search chooses among its tokens; scores of given translations are those of the whole
    vocabulary. `full_range` is that of `Session`, `stored_weights` the file of the bundle that the graphs refer to.
    """

    name = "onnx"

    def __init__(  # noqa: PLR0913 -- one keyword per option
        self,
        folder: Path,
        *,
        precision: Precision = "float32",
        threads: int | None = None,
        note: str = "",
        has_new_export: bool = False,
        longest: int | None = None,
        shortlist: Shortlist | None = None,
        full_range: bool = False,
        device: Device = "cpu",
        stored_weights: mmap.mmap | None = None,
    ) -> None:
        self.precision = precision
        self.note = note
        self.has_new_export = has_new_export
        files = {path.name: path for path in folder.iterdir()}
        self.export_bytes = sum(path.stat().st_size for path in files.values())
        self.longest = longest
        self._threads = BatchThreads((threads or default_threads()) if device == "cpu" else 1)
        self.concurrency = self._threads.count
        weights = MappedWeights(files[SHARED_WEIGHTS_FILE], stored_weights) if SHARED_WEIGHTS_FILE in files else None
        self._session = session = functools.partial(
            Session, threads=self._threads, full_range=full_range, device=device, weights=weights
        )
        with ThreadPoolExecutor(1) as thread:  # ONNX Runtime opens graphs outside of Python
            opening = thread.submit(session, files[ENCODER_FILE])
            self.decoder_step = session(files[DECODER_STEP_FILE])
            self.shortlist = shortlist if SHORTLIST_ROWS_FILE in files else None
            self.has_output_layer = OUTPUT_FILE in files
            if self.has_output_layer:
                self._output_graph = files[OUTPUT_FILE].read_bytes()
            if self.shortlist is not None:
                self.shortlist_rows = Session(files[SHORTLIST_ROWS_FILE], self._threads, device=device, weights=weights)
                self.shortlist_output = session(files[SHORTLIST_OUTPUT_FILE])
            elif self.has_output_layer:
                self.output  # noqa: B018 -- every search needs it
            self.encoder = opening.result()
        self.counts_steps = "position" in self.decoder_step.inputs
        self.shows = "weights" in self.decoder_step.outputs
        self.states = [name for name in self.decoder_step.inputs if name.startswith("state.")]
        self.nexts = [name.replace("state.", "next.") for name in self.states]
        if weights is not None:
            self.export_bytes += weights.free_stored()
        trim_heap()  # opening made copies of matrices in another layout

    @functools.cached_property
    def output(self) -> Session:
        """The output layer over the vocabulary. With a shortlist, only large batches and scores need it, and memory."""
        opened = self._session(self._output_graph)
        trim_heap()
        return opened

    @staticmethod
    def has_cuda() -> bool:
        """Whether the package finds a CUDA device."""
        return "CUDAExecutionProvider" in import_onnxruntime().get_available_providers()

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        *,
        precision: Precision = "float32",
        threads: int | None = None,
        shortlist: bool = True,
        device: Device = "cpu",
    ) -> Self:
        """Open the model of a bundle from its export, created if necessary; `shortlist`: use that of the bundle."""
        make = functools.partial(export_onnx, bundle, precision=precision)
        export = cached_export(
            bundle, "onnx", precision, make, format_number=FORMAT, packages=PACKAGES, read_files=False
        )
        config, stored = bundle.config.model, bundle.quantization()
        is_stored = precision == "int8" and stored is not None and bool(stored.weights)
        try:
            return cls(
                export.folder,
                precision=precision,
                threads=threads,
                note=export.note,
                has_new_export=export.is_new,
                longest=longest_sentence(config) if isinstance(config, TransformerConfig) else None,
                shortlist=bundle.shortlist() if shortlist else None,
                full_range=is_stored,
                device=device,
                stored_weights=bundle.stored_weights() if is_stored else None,
            )
        finally:
            export.check_unchanged()

    def search(
        self, sentences: Sequence[SearchInput], settings: SearchSettings, **options: Unpack[SearchOptions]
    ) -> list[list[Hypothesis]]:
        with self._threads.batch():
            if self.shortlist is None or not sentences:
                return super().search(sentences, settings, **options)
            vocabulary = ShortlistVocabulary.of(self.shortlist, sentences)
            start = functools.partial(self.start_shortlisted, vocabulary)
            return search_shortlisted(start, vocabulary, sentences, settings, longest=self.longest, **options)

    def start(self, sources: Sequence[Sequence[int]], return_attention: bool) -> OnnxDecodingState:
        lengths = np.asarray([len(source) + 1 for source in sources], np.int64)
        self._check_length(int(lengths.max()))
        padded = np.full((len(sources), lengths.max()), PAD_ID, np.int64)  # [batch, src]
        for row, source in zip(padded, sources, strict=True):
            row[: len(source)] = source
            row[len(source)] = EOS_ID
        names = list(self.encoder.outputs)
        found = self.encoder.run(names, {"source": padded, "lengths": lengths}, len(sources))
        read = dict(zip(names, found, strict=True))
        state = tuple(read[name] for name in self.states)
        memory = {name: array for name, array in read.items() if name.startswith("memory.")}
        present = np.arange(len(sources))
        return OnnxDecodingState(self, memory, state, return_attention and self.shows, len(sources), present)

    def start_shortlisted(
        self, vocabulary: ShortlistVocabulary, sources: Sequence[Sequence[int]], return_attention: bool
    ) -> OnnxDecodingState:
        """Start decoding with token ids of a shortlist."""
        is_padding = np.arange(vocabulary.tokens.shape[1]) >= vocabulary.counts[:, np.newaxis]  # [sentences, n]
        bias = np.where(is_padding, np.float32(-np.inf), np.float32(0.0))[:, np.newaxis]  # [sentences, 1, n]
        begun = self.start(sources, return_attention)
        return replace(begun, output={"tokens": vocabulary.tokens, "bias": bias}).with_rows()

    def gather_rows(self, tokens: Numbers) -> dict[str, Any]:
        """The rows of the output layer for tokens of shortlists. Shapes: [sentences, n]."""
        names = list(self.shortlist_rows.outputs)
        return dict(zip(names, self.shortlist_rows.run(names, {"tokens": tokens}, 1), strict=True))

    def _check_length(self, length: int) -> None:
        if self.longest is not None and length > self.longest:
            raise DataError(
                f"a sentence must be at most {self.longest - 1} tokens long for this model on ONNX Runtime, got "
                f"{length - 1}; split it, or use the engine torch"
            )


@dataclass(frozen=True)
class OnnxDecodingState:
    """Decoding state. The `beam` rows of a sentence are adjacent and share its memory.

    `present` are the places in the memory of the sentences that are still decoded. The others are removed when they are
    a quarter: copying the memory at every departure takes longer than computing rows that are not used.

    `output` has the tokens of shortlists, a bias that excludes their padding, and for few sentences the gathered rows
    of the output layer; it is empty without shortlists.

    Shapes: memory and output each [stored, …]; state each [len(present) * beam, hidden].
    """

    engine: OnnxEngine
    memory: Mapping[str, Any]
    state: tuple[Floats, ...]
    return_attention: bool
    stored: int
    present: Numbers
    beam: int = 1
    position: int = 0
    output: Mapping[str, Any] = field(default_factory=dict)

    def step(self, tokens: Numbers) -> StepOutput:
        engine = self.engine
        feeds: dict[str, Any] = dict(self.memory)
        for name, part in zip(engine.states, self.state, strict=True):
            feeds[name] = self._spread(part)
        feeds["tokens"] = self._spread(self._token_ids(np.asarray(tokens, np.int64)))
        if engine.counts_steps:
            feeds["position"] = np.asarray(self.position, np.int64)
        first = "features" if engine.has_output_layer else "log_probs"
        wanted = [first, *engine.nexts, *(["weights"] if self.return_attention else [])]
        found = engine.decoder_step.run(wanted, feeds, self.stored * self.beam)
        if engine.has_output_layer and self.output:
            found[0] = self._log_probs(found[0])
        if len(self.present) < self.stored:
            found = [array[self.present] for array in found]
        if engine.has_output_layer and not self.output:
            found[0] = self._log_probs(found[0])
        log_probs, *rest = [array.reshape(-1, array.shape[-1]) for array in found]
        state = tuple(rest[: len(engine.nexts)])
        after = replace(self, state=state, position=self.position + 1)
        return StepOutput(log_probs, rest[-1] if self.return_attention else None, after)

    def _log_probs(self, features: Floats) -> Floats:
        """Shapes: [sentences, beam, dim] -> [sentences, beam, tokens]."""
        sentences, rows = len(features), len(features) * self.beam
        feeds: dict[str, Any] = {"features": features}
        if "output.matrix" in self.output:
            feeds |= {name: array for name, array in self.output.items() if name != "tokens"}
            return self.engine.shortlist_output.run(["log_probs"], feeds, rows)[0]
        feeds["tokens"] = self.output.get("tokens", np.empty((sentences, 0), np.int64))
        feeds["bias"] = self.output.get("bias", np.empty((sentences, 1, 0), np.float32))
        return self.engine.output.run(["log_probs"], feeds, rows)[0]

    def with_rows(self) -> Self:
        """Gather the rows of the output layer for shortlists, if that will save time."""
        if not self.output or "output.matrix" in self.output or self.stored >= _SENTENCES_OF_VOCABULARY:
            return self
        return replace(self, output={**self.output, **self.engine.gather_rows(self.output["tokens"])})

    def _token_ids(self, tokens: Numbers) -> Numbers:
        """Shapes: [rows] -> [rows]."""
        names: Numbers | None = self.output.get("tokens")
        return tokens if names is None else names[np.repeat(self.present, self.beam), tokens]

    def _spread(self, rows: Any) -> Any:
        """Shapes: [len(present) * beam, *] -> [stored, beam, *]."""
        grouped = rows.reshape(-1, self.beam, *rows.shape[1:])
        if len(self.present) == self.stored:
            return grouped
        spread = np.zeros((self.stored, *grouped.shape[1:]), grouped.dtype)
        spread[self.present] = grouped
        return spread

    def reorder(self, rows: Numbers) -> Self:
        return replace(self, state=self._rows(rows))

    def select(self, rows: Numbers) -> Self:
        owners = np.asarray(rows) // self.beam
        starts = np.flatnonzero(np.diff(owners, prepend=-1))  # first row of each sentence
        beam, rest = divmod(len(owners), max(1, len(starts)))
        if rest or not np.array_equal(starts, np.arange(0, len(owners), max(1, beam))):
            starts, beam = np.arange(len(owners)), 1
        places = self.present[owners[starts]]
        selected = replace(self, state=self._rows(rows), beam=max(1, beam), present=places)
        if len(places) > _LEAST_PRESENT * self.stored and (np.diff(places) > 0).all():
            return selected
        return replace(
            selected,
            memory=_taken(self.memory, places),
            output=_taken(self.output, places),
            stored=len(places),
            present=np.arange(len(places)),
        ).with_rows()

    def _rows(self, rows: Numbers) -> tuple[Floats, ...]:
        return tuple(part.take(rows, 0) for part in self.state)


def _taken(arrays: Mapping[str, Any], places: Numbers) -> dict[str, Any]:
    return {name: array.take(places, 0) for name, array in arrays.items()}
