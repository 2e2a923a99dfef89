"""Select the attention map of a layer and head for display; check the shape of its weights and clip them to 0–1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.config.alignment import AttentionReading
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.result import END, InspectionResult

__all__ = ["AttentionMap", "check_weights", "describe_map", "select_map"]


@dataclass(frozen=True)
class AttentionMap:
    """A map with the labels of its columns and rows, and its description. Shapes: weights [rows, columns]."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    weights: NDArray[np.float64]
    name: str


def select_map(
    result: InspectionResult,
    *,
    layer: int | None = None,
    head: int | None = None,
    reading: AttentionReading = "predicted",
) -> AttentionMap:
    """Select a map. Layers and heads count from 1; the default is the default layer and the mean of all heads."""
    if not result.has_attention:
        raise ConfigError("a model must have attention to draw a map of it, got one without; use one that has")
    if reading not in ("predicted", "input"):
        raise ConfigError(f"reading must be predicted or input, got {reading}; predicted is the usual one")
    maps = result.predicted if reading == "predicted" else result.given  # [layers, heads, tgt (+ 1), src + 1]
    layers, heads = maps.shape[:2]
    _check_number("layer", layer, layers)
    _check_number("head", head, heads)
    selected = result.default_layer + 1 if layer is None else layer
    of_layer = maps[selected - 1]
    rows = (*result.target_words, END) if reading == "predicted" else result.target_words
    weights: NDArray[np.float64] = of_layer.mean(0) if head is None else of_layer[head - 1]
    name = describe_map(selected, layers, head, heads, reading)
    return AttentionMap((*result.source_words, END), rows, weights, name)


def _check_number(name: str, number: int | None, maximum: int) -> None:
    if number is not None and not 1 <= number <= maximum:
        raise ConfigError(
            f"{name} must be from 1 to {maximum} in this model, got {number}; leave it out for the usual one"
        )


def describe_map(layer: int, layers: int, head: int | None, heads: int, reading: AttentionReading) -> str:
    """Describe a map in words: its layer, its heads and its reading."""
    parts = [] if layers == 1 else [f"layer {layer} of {layers}"]
    if heads > 1:
        parts.append(f"mean of {heads} heads" if head is None else f"head {head} of {heads}")
    parts.append("when each word is generated" if reading == "predicted" else "when each word is the input")
    return ", ".join(parts)


def check_weights(weights: ArrayLike, source_words: Sequence[str], target_words: Sequence[str]) -> NDArray[np.float64]:
    """Return the weights as an array, clipped to 0–1, with NaN as 0. Shapes: -> [tgt, src]."""
    values = np.asarray(weights, dtype=np.float64)
    expected = (len(target_words), len(source_words))
    if values.shape != expected:
        raise DataError(
            f"weights must be [{expected[0]} target words, {expected[1]} source words], got the shape {values.shape}; "
            "give one row for each target word, and in it one number for each source word"
        )
    return np.clip(np.nan_to_num(values), 0.0, 1.0)
