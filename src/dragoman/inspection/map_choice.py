"""Which of the maps of a translation is shown: a layer, a head or the mean of all, and whose look a step is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import ConfigError
from dragoman.inspection.inspected import END, Inspected

__all__ = ["ChosenMap", "Reading", "chosen_map"]

Reading = Literal["predicted", "input"]
"""Whose look a step is: that of the word it writes, or that of the word it was given."""


@dataclass(frozen=True)
class ChosenMap:
    """A map with the names of its columns and rows, and in words which it is. Shapes: weights [rows, columns]."""

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    weights: NDArray[np.float64]
    name: str


def chosen_map(
    inspected: Inspected, *, layer: int | None = None, head: int | None = None, reading: Reading = "predicted"
) -> ChosenMap:
    """One map. Layers and heads count from 1; without a layer it is the usual one, without a head the mean of all."""
    if not inspected.has_attention:
        raise ConfigError("a model must have attention to draw a map of it, got one without; use one that has")
    if reading not in ("predicted", "input"):
        raise ConfigError(f"reading must be predicted or input, got {reading}; predicted is the usual one")
    maps = inspected.predicted if reading == "predicted" else inspected.given  # [layers, heads, tgt (+ 1), src + 1]
    layers, heads = maps.shape[:2]
    _check("layer", layer, layers)
    _check("head", head, heads)
    chosen = inspected.default_layer + 1 if layer is None else layer
    of_layer = maps[chosen - 1]
    rows = (*inspected.target_words, END) if reading == "predicted" else inspected.target_words
    weights: NDArray[np.float64] = of_layer.mean(0) if head is None else of_layer[head - 1]
    return ChosenMap((*inspected.source_words, END), rows, weights, _name(chosen, layers, head, heads, reading))


def _check(name: str, number: int | None, most: int) -> None:
    if number is not None and not 1 <= number <= most:
        raise ConfigError(
            f"{name} must be from 1 to {most} in this model, got {number}; leave it out for the usual one"
        )


def _name(layer: int, layers: int, head: int | None, heads: int, reading: Reading) -> str:
    parts = [] if layers == 1 else [f"layer {layer} of {layers}"]
    if heads > 1:
        parts.append(f"mean of {heads} heads" if head is None else f"head {head} of {heads}")
    parts.append("as each word is written" if reading == "predicted" else "as each word is read back")
    return ", ".join(parts)
