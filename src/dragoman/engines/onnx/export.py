"""Export a saved model to ONNX graphs: recurrent models, and Transformers with an SSRU decoder. Imports no torch.

With int8, large products use 8-bit integers; encoder recurrences, attention and all other operations use float32.
Weights that a bundle has in int8 are exported unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.bundle import Bundle
from dragoman.bundle.bundle import WEIGHTS
from dragoman.config.rnn import RnnConfig
from dragoman.errors import CombinationError

if TYPE_CHECKING:
    from dragoman.engines.onnx.graph.builder import Array

FORMAT = 4
"""Increased whenever the exported files change."""
PACKAGES: tuple[str, ...] = ()
"""None: the versions of operators and of the format are fixed, with any version of the package onnx."""
ENCODER_FILE = "reader.onnx"
DECODER_STEP_FILE = "writer.onnx"
OUTPUT_FILE = "output.onnx"
"""The output layer over the vocabulary; recurrent models have it in the decoder step."""
SHORTLIST_ROWS_FILE = "shortlist.onnx"
SHORTLIST_OUTPUT_FILE = "projection.onnx"
SHARED_WEIGHTS_FILE = "weights.bin"
"""Tables, and the weights of all graphs of a Transformer that its bundle does not store unchanged."""


def export_onnx(bundle: Bundle, folder: Path, precision: str, *, alone: bool = False) -> None:
    """Write the graphs; unless they are used `alone`, they refer to the int8 matrices in the file of the bundle."""
    config = bundle.config.model
    if isinstance(config, RnnConfig):
        write_graphs(config, bundle.weights(), folder, precision)
        return
    if config.decoder != "ssru":
        raise CombinationError(
            f"model.decoder must be ssru for a Transformer on ONNX Runtime, got {config.decoder}; use the engine "
            "ctranslate2 or torch"
        )
    if config.norm_form != "variance":
        raise CombinationError(
            f"model.norm_form must be variance on ONNX Runtime, got {config.norm_form}; use the engine torch"
        )
    from dragoman.engines.onnx.graph.builder import SharedWeights  # noqa: PLC0415 -- most models are exported
    from dragoman.engines.onnx.graph.ssru_graphs import SsruGraphs  # noqa: PLC0415

    weights = bundle.folder / WEIGHTS
    shared = SharedWeights(folder / SHARED_WEIGHTS_FILE, None if alone else weights)
    graphs = SsruGraphs(config, bundle.weights(), precision, bundle.quantization(), shared)
    graphs.encoder().save(folder / ENCODER_FILE)
    graphs.decoder_step().save(folder / DECODER_STEP_FILE)
    if bundle.shortlist() is not None:
        graphs.shortlist_rows().save(folder / SHORTLIST_ROWS_FILE)
        graphs.shortlist_output().save(folder / SHORTLIST_OUTPUT_FILE)
    graphs.output_layer().save(folder / OUTPUT_FILE)  # it may be opened later, and then refers to their tables
    shared.save()


def write_graphs(config: RnnConfig, weights: Mapping[str, Array], folder: Path, precision: str) -> None:
    """Write the graphs of a recurrent model; the weights must match its configuration."""
    from dragoman.engines.onnx.graph.attention import SCORES  # noqa: PLC0415 -- most models are exported
    from dragoman.engines.onnx.graph.recurrent_graphs import build_decoder_step, build_encoder  # noqa: PLC0415

    if config.decoder.query_context:
        raise CombinationError(
            "model.decoder.query_context must be false for a recurrent model on ONNX Runtime, got true; use the engine "
            "torch"
        )
    if config.encoder.structured_rows:
        raise CombinationError(
            f"model.encoder.structured_rows must be 0 for a recurrent model on ONNX Runtime, got "
            f"{config.encoder.structured_rows}; use the engine torch"
        )
    if config.decoder.attend != "none" and config.attention.score not in SCORES:
        raise CombinationError(
            f"model.attention.score must be one of {', '.join(SCORES)} for a recurrent model on ONNX Runtime, got "
            f"{config.attention.score}; use the engine torch"
        )
    encoder, memory = build_encoder(config, weights, precision)
    encoder.save(folder / ENCODER_FILE)
    build_decoder_step(config, weights, precision, memory).save(folder / DECODER_STEP_FILE)
