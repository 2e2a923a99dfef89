"""Build the ONNX graphs of recurrent models: the encoder with all that is computed once per sentence, and one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dragoman.config.rnn import RnnConfig
from dragoman.engines.onnx.graph.attention import (
    CELLS,
    CellWeights,
    SourceMemory,
    StepCell,
    attend,
    attention_memory,
    run_sequences,
)
from dragoman.engines.onnx.graph.builder import FLOAT, INT32, INT64, Array, Graph, Size, Value

LARGEST_TABLE = 1 << 26
"""Maximum bytes of a table of the products of all words; larger ones are computed at each step."""

State = list[list[Value]]
"""The state tensors of each layer, the lowest first."""

_DEEP = ("U_o.weight", "U_o.bias", "V_o.weight")


@dataclass(frozen=True)
class _Encoded:
    """Like `dragoman.models.base.Encoded`. Shapes: states [batch, src, hidden]; the others [batch, …]."""

    states: Value
    final: list[list[Value]]
    summary: Value
    last: Value


def build_encoder(
    config: RnnConfig, weights: Mapping[str, Array], precision: str
) -> tuple[Graph, dict[str, list[Size]]]:
    """source [batch, src], lengths [batch] -> initial states and source memory; its shapes are returned too."""
    graph = Graph("reader", precision)
    source = graph.input("source", INT64, ["batch", "src"])
    lengths = graph.input("lengths", INT64, ["batch"])
    read = _read(graph, config, weights, source, lengths)
    kept: SourceMemory = {}
    vector = read.last
    if config.decoder.attend != "none":
        kept = attention_memory(graph, config, weights, read.states, lengths, _context_products(config, weights))
    else:
        vector = read.summary
        if config.decoder.context == "every-step":
            vector = graph.op("Tanh", _affine(graph, weights, "decoder.V", vector))
            products = _context_products(config, weights)
            enters = graph.op("Unsqueeze", graph.linear(vector, products), graph.numbers(1))
            kept["summary"] = (enters, ["batch", 1, products.shape[0]])
    for name, (value, shape) in kept.items():
        graph.output(f"memory.{name}", value, FLOAT, shape)
    first = read.final if config.decoder.start == "copy" else _projected(graph, config, weights, vector)
    for layer, parts in enumerate(first):
        for part, value in enumerate(parts):
            graph.output(f"state.{layer}.{part}", value, FLOAT, ["batch", config.decoder.hidden])
    if config.decoder.input_feeding:
        nothing = graph.op("Sub", first[-1][0], first[-1][0])
        graph.output("state.fed", nothing, FLOAT, ["batch", config.decoder.hidden])
    return graph, {name: shape for name, (_, shape) in kept.items()}


def _read(graph: Graph, config: RnnConfig, weights: Mapping[str, Array], source: Value, lengths: Value) -> _Encoded:
    """Run all layers, time-major, as ONNX operators require."""
    words = graph.op("Transpose", source, perm=[1, 0])
    if config.reverse_source:
        words = graph.op("ReverseSequence", words, lengths, time_axis=0, batch_axis=1)
    x = graph.op("Gather", graph.constant(_source_vectors(weights)), words)  # [src, batch, embedding]
    short = graph.op("Cast", lengths, to=INT32)
    final: list[list[Value]] = []
    summary = last = x
    for layer in range(config.encoder.layers):
        sides = ["left", "right"] if config.encoder.bidirectional else ["left"]
        prefix = f"encoder.layers.{layer}"
        cells = [CellWeights.of(config.encoder.cell, weights, f"{prefix}.{side}") for side in sides]
        x, ends = run_sequences(graph, x, short, cells)
        both = ends[0] if len(sides) == 1 else [graph.op("Concat", *pair, axis=-1) for pair in zip(*ends, strict=True)]
        final.append(both)
        summary, last = both[0], ends[-1][0]
        if config.encoder.bidirectional and config.encoder.join == "linear":
            x, summary = (_affine(graph, weights, f"{prefix}.join", value) for value in (x, summary))
    if config.reverse_source:
        x = graph.op("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)
    return _Encoded(graph.op("Transpose", x, perm=[1, 0, 2]), final, summary, last)


def _affine(graph: Graph, weights: Mapping[str, Array], name: str, x: Value) -> Value:
    return graph.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"], bounded=False)


def _projected(graph: Graph, config: RnnConfig, weights: Mapping[str, Array], vector: Value) -> list[list[Value]]:
    """tanh of a linear map, split by layers and state tensors. Shapes: [batch, size] -> each [batch, hidden]."""
    parts = 2 if config.decoder.cell == "lstm" else 1
    flat = graph.op("Tanh", _affine(graph, weights, "decoder.begin.W_s", vector))
    tensors = graph.split(flat, *[config.decoder.hidden] * (config.decoder.layers * parts))
    return [tensors[index : index + parts] for index in range(0, len(tensors), parts)]


def build_decoder_step(
    config: RnnConfig, weights: Mapping[str, Array], precision: str, kept: Mapping[str, list[Size]]
) -> Graph:
    """tokens [batch, beam], state, memory shared by a sentence's rows -> log_probs, weights, next state."""
    return _DecoderStep(config, weights, precision).build(kept)


