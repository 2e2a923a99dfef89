"""From a bundle to the two graphs that ONNX Runtime runs, made from its weights. Needs no torch.

In int8 the large products are between 8-bit numbers; the recurrences of the encoder, the attention and everything that
is not a product stay in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config.schema import RnnConfig
from dragoman.engines.onnx_graph.graph import Array
from dragoman.engines.onnx_graph.reader import reader
from dragoman.engines.onnx_graph.shapes import weight_shapes
from dragoman.engines.onnx_graph.writer import writer
from dragoman.errors import BundleError, CombinationError

__all__ = ["FORMAT", "PACKAGES", "READER", "WRITER", "export_onnx", "write_graphs"]

FORMAT = 1
"""Grows whenever the files written here change."""
PACKAGES = ("onnx",)
READER = "reader.onnx"
WRITER = "writer.onnx"


def export_onnx(bundle: Bundle, folder: Path, precision: str) -> None:
    """Write the graphs into a folder that is there; `precision` is float32 or int8."""
    config = bundle.config.model
    if not isinstance(config, RnnConfig):
        raise CombinationError(
            f"model.family must be rnn for ONNX Runtime, got {config.family}; use the engine ctranslate2 or torch"
        )
    write_graphs(config, _weights(bundle, config), folder, precision)


def write_graphs(config: RnnConfig, weights: Mapping[str, Array], folder: Path, precision: str) -> None:
    """The graphs of a model with these weights, which must fit its configuration."""
    reads, kept = reader(config, weights, precision)
    reads.save(folder / READER)
    writer(config, weights, precision, kept).save(folder / WRITER)


def _weights(bundle: Bundle, config: RnnConfig) -> dict[str, Array]:
    """The weights, if they are those that the configuration asks for."""
    weights: dict[str, Array] = dict(bundle.weights())
    tokenizers = bundle.tokenizers()
    wanted = weight_shapes(config, tokenizers["source"].size, tokenizers["target"].size)
    if {name: array.shape for name, array in weights.items()} != wanted:
        raise BundleError(
            f"the weights of {bundle.folder} must be those of the model that its configuration describes, got others; "
            "restore it from where it came from"
        )
    return weights
