"""Build a Transformer with an SSRU decoder as ONNX graphs: encoder, decoder step and output layers. Paper: [kim2019].

The output layer is a graph of its own, because it exists twice: over the vocabulary, of which the tokens of shortlists
can be chosen, and over the rows of shortlists, gathered once per batch, which takes less time for a few sentences.
Attention scores are scaled in the weights: rows of queries or keys are multiplied by 1/√d, which for int8 changes only
their steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dragoman.bundle.position_table import position_table
from dragoman.bundle.weights import Quantization
from dragoman.config.schema import TransformerConfig, has_guided_alignment
from dragoman.engines.onnx.graph.attention import padding_mask
from dragoman.engines.onnx.graph.builder import (
    FLOAT,
    INT8,
    INT64,
    Array,
    Graph,
    SharedWeights,
    Size,
    Value,
    quantised_rows,
)

_ALL = slice(None)


class WeightRows(NamedTuple):
    """Rows of a matrix and of its bias, multiplied by a factor. A bias named "" is zero."""

    matrix: str
    bias: str
    rows: slice = _ALL
    factor: float = 1.0


class QuantisedMatrix(NamedTuple):
    """Integers × steps, and the multiplier of the other factor. Shapes: integers [out, in], steps [out]."""

    integers: Array
    steps: Array
    multiplier: float | None


class TransformerParts:
    """Parts of one graph. Shapes: all values x are [batch, n, dim]."""

    def __init__(
        self, graph: Graph, config: TransformerConfig, weights: Mapping[str, Array], quantization: Quantization | None
    ) -> None:
        self.graph = graph
        self.config = config
        self.weights = weights
        self.quantization = quantization if graph.is_int8 else None

    @property
    def head_size(self) -> int:
        return self.config.dim // self.config.heads

    @property
    def score_scale(self) -> float:
        """1/√d of attention scores."""
        return 1.0 / math.sqrt(self.head_size)

    def embed(self, tokens: Value, name: str, positions: Value) -> Value:
        """Embeddings plus positions. Shapes: tokens [batch, n], positions broadcastable to x."""
        graph, scale = self.graph, math.sqrt(self.config.dim) if self.config.scale_embeddings else 1.0
        multipliers = None if self.quantization is None else self.quantization.weights.get(name)
        if self.quantization is not None and multipliers is not None and len(np.unique(multipliers)) == 1:
            table = graph.constant(self.quantization.integers(name, self.weights[name]), is_table=True)
            words = graph.op("Cast", graph.op("Gather", table, tokens), to=FLOAT)
            words = graph.op("Mul", words, graph.number(scale / float(multipliers[0])))
        else:
            table = graph.constant(self.weights[name] * np.float32(scale), is_table=True)
            words = graph.op("Gather", table, tokens)
        return graph.op("Add", words, positions)

    def linear(self, x: Value, *parts: WeightRows, is_positive: bool = False) -> Value:
        """The products with all parts, concatenated. `is_positive`: of max(0, x) instead of x."""
        bias = self._bias(parts)
        matrix = self.quantised(*parts)
        if matrix is None or (is_positive and matrix.multiplier is None):
            x = self.graph.op("Relu", x) if is_positive else x
        if matrix is not None:
            is_positive = is_positive and matrix.multiplier is not None
            return self.graph.linear_stored(
                x, matrix.integers, matrix.steps, bias, multiplier=matrix.multiplier, is_positive=is_positive
            )
        whole = np.concatenate([self.weights[each.matrix][each.rows] * np.float32(each.factor) for each in parts])
        return self.graph.linear(x, whole, bias, bounded=False)

    def quantised(self, *parts: WeightRows) -> QuantisedMatrix | None:
        """The integers of all parts, or None; the multiplier is None if parts differ: the range is measured."""
        stored = self.quantization
        if stored is None or not all(each.matrix in (stored.weights or stored.inputs) for each in parts):
            return None
        if stored.weights:
            integers = [stored.integers(each.matrix, self.weights[each.matrix])[each.rows] for each in parts]
            steps = [each.factor / stored.weights[each.matrix][each.rows].astype(np.float64) for each in parts]
        else:
            made = [quantised_rows(self.weights[each.matrix][each.rows]) for each in parts]
            integers = [each for each, _ in made]
            steps = [one * part.factor for (_, one), part in zip(made, parts, strict=True)]
        inputs = [stored.inputs[each.matrix][each.rows] for each in parts if each.matrix in stored.inputs]
        multipliers = np.unique(np.concatenate([np.empty(0, np.float32), *inputs]))
        multiplier = float(multipliers[0]) if len(inputs) == len(parts) and len(multipliers) == 1 else None
        return QuantisedMatrix(np.concatenate(integers), np.concatenate(steps).astype(np.float32), multiplier)

    def _bias(self, parts: tuple[WeightRows, ...]) -> Array | None:
        if not any(each.bias in self.weights for each in parts):
            return None
        parts_of_bias = [
            self.weights[each.bias][each.rows] * np.float32(each.factor)
            if each.bias in self.weights
            else np.zeros(len(self.weights[each.matrix][each.rows]), np.float32)
            for each in parts
        ]
        return np.concatenate(parts_of_bias)

    def norm(self, x: Value, name: str) -> Value:
        """Layer normalization."""
        scale, bias = (self.graph.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.graph.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=self.config.norm_epsilon)

    def before(self, x: Value, name: str) -> Value:
        """The input of a sub-layer."""
        return self.norm(x, f"{name}.norm") if self.config.norm == "pre" else x

    def after(self, x: Value, y: Value, name: str) -> Value:
        """Add the output y of a sub-layer to the residual x."""
        total = self.graph.op("Add", x, y)
        return total if self.config.norm == "pre" else self.norm(total, f"{name}.norm")

    def final_norm(self, x: Value, side: str) -> Value:
        """The normalization after the last layer, if the model has one."""
        return self.norm(x, f"{side}.norm") if self.config.norm == "pre" else x

    def feed_forward(self, x: Value, layer: str) -> Value:
        """The feed-forward sub-layer with its residual."""
        around, inner = f"{layer}.around_feedforward", f"{layer}.feedforward"
        first = WeightRows(f"{inner}.W_1.weight", f"{inner}.W_1.bias")
        second = WeightRows(f"{inner}.W_2.weight", f"{inner}.W_2.bias")
        hidden = self.linear(self.before(x, around), first)
        is_relu = self.config.activation == "relu"
        y = self.linear(hidden if is_relu else self._activation(hidden), second, is_positive=is_relu)
        return self.after(x, y, around)

    def _activation(self, x: Value) -> Value:
        if self.config.activation == "swish":
            return self.graph.op("Mul", x, self.graph.op("Sigmoid", x))
        return self.graph.op("Gelu", x)

    def heads(self, x: Value, *, transposed: bool = False) -> Value:
        """Shapes: [batch, n, dim] -> [batch, heads, n, d], transposed [batch, heads, d, n]."""
        parts = self.graph.reshape(x, 0, 0, self.config.heads, self.head_size)
        return self.graph.op("Transpose", parts, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])

    def attend(self, queries: Value, keys: Value, values: Value, mask: Value) -> tuple[Value, Value]:
        """Contexts [batch, n, dim] and weights [batch, heads, n, src].

        Shapes: queries [batch, heads, n, d], keys [batch, heads, d, src], values [batch, heads, src, d], mask [batch,
        1, 1, src].
        """
        graph = self.graph
        scores = graph.op("Add", graph.op("MatMul", queries, keys), mask)
        shares = graph.op("Softmax", scores, axis=-1)
        context = graph.op("Transpose", graph.op("MatMul", shares, values), perm=[0, 2, 1, 3])
        return graph.reshape(context, 0, 0, self.config.dim), shares


def rows_quantised(parts: TransformerParts, name: str) -> QuantisedMatrix:
    """A matrix as integers: those stored, or new ones."""
    stored = parts.quantised(WeightRows(name, ""))
    return stored or QuantisedMatrix(*quantised_rows(parts.weights[name]), None)


class SsruGraphs:
    """The graphs of one model."""

    def __init__(
        self,
        config: TransformerConfig,
        weights: Mapping[str, Array],
        precision: str,
        quantization: Quantization | None = None,
        shared: SharedWeights | None = None,
    ) -> None:
        self.config = config
        self.shared = shared
        self.weights = weights
        self.precision = precision
        self.quantization = quantization

    def _parts(self, name: str) -> TransformerParts:
        return TransformerParts(
            Graph(name, self.precision, shared=self.shared), self.config, self.weights, self.quantization
        )

    @property
    def _output_weight(self) -> str:
        """The name of the output matrix; that of an embedding if they are tied."""
        return {"none": "decoder.output.weight", "target": "decoder.embedding.weight"}.get(
            self.config.tie, "encoder.embedding.weight"
        )

    @property
    def _target_embedding(self) -> str:
        return "encoder.embedding.weight" if self.config.tie == "all" else "decoder.embedding.weight"

    def encoder(self) -> Graph:
        """source [batch, src], lengths [batch] -> initial states and the source memory of each decoder layer."""
        parts, config = self._parts("reader"), self.config
        graph = parts.graph
        source = graph.input("source", INT64, ["batch", "src"])
        lengths = graph.input("lengths", INT64, ["batch"])
        if not config.source_end:  # the end is treated as padding; an empty sentence keeps it
            lengths = graph.op("Max", graph.op("Sub", lengths, graph.numbers(1)), graph.numbers(1))
        table = graph.constant(position_table(config, self.weights, "encoder"), is_table=True)
        src = graph.op("Shape", source, start=1, end=2)
        positions = graph.op("Slice", table, graph.numbers(0), src, graph.numbers(0))  # [src, dim]
        x = parts.embed(source, "encoder.embedding.weight", positions)
        mask = graph.op("Unsqueeze", padding_mask(graph, x, lengths), graph.numbers(1))  # [batch, 1, 1, src]
        for number in range(config.encoder_layers):
            x = self._encoder_layer(parts, x, mask, f"encoder.layers.{number}")
        self._memory(parts, parts.final_norm(x, "encoder"), mask)
        batch = graph.op("Concat", graph.op("Shape", source, start=0, end=1), graph.numbers(config.dim), axis=0)
        nothing = graph.op("Expand", graph.number(0.0), batch)
        for number in range(config.decoder_layers):
            graph.output(f"state.{number}", nothing, FLOAT, ["batch", config.dim])
        return graph

    def _encoder_layer(self, parts: TransformerParts, x: Value, mask: Value, layer: str) -> Value:
        graph, dim, name = parts.graph, self.config.dim, f"{layer}.attention"
        around = f"{layer}.around_attention"
        queries = WeightRows(f"{name}.W_qkv", f"{name}.b_qkv", slice(dim), parts.score_scale)
        others = WeightRows(f"{name}.W_qkv", f"{name}.b_qkv", slice(dim, None))
        q, k, v = graph.split(parts.linear(parts.before(x, around), queries, others), dim, dim, dim)
        context, _ = parts.attend(parts.heads(q), parts.heads(k, transposed=True), parts.heads(v), mask)
        x = parts.after(x, parts.linear(context, WeightRows(f"{name}.W_o", f"{name}.b_o")), around)
        return parts.feed_forward(x, layer)

    def _memory(self, parts: TransformerParts, states: Value, mask: Value) -> None:
        """Add outputs: keys and values of all decoder layers, in one product."""
        graph, config, dim = parts.graph, self.config, self.config.dim
        rows = []
        for number in range(config.decoder_layers):
            name = f"decoder.layers.{number}.source_attention"
            rows.append(WeightRows(f"{name}.W_qkv", f"{name}.b_qkv", slice(dim, 2 * dim), parts.score_scale))
            rows.append(WeightRows(f"{name}.W_qkv", f"{name}.b_qkv", slice(2 * dim, None)))
        projected = graph.split(parts.linear(states, *rows), *[dim] * len(rows))
        for number in range(config.decoder_layers):
            keys, values = projected[2 * number : 2 * number + 2]
            graph.output(
                f"memory.keys.{number}", parts.heads(keys, transposed=True), FLOAT, self._memory_shapes["keys"]
            )
            graph.output(f"memory.values.{number}", parts.heads(values), FLOAT, self._memory_shapes["values"])
        graph.output("memory.mask", mask, FLOAT, self._memory_shapes["mask"])

    @property
    def _memory_shapes(self) -> dict[str, list[Size]]:
        heads, size = self.config.heads, self.config.dim // self.config.heads
        return {
            "keys": ["batch", heads, size, "src"],
            "values": ["batch", heads, "src", size],
            "mask": ["batch", 1, 1, "src"],
        }

    def decoder_step(self) -> Graph:
        """tokens [batch, beam], position, states and memory -> features, weights, the next states.

        The attention weights are those of `Alignment.one_map`: the mean over the heads of the penultimate layer, or the
        first head of the last one.
        """
        parts, config = self._parts("writer"), self.config
        graph = parts.graph
        row: list[Size] = ["batch", "beam", config.dim]
        tokens = graph.input("tokens", INT64, ["batch", "beam"])
        position = graph.input("position", INT64, [])
        states = [graph.input(f"state.{number}", FLOAT, row) for number in range(config.decoder_layers)]
        mask = graph.input("memory.mask", FLOAT, self._memory_shapes["mask"])
        table = graph.constant(position_table(config, self.weights, "decoder"), is_table=True)
        x = parts.embed(tokens, self._target_embedding, graph.op("Gather", table, position))
        for number, state in enumerate(states):
            layer = f"decoder.layers.{number}"
            keys, values = (
                graph.input(f"memory.{name}.{number}", FLOAT, self._memory_shapes[name]) for name in ("keys", "values")
            )
            x, after = self._ssru(parts, x, state, layer)
            graph.output(f"next.{number}", after, FLOAT, row)
            x, shares = self._source_attention(parts, x, (keys, values, mask), layer)
            if has_guided_alignment(config) and number == config.decoder_layers - 1:
                first = graph.op("Gather", shares, graph.constant(np.asarray(0, np.int64)), axis=1)
                graph.output("weights", first, FLOAT, ["batch", "beam", "src"])
            elif config.alignment_map == "penultimate" and number == max(config.decoder_layers - 2, 0):
                mean = graph.op("ReduceMean", shares, graph.numbers(1), keepdims=0)
                graph.output("weights", mean, FLOAT, ["batch", "beam", "src"])
            x = parts.feed_forward(x, layer)
        graph.output("features", parts.final_norm(x, "decoder"), FLOAT, row)
        return graph

    def _ssru(self, parts: TransformerParts, x: Value, cell: Value, layer: str) -> tuple[Value, Value]:
        """c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ W x_t = W x_t + f_t ⊙ (c_{t−1} − W x_t)."""
        graph, dim, around = parts.graph, self.config.dim, f"{layer}.around_self"
        matrices = WeightRows(f"{layer}.ssru.W", ""), WeightRows(f"{layer}.ssru.W_f", f"{layer}.ssru.b_f")
        added, forget = graph.split(parts.linear(parts.before(x, around), *matrices), dim, dim)
        kept = graph.op("Mul", graph.op("Sigmoid", forget), graph.op("Sub", cell, added))
        after = graph.op("Add", added, kept)
        return parts.after(x, graph.op("Relu", after), around), after

    def _source_attention(
        self, parts: TransformerParts, x: Value, memory: tuple[Value, Value, Value], layer: str
    ) -> tuple[Value, Value]:
        name, around = f"{layer}.source_attention", f"{layer}.around_source"
        rows = WeightRows(f"{name}.W_qkv", f"{name}.b_qkv", slice(self.config.dim))
        queries = parts.heads(parts.linear(parts.before(x, around), rows))
        context, shares = parts.attend(queries, *memory)
        return parts.after(x, parts.linear(context, WeightRows(f"{name}.W_o", f"{name}.b_o")), around), shares

    def output_layer(self) -> Graph:
        """features [batch, beam, dim], tokens [batch, n], bias [batch, 1, n] -> log_probs of these tokens.

        The product is that of the vocabulary, whose matrix is prepared once. Without tokens (n = 0) the log_probs are
        [batch, beam, vocab]. A bias of −∞ excludes a token; that of the output layer is added in any case.
        """
        parts = self._parts("output")
        graph = parts.graph
        features = graph.input("features", FLOAT, ["batch", "beam", self.config.dim])
        tokens = graph.input("tokens", INT64, ["batch", "n"])
        bias = graph.input("bias", FLOAT, ["batch", 1, "n"])
        scores = parts.linear(features, WeightRows(self._output_weight, "decoder.output.bias"))
        beam = graph.op("Shape", features, start=1, end=2)
        some, every = graph.branch("some"), graph.branch("every")
        rows = some.op("Concat", some.numbers(1), beam, some.numbers(1), axis=0)
        columns = some.op("Expand", some.op("Unsqueeze", tokens, some.numbers(1)), rows)  # [batch, beam, n]
        chosen = some.op("Add", some.op("GatherElements", scores, columns, axis=-1), bias)
        for branch, values in ((some, chosen), (every, scores)):
            branch.output(f"{branch.name}.log_probs", branch.op("LogSoftmax", values, axis=-1), FLOAT, ["b", "r", "t"])
        has_tokens = graph.op("Greater", graph.op("Size", tokens), graph.constant(np.asarray(0, np.int64)))
        graph.output("log_probs", graph.when(has_tokens, some, every), FLOAT, ["batch", "beam", "tokens"])
        return graph

    def shortlist_rows(self) -> Graph:
        """tokens [batch, n] -> the output matrix of these tokens, transposed, their steps, and their biases."""
        parts = self._parts("shortlist")
        graph = parts.graph
        tokens = graph.input("tokens", INT64, ["batch", "n"])
        ones = graph.op("Unsqueeze", tokens, graph.numbers(1))  # [batch, 1, n]
        kind, matrix = FLOAT, self.weights[self._output_weight]
        if graph.is_int8:
            kind = INT8
            found = rows_quantised(parts, self._output_weight)
            matrix = found.integers
            steps = graph.op("Gather", graph.constant(found.steps), ones)
            graph.output("output.steps", steps, FLOAT, ["batch", 1, "n"])
        chosen = graph.op(
            "Transpose", graph.op("Gather", graph.constant(matrix, is_table=True), tokens), perm=[0, 2, 1]
        )
        graph.output("output.matrix", chosen, kind, ["batch", self.config.dim, "n"])
        biases = graph.op("Gather", graph.constant(self.weights["decoder.output.bias"]), ones)
        graph.output("output.bias", biases, FLOAT, ["batch", 1, "n"])
        return graph

    def shortlist_output(self) -> Graph:
        """features, the outputs of `shortlist_rows`, bias [batch, 1, n] (−∞ excludes) -> log_probs [batch, beam, n]."""
        parts, dim = self._parts("projection"), self.config.dim
        graph = parts.graph
        features = graph.input("features", FLOAT, ["batch", "beam", dim])
        matrix = graph.input("output.matrix", INT8 if graph.is_int8 else FLOAT, ["batch", dim, "n"])
        own_bias = graph.input("output.bias", FLOAT, ["batch", 1, "n"])
        bias = graph.input("bias", FLOAT, ["batch", 1, "n"])
        if graph.is_int8:
            steps = graph.input("output.steps", FLOAT, ["batch", 1, "n"])
            multiplier = rows_quantised(parts, self._output_weight).multiplier
            product = graph.op("Mul", graph.product_of_inputs(features, matrix, multiplier=multiplier), steps)
        else:
            product = graph.op("MatMul", features, matrix)
        scores = graph.op("Add", product, graph.op("Add", own_bias, bias))
        graph.output("log_probs", graph.op("LogSoftmax", scores, axis=-1), FLOAT, ["batch", "beam", "n"])
        return graph