class _DecoderStep:
    """Builds the graph. Shapes: all row values are [batch, beam, …]."""

    def __init__(self, config: RnnConfig, weights: Mapping[str, Array], precision: str) -> None:
        self.config = config
        self.weights = weights
        self.graph = Graph("writer", precision)
        self.cells = _step_cells(config, weights)
        self.kept: dict[str, Value] = {}

    def build(self, kept: Mapping[str, list[Size]]) -> Graph:
        graph, config = self.graph, self.config
        tokens = graph.input("tokens", INT64, ["batch", "beam"])
        row: list[Size] = ["batch", "beam", config.decoder.hidden]
        parts = range(self.cells[0].parts)
        state = [
            [graph.input(f"state.{layer}.{part}", FLOAT, row) for part in parts] for layer in range(len(self.cells))
        ]
        fed = graph.input("state.fed", FLOAT, row) if config.decoder.input_feeding else None
        self.kept = {name: graph.input(f"memory.{name}", FLOAT, shape) for name, shape in kept.items()}
        if config.decoder.attend != "none" and config.attention.alignment == "local-m":
            self.kept["position"] = graph.input("position", INT64, [])
        features, shares, state = self._step(tokens, state, fed)
        scores = graph.linear(
            features, _output_weight(self.weights), self.weights["decoder.output.bias"], bounded=not self._is_deep
        )
        log_probs = graph.op("LogSoftmax", scores, axis=-1)
        graph.output("log_probs", log_probs, FLOAT, ["batch", "beam", len(self.weights["decoder.output.bias"])])
        if shares is not None:
            graph.output("weights", shares, FLOAT, ["batch", "beam", "src"])
        for layer, values in enumerate(state):
            for part, value in enumerate(values):
                graph.output(f"next.{layer}.{part}", value, FLOAT, row)
        if fed is not None:
            graph.output("next.fed", features, FLOAT, row)
        return graph

    @property
    def _is_deep(self) -> bool:
        return self.config.decoder.output == "deep"

    def _step(self, tokens: Value, state: State, fed: Value | None) -> tuple[Value, Value | None, State]:
        """The input of the output layer, the attention weights, and the next state."""
        graph, config = self.graph, self.config
        context: Value | None = None
        shares: Value | None = None
        if config.decoder.attend == "after":
            state = self._run_layers(self._words(tokens, fed), state)
            mixed, shares = self._attend(state[-1][0])
            W_c = self.weights["decoder.W_c"][:, config.value_size :]
            return graph.op("Tanh", graph.op("Add", graph.linear(state[-1][0], W_c), mixed)), shares, state
        if config.decoder.attend == "before":
            context, shares = self._attend(state[-1][0])
        elif config.decoder.context == "every-step":
            context = self.kept["summary"]
        words, to_output = self._words(tokens, None), None
        if context is not None:
            gates = len(self.cells[0].weights.b)
            sizes = [gates, 2 * config.features] if self._is_deep else [gates]
            to_cell, *rest = graph.split(context, *sizes)
            words, to_output = graph.op("Add", words, to_cell), rest[0] if rest else None
        state = self._run_layers(words, state)
        if to_output is None:
            return state[-1][0], shares, state
        return self._deep(tokens, state[-1][0], to_output), shares, state

    def _attend(self, query: Value) -> tuple[Value, Value]:
        return attend(self.graph, self.config, self.weights, query, self.kept)

    def _words(self, tokens: Value, fed: Value | None) -> Value:
        """Products of the previous words for the lowest cell, with bias. Shapes: -> [batch, beam, gates * hidden]."""
        lowest = self.cells[0].weights
        words = self._word_products(tokens, lowest.W[:, : self.config.embedding], lowest.b)
        if fed is None:
            return words
        return self.graph.op("Add", words, self.graph.linear(fed, lowest.W[:, self.config.embedding :]))

    def _word_products(self, tokens: Value, W: Array, b: Array) -> Value:
        """W y + b for the vectors y of tokens; from a table if it is small enough."""
        vectors = _target_vectors(self.weights)
        if vectors.shape[0] * W.shape[0] * 4 <= LARGEST_TABLE:
            return self.graph.op("Gather", self.graph.constant(vectors @ W.T + b), tokens)
        words = self.graph.op("Gather", self.graph.constant(vectors), tokens)
        return self.graph.linear(words, W, b, bounded=False)

    def _run_layers(self, projected: Value, state: State) -> State:
        """Run all layers."""
        new = [self.cells[0].step(self.graph, projected, state[0])]
        for cell, before in zip(self.cells[1:], state[1:], strict=True):
            below = self.graph.linear(new[-1][0], cell.weights.W, cell.weights.b)
            new.append(cell.step(self.graph, below, before))
        return new

    def _deep(self, tokens: Value, h: Value, from_context: Value) -> Value:
        """The maxout layer. Shapes: -> [batch, beam, features]."""
        graph = self.graph
        U_o, b, V_o = (_maxout_halves(self.weights[f"decoder.deep.{name}"]) for name in _DEEP)
        words = graph.op("Add", self._word_products(tokens, V_o, b), from_context)
        pairs = graph.op("Add", graph.linear(h, U_o), words)
        return graph.op("Max", *graph.split(pairs, self.config.features, self.config.features))


