"""Products of the decoder's weights that both graphs know: what words and context add, in the order of the steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dragoman.config.schema import RnnConfig
from dragoman.engines.onnx_graph.cells import CELLS, CellWeights, StepCell
from dragoman.engines.onnx_graph.graph import Array

__all__ = ["cells", "context_products", "maxout_halves", "output_weight", "source_vectors", "target_vectors"]


def source_vectors(weights: Mapping[str, Array]) -> Array:
    """The source's word vectors. Shapes: [vocab, embedding]."""
    return weights["encoder.embedding.weight"]


def target_vectors(weights: Mapping[str, Array]) -> Array:
    """The target's word vectors; tied to the source's they are saved once. Shapes: [vocab, embedding]."""
    return weights.get("decoder.embedding.weight", source_vectors(weights))


def output_weight(weights: Mapping[str, Array]) -> Array:
    """What features become scores by; tied to the word vectors they are saved once. Shapes: [vocab, features]."""
    return weights.get("decoder.output.weight", target_vectors(weights))


def cells(config: RnnConfig, weights: Mapping[str, Array]) -> list[StepCell]:
    """The decoder's layers, the lowest first."""
    kind = config.decoder.cell
    prefixes = [f"decoder.stack.cells.{layer}" for layer in range(config.decoder.layers)]
    return [CELLS[kind](CellWeights.of(kind, weights, prefix)) for prefix in prefixes]


def context_products(config: RnnConfig, weights: Mapping[str, Array]) -> Array:
    """Every linear map that the context enters, one below the other: the lowest cell's first. Shapes: [out, value]."""
    if config.decoder.attend == "after":
        return weights["decoder.W_c"][:, : config.value_size]
    into_cell = cells(config, weights)[0].weights.W[:, config.embedding :]
    if config.decoder.output == "linear":
        return into_cell
    return np.concatenate([into_cell, maxout_halves(weights["decoder.deep.C_o.weight"])])


def maxout_halves(rows: Array) -> Array:
    """The firsts of all pairs of rows, then the seconds: max over pairs becomes max of two halves."""
    return np.concatenate([rows[0::2], rows[1::2]])
