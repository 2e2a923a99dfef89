"""Build recurrent cells in an ONNX graph: over a complete sequence, and for a single step.

ONNX orders the gates differently, and z of its GRU is 1 - z of the published cell; both are handled in the weights,
since σ(-x) = 1 - σ(x).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.engines.onnx.graph.builder import Array, Graph, Value

_SEQUENCE_OPERATORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rnn": ("RNN", "h", {}),
    "lstm": ("LSTM", "iofg", {}),
    "gru-published": ("GRU", "zrh", {"linear_before_reset": 0}),
    "gru-fused": ("GRU", "zrn", {"linear_before_reset": 1}),
}
"""The ONNX operator, its gate order in our letters, and its attributes."""

_ORDERS = {"rnn": "h", "lstm": "ifgo", "gru-published": "zrh", "gru-fused": "rzn"}
"""The gate order of bundles, as in `dragoman.nn.recurrent`."""


@dataclass(frozen=True)
class CellWeights:
    """The weights of a cell. Shapes: W [gates * hidden, inputs], U [gates * hidden, hidden], b; b_after [hidden]."""

    cell: str
    W: Array
    U: Array
    b: Array
    b_after: Array | None

    @classmethod
    def of(cls, cell: str, weights: Mapping[str, Array], prefix: str) -> CellWeights:
        """The weights of a cell with this name prefix."""
        W, U, b = (weights[f"{prefix}.{name}"] for name in "WUb")
        return cls(cell, W, U, b, weights.get(f"{prefix}.b_U"))

    @property
    def hidden(self) -> int:
        return int(self.U.shape[1])

    def ordered(self, order: str) -> CellWeights:
        """Reorder the gates."""
        mine = _ORDERS[self.cell]
        pick = np.concatenate([np.arange(self.hidden) + self.hidden * mine.index(gate) for gate in order])
        return CellWeights(self.cell, self.W[pick], self.U[pick], self.b[pick], self.b_after)


def run_sequences(
    graph: Graph, x: Value, lengths: Value, directions: list[CellWeights]
) -> tuple[Value, list[list[Value]]]:
    """Run a cell over complete sentences in one or both directions.

    Shapes: x [src, batch, inputs], lengths [batch] (int32) -> states [src, batch, directions * hidden], and each
    direction's final state: its parts, each [batch, hidden].
    """
    cell, hidden = directions[0].cell, directions[0].hidden
    operator, order, attributes = _SEQUENCE_OPERATORS[cell]
    both = [_for_operator(weights.ordered(order)) for weights in directions]
    W, R, B = (graph.constant(np.stack(part)) for part in zip(*both, strict=True))
    parts = 2 if cell == "lstm" else 1
    states, *finals = graph.several(
        operator,
        *(x, W, R, B, lengths),
        results=1 + parts,
        hidden_size=hidden,
        direction="bidirectional" if len(directions) == 2 else "forward",
        **attributes,
    )  # [src, directions, batch, hidden], each [directions, batch, hidden]
    joined = graph.reshape(graph.op("Transpose", states, perm=[0, 2, 1, 3]), 0, 0, -1)
    places = [graph.numbers(number) for number in range(len(directions))]
    zero = graph.numbers(0)
    ends = [[graph.op("Squeeze", graph.op("Gather", part, place), zero) for part in finals] for place in places]
    return joined, ends


def _for_operator(weights: CellWeights) -> tuple[Array, Array, Array]:
    """W, U and the concatenated biases."""
    W, U, b, after = weights.W, weights.U, weights.b, np.zeros_like(weights.b)
    hidden = weights.hidden
    if weights.b_after is not None:
        after[2 * hidden :] = weights.b_after
    if weights.cell == "gru-published":
        W, U, b = (_negated(part, hidden) for part in (W, U, b))
    return W, U, np.concatenate([b, after])


def _negated(part: Array, rows: int) -> Array:
    return np.concatenate([-part[:rows], part[rows:]])


class StepCell:
    """One step of a cell, from the products of its inputs, with gates in `order`."""

    order: str
    parts = 1

    def __init__(self, weights: CellWeights) -> None:
        self.weights = weights.ordered(self.order)
        self.hidden = weights.hidden

    def step(self, graph: Graph, projected: Value, state: list[Value]) -> list[Value]:
        """Shapes: projected [rows, gates * hidden]: W x + b; state each [rows, hidden] -> state."""
        raise NotImplementedError


class _Rnn(StepCell):
    order = "h"

    def step(self, graph: Graph, projected: Value, state: list[Value]) -> list[Value]:
        return [graph.op("Tanh", graph.op("Add", graph.linear(state[0], self.weights.U), projected))]


class _Lstm(StepCell):
    order = "ifog"
    parts = 2

    def step(self, graph: Graph, projected: Value, state: list[Value]) -> list[Value]:
        gates = graph.op("Add", graph.linear(state[0], self.weights.U), projected)
        closed, candidate = graph.split(gates, 3 * self.hidden, self.hidden)
        i, f, o = graph.split(graph.op("Sigmoid", closed), *[self.hidden] * 3)
        kept, new = graph.op("Mul", f, state[1]), graph.op("Mul", i, graph.op("Tanh", candidate))
        cell = graph.op("Add", kept, new)
        return [graph.op("Mul", o, graph.op("Tanh", cell)), cell]


class _GruPublished(StepCell):
    order = "zrh"

    def step(self, graph: Graph, projected: Value, state: list[Value]) -> list[Value]:
        (h,) = state
        sizes = 2 * self.hidden, self.hidden
        for_gates, for_candidate = graph.split(projected, *sizes)
        U_gates, U_candidate = np.split(self.weights.U, [sizes[0]])
        gates = graph.op("Sigmoid", graph.op("Add", graph.linear(h, U_gates), for_gates))
        z, r = graph.split(gates, self.hidden, self.hidden)
        reset = graph.linear(graph.op("Mul", r, h), U_candidate)
        candidate = graph.op("Tanh", graph.op("Add", reset, for_candidate))
        return [_between(graph, h, candidate, z)]


class _GruFused(StepCell):
    order = "rzn"

    def step(self, graph: Graph, projected: Value, state: list[Value]) -> list[Value]:
        (h,) = state
        sizes = 2 * self.hidden, self.hidden
        assert self.weights.b_after is not None
        b = np.concatenate([np.zeros(sizes[0], np.float32), self.weights.b_after])
        from_x, candidate_x = graph.split(projected, *sizes)
        from_h, candidate_h = graph.split(graph.linear(h, self.weights.U, b), *sizes)
        r, z = graph.split(graph.op("Sigmoid", graph.op("Add", from_x, from_h)), self.hidden, self.hidden)
        candidate = graph.op("Tanh", graph.op("Add", candidate_x, graph.op("Mul", r, candidate_h)))
        return [_between(graph, candidate, h, z)]


def _between(graph: Graph, start: Value, end: Value, share: Value) -> Value:
    """start + share * (end - start). Shapes: all the same."""
    return graph.op("Add", start, graph.op("Mul", share, graph.op("Sub", end, start)))


CELLS: dict[str, type[StepCell]] = {
    "rnn": _Rnn,
    "lstm": _Lstm,
    "gru-published": _GruPublished,
    "gru-fused": _GruFused,
}
