"""Build attention in an ONNX graph: keys and values of the source, and one attention step.

Products that do not depend on the step are computed once per sentence. Keys are projected for scores that project them.
The context c_t = Σ_s a_t(s) h̄_s only enters linear maps, so the stored values are these maps of the states, and their
weighted sum is W c_t itself.

Windows are masks over the complete source: it is rarely longer than a window, and gathering would copy it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

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
