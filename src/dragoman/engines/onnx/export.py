"""Export a saved recurrent model to two ONNX graphs, encoder and decoder step. Imports no torch.

With int8, large products use 8-bit integers; encoder recurrences, attention and all other operations use float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config.schema import RnnConfig
from dragoman.engines.onnx.graph.builder import Array
from dragoman.engines.onnx.graph.decoder_step import build_decoder_step
from dragoman.engines.onnx.graph.encoder import build_encoder
from dragoman.engines.onnx.graph.weight_shapes import weight_shapes
from dragoman.errors import BundleError, CombinationError

FORMAT = 1
"""Increased whenever the exported files change."""
PACKAGES = ("onnx",)
ENCODER_FILE = "reader.onnx"
DECODER_STEP_FILE = "writer.onnx"


def export_onnx(bundle: Bundle, folder: Path, precision: str) -> None:
    """Write the graphs to an existing folder; `precision` is float32 or int8."""
    config = bundle.config.model
    if not isinstance(config, RnnConfig):
        raise CombinationError(
            f"model.family must be rnn for ONNX Runtime, got {config.family}; use the engine ctranslate2 or torch"
        )
    write_graphs(config, _weights(bundle, config), folder, precision)


def write_graphs(config: RnnConfig, weights: Mapping[str, Array], folder: Path, precision: str) -> None:
    """Write the graphs of a model; the weights must match its configuration."""
    encoder, memory = build_encoder(config, weights, precision)
    encoder.save(folder / ENCODER_FILE)
    build_decoder_step(config, weights, precision, memory).save(folder / DECODER_STEP_FILE)


def _weights(bundle: Bundle, config: RnnConfig) -> dict[str, Array]:
    """The weights, checked against the configuration."""
    weights: dict[str, Array] = dict(bundle.weights())
    tokenizers = bundle.tokenizers()
    wanted = weight_shapes(config, tokenizers["source"].size, tokenizers["target"].size)
    if {name: array.shape for name, array in weights.items()} != wanted:
        raise BundleError(
            f"the weights of {bundle.folder} must be those of the model that its configuration describes, got others; "
            "restore it from its source"
        )
    return weights
