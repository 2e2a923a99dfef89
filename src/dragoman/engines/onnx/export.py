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
from dragoman.errors import CombinationError

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
    write_graphs(config, bundle.weights(), folder, precision)


def write_graphs(config: RnnConfig, weights: Mapping[str, Array], folder: Path, precision: str) -> None:
    """Write the graphs of a model; the weights must match its configuration."""
    encoder, memory = build_encoder(config, weights, precision)
    encoder.save(folder / ENCODER_FILE)
    build_decoder_step(config, weights, precision, memory).save(folder / DECODER_STEP_FILE)
