"""Build the parts of Transformers in an ONNX graph: embedding, products, residuals, attention and feed-forward.

Attention scores are scaled in the weights: rows of queries or keys are multiplied by 1/√d, which for int8 changes only
their steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from dragoman.bundle.weights import Quantization
from dragoman.config.schema import TransformerConfig
from dragoman.engines.onnx.graph.builder import FLOAT, Array, Graph, Value, quantised_rows

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
        """The integers of all parts: those stored, or new ones if only inputs are; None if neither is.

        The multiplier is None if the parts have several, so that the range of the input is measured.
        """
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