def _source_vectors(weights: Mapping[str, Array]) -> Array:
    """The source's word vectors. Shapes: [vocab, embedding]."""
    return weights["encoder.embedding.weight"]


def _target_vectors(weights: Mapping[str, Array]) -> Array:
    """The target's word vectors; stored once if tied to the source. Shapes: [vocab, embedding]."""
    return weights.get("decoder.embedding.weight", _source_vectors(weights))


def _output_weight(weights: Mapping[str, Array]) -> Array:
    """The output weights; stored once if tied to the word vectors. Shapes: [vocab, features]."""
    return weights.get("decoder.output.weight", _target_vectors(weights))


def _step_cells(config: RnnConfig, weights: Mapping[str, Array]) -> list[StepCell]:
    """The decoder's layers, the lowest first."""
    kind = config.decoder.cell
    prefixes = [f"decoder.stack.cells.{layer}" for layer in range(config.decoder.layers)]
    return [CELLS[kind](CellWeights.of(kind, weights, prefix)) for prefix in prefixes]


def _context_products(config: RnnConfig, weights: Mapping[str, Array]) -> Array:
    """All linear maps of the context, concatenated; that of the lowest cell first. Shapes: [out, value]."""
    if config.decoder.attend == "after":
        return weights["decoder.W_c"][:, : config.value_size]
    into_cell = _step_cells(config, weights)[0].weights.W[:, config.embedding :]
    if config.decoder.output == "linear":
        return into_cell
    return np.concatenate([into_cell, _maxout_halves(weights["decoder.deep.C_o.weight"])])


def _maxout_halves(rows: Array) -> Array:
    """Even rows, then odd rows: the maximum over pairs becomes the maximum of two halves."""
    return np.concatenate([rows[0::2], rows[1::2]])
