"""Build the ONNX graph of the encoder and of all values that the decoder needs once per sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.config.schema import RnnConfig
from dragoman.engines.onnx.graph.attention import SourceMemory, attention_memory
from dragoman.engines.onnx.graph.builder import FLOAT, INT32, INT64, Array, Graph, Size, Value
from dragoman.engines.onnx.graph.cells import CellWeights, run_sequences
from dragoman.engines.onnx.graph.shared_weights import context_products, source_vectors


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
    """source [batch, src], lengths [batch] -> the initial state of each layer and the source memory.

    The names and shapes of the memory are returned with the graph.
    """
    graph = Graph("reader", precision)
    source = graph.input("source", INT64, ["batch", "src"])
    lengths = graph.input("lengths", INT64, ["batch"])
    read = _read(graph, config, weights, source, lengths)
    kept: SourceMemory = {}
    vector = read.last
    if config.decoder.attend != "none":
        kept = attention_memory(graph, config, weights, read.states, lengths, context_products(config, weights))
    else:
        vector = read.summary
        if config.decoder.context == "every-step":
            vector = graph.op("Tanh", _affine(graph, weights, "decoder.V", vector))
            products = context_products(config, weights)
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
    x = graph.op("Gather", graph.constant(source_vectors(weights)), words)  # [src, batch, embedding]
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
