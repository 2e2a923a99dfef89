"""Decoder weights that both ONNX graphs use: embeddings, output layer, cells and context projections."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dragoman.config.schema import RnnConfig
from dragoman.engines.onnx.graph.builder import Array
from dragoman.engines.onnx.graph.cells import CELLS, CellWeights, StepCell


def source_vectors(weights: Mapping[str, Array]) -> Array:
    """The source's word vectors. Shapes: [vocab, embedding]."""
    return weights["encoder.embedding.weight"]


def target_vectors(weights: Mapping[str, Array]) -> Array:
    """The target's word vectors; stored once if tied to the source. Shapes: [vocab, embedding]."""
    return weights.get("decoder.embedding.weight", source_vectors(weights))


def output_weight(weights: Mapping[str, Array]) -> Array:
    """The output weights; stored once if tied to the word vectors. Shapes: [vocab, features]."""
    return weights.get("decoder.output.weight", target_vectors(weights))


def cells(config: RnnConfig, weights: Mapping[str, Array]) -> list[StepCell]:
    """The decoder's layers, the lowest first."""
    kind = config.decoder.cell
    prefixes = [f"decoder.stack.cells.{layer}" for layer in range(config.decoder.layers)]
    return [CELLS[kind](CellWeights.of(kind, weights, prefix)) for prefix in prefixes]


def context_products(config: RnnConfig, weights: Mapping[str, Array]) -> Array:
    """All linear maps of the context, concatenated; that of the lowest cell first. Shapes: [out, value]."""
    if config.decoder.attend == "after":
        return weights["decoder.W_c"][:, : config.value_size]
    into_cell = cells(config, weights)[0].weights.W[:, config.embedding :]
    if config.decoder.output == "linear":
        return into_cell
    return np.concatenate([into_cell, maxout_halves(weights["decoder.deep.C_o.weight"])])


def maxout_halves(rows: Array) -> Array:
    """Even rows, then odd rows: the maximum over pairs becomes the maximum of two halves."""
    return np.concatenate([rows[0::2], rows[1::2]])
