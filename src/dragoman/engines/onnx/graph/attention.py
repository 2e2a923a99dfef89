"""Build attention and recurrent cells in an ONNX graph: over a complete sequence, and for a single step.

Products that do not depend on the step are computed once per sentence. Keys are projected for scores that project them.
The context c_t = Σ_s a_t(s) h̄_s only enters linear maps, so the stored values are these maps of the states, and their
weighted sum is W c_t itself. Windows are masks over the complete source: it is rarely longer than a window, and
gathering would copy it. ONNX orders the gates of cells differently, and z of its GRU is 1 - z of the published cell;
both are handled in the weights, since σ(-x) = 1 - σ(x).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.config.rnn import RnnConfig
from dragoman.engines.onnx.graph.builder import FLOAT, Array, Graph, Size, Value

SourceMemory = dict[str, tuple[Value, list[Size]]]
"""The values of the source memory by name, with their shapes."""

SCORES = ("dot", "scaled-dot", "general", "concat", "location")
"""Score functions that have operators here; models with another one run on torch."""

_LOWEST = float(np.finfo(np.float32).min)


def attention_memory(
    graph: Graph, config: RnnConfig, weights: Mapping[str, Array], states: Value, lengths: Value, W_context: Array
) -> SourceMemory:
    """The source memory of a step. Shapes: states [batch, src, hidden], lengths [batch], W_context [out, value]."""
    kept: SourceMemory = {}
    bounded = config.encoder.join == "concat" or not config.encoder.bidirectional
    keys, values = states, states
    if config.attention.memory == "split":
        keys, values = graph.split(states, config.value_size, config.value_size)
    if config.attention.score == "concat":
        U_k = weights["decoder.attention.score.U_k"]
        projected = graph.linear(keys, U_k, bounded=bounded)
        kept["keys"] = (graph.op("Unsqueeze", projected, graph.numbers(1)), ["batch", 1, "src", U_k.shape[0]])
    elif config.attention.score != "location":
        kept["keys"] = (_product_keys(graph, config, weights, keys, bounded), ["batch", config.decoder.hidden, "src"])
    kept["values"] = (graph.linear(values, W_context, bounded=bounded), ["batch", "src", W_context.shape[0]])
    if config.attention.alignment in ("global", "hard"):
        kept["mask"] = (padding_mask(graph, states, lengths), ["batch", 1, "src"])
    else:
        each = graph.op("Unsqueeze", graph.op("Cast", lengths, to=FLOAT), graph.numbers(1, 2))
        kept["lengths"] = (each, ["batch", 1, 1])
    return kept


def _product_keys(graph: Graph, config: RnnConfig, weights: Mapping[str, Array], keys: Value, bounded: bool) -> Value:
    """Keys for dot products with a query. Shapes: [batch, src, key] -> [batch, query, src]."""
    if config.attention.score == "general":
        keys = graph.linear(keys, weights["decoder.attention.score.W_a"], bounded=bounded)
    elif config.attention.score == "scaled-dot":
        keys = graph.op("Mul", keys, graph.number(1.0 / math.sqrt(config.decoder.hidden)))
    return graph.op("Transpose", keys, perm=[0, 2, 1])


def _places(graph: Graph, like: Value, axis: int) -> Value:
    """0, 1, … as floats, for the length of an axis of `like`."""
    one = graph.op("Shape", like, start=axis, end=axis + 1)
    count = graph.op("Squeeze", one)
    zero, step = (graph.constant(np.asarray(number, np.int64)) for number in (0, 1))
    return graph.op("Cast", graph.op("Range", zero, count, step), to=FLOAT)


def padding_mask(graph: Graph, states: Value, lengths: Value) -> Value:
    """Zero for real positions, the lowest float for padding. Shapes: -> [batch, 1, src]."""
    each = graph.op("Unsqueeze", graph.op("Cast", lengths, to=FLOAT), graph.numbers(1, 2))
    is_real = graph.op("Less", _places(graph, states, 1), each)
    return graph.op("Where", is_real, graph.number(0.0), graph.number(_LOWEST))


def attend(
    graph: Graph, config: RnnConfig, weights: Mapping[str, Array], query: Value, kept: Mapping[str, Value]
) -> tuple[Value, Value]:
    """Attend to the source.

    Shapes: query [batch, beam, query] -> the products of the context [batch, beam, out], weights [batch, beam, src].
    """
    scores = _scores(graph, config, weights, query, kept)
    name = config.attention.alignment
    if name in ("global", "hard"):
        shares = graph.op("Softmax", graph.op("Add", scores, kept["mask"]), axis=-1)
        if name == "hard":
            shares = _one_hot(graph, shares)
    else:
        shares = _local(graph, config, weights, scores, query, kept)
    return graph.op("MatMul", shares, kept["values"]), shares


def _scores(
    graph: Graph, config: RnnConfig, weights: Mapping[str, Array], query: Value, kept: Mapping[str, Value]
) -> Value:
    """Scores of the positions. Shapes: [batch, beam, query] -> [batch, beam, src]."""
    if config.attention.score == "location":
        return _location(graph, weights["decoder.attention.score.W_a"], query, kept["values"])
    if config.attention.score != "concat":
        return graph.op("MatMul", query, kept["keys"])
    part = graph.linear(query, weights["decoder.attention.score.W_q"])
    both = graph.op("Add", graph.op("Unsqueeze", part, graph.numbers(2)), kept["keys"])  # [batch, beam, src, hidden]
    v_a = graph.constant(weights["decoder.attention.score.v_a"][:, None])
    return graph.op("Squeeze", graph.op("MatMul", graph.op("Tanh", both), v_a), graph.numbers(3))


def _location(graph: Graph, W_a: Array, query: Value, values: Value) -> Value:
    """W_a h_t for the available positions; the lowest float beyond the last. Shapes: -> [batch, beam, src]."""
    src = graph.op("Shape", values, start=1, end=2)
    positions = graph.numbers(W_a.shape[0])
    scores = graph.op("MatMul", query, graph.constant(W_a.T))  # [batch, beam, positions]
    first = graph.op("Slice", scores, graph.numbers(0), src, graph.numbers(2))
    beyond = graph.op("Max", graph.op("Sub", src, positions), graph.numbers(0))
    pads = graph.op("Concat", graph.numbers(0), beyond, axis=0)
    return graph.op("Pad", first, pads, graph.number(_LOWEST), graph.numbers(2))


def _one_hot(graph: Graph, shares: Value) -> Value:
    """All weight at the most likely position. Shapes: [batch, beam, src] -> the same."""
    place = graph.op("ArgMax", shares, axis=-1, keepdims=0)
    src = graph.op("Shape", shares, start=2, end=3)
    return graph.op("OneHot", place, src, graph.constant(np.asarray([0.0, 1.0], np.float32)), axis=-1)


def _local(
    graph: Graph,
    config: RnnConfig,
    weights: Mapping[str, Array],
    scores: Value,
    query: Value,
    kept: Mapping[str, Value],
) -> Value:
    """Weights within the window; all zero if it is empty. Shapes: [batch, beam, src] -> the same."""
    window = graph.number(config.attention.window)
    place = _places(graph, scores, 2)  # [src]
    if config.attention.alignment == "local-p":
        W_p, v_p = weights["decoder.attention.aligner.W_p"], weights["decoder.attention.aligner.v_p"]
        inner = graph.op("Tanh", graph.op("MatMul", query, graph.constant(W_p.T)))
        where = graph.op("Sigmoid", graph.op("MatMul", inner, graph.constant(v_p[:, None])))
        centre = graph.op("Mul", kept["lengths"], where)  # [batch, beam, 1]
    else:
        centre = graph.op("Cast", kept["position"], to=FLOAT)  # []
    first = graph.op("Ceil", graph.op("Sub", centre, window))
    last = graph.op("Floor", graph.op("Add", centre, window))
    inside = graph.op("And", graph.op("GreaterOrEqual", place, first), graph.op("LessOrEqual", place, last))
    may_attend = graph.op("And", inside, graph.op("Less", place, kept["lengths"]))
    soft = graph.op("Softmax", graph.op("Where", may_attend, scores, graph.number(_LOWEST)), axis=-1)
    shares = graph.op("Where", may_attend, soft, graph.number(0.0))
    if config.attention.alignment != "local-p":
        return shares
    off = graph.op("Sub", place, centre)
    two_variances = graph.number(-2 * (config.attention.window / 2) ** 2)
    gaussian = graph.op("Exp", graph.op("Div", graph.op("Mul", off, off), two_variances))
    return graph.op("Mul", shares, gaussian)


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
