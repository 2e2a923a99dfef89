"""Tables of positional encodings, for engines that look positions up and for importers. Imports no torch."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dragoman.config.schema import TransformerConfig

MAX_POSITIONS = 4096
"""Number of positions of encodings without a limit."""


def longest_sentence(config: TransformerConfig) -> int:
    """Maximum length of source and target, including the end."""
    return config.max_positions if config.positions == "learned" else MAX_POSITIONS


def position_table(
    config: TransformerConfig, weights: Mapping[str, NDArray[np.float32]], side: str
) -> NDArray[np.float32]:
    """The encodings of `side`, encoder or decoder. Shapes: -> [positions, dim]."""
    if config.positions == "learned":
        return weights[f"{side}.positions.weight"][config.position_offset :].copy()
    if config.positions == "none":
        return np.zeros((MAX_POSITIONS, config.dim), np.float32)
    return sinusoids(config.positions, config.position_offset, MAX_POSITIONS, config.dim).astype(np.float32)


def sinusoids(layout: str, offset: int, rows: int, dim: int) -> NDArray[np.float64]:
    """The layouts of `dragoman.nn.embedding`, from the position `offset`. Shapes: -> [rows, dim]."""
    even, step = np.arange(0, dim, 2, dtype=np.float64), dim
    if layout == "sinusoidal-tensor2tensor":
        even, step = even[: dim // 2], max(dim // 2 - 1, 1) * 2
    angle = (np.arange(rows, dtype=np.float64)[:, np.newaxis] + offset) * np.exp(even * (-np.log(10000.0) / step))
    if layout == "sinusoidal":
        both = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(rows, -1)  # sine, cosine, sine, …
    else:
        both = np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
        both = np.pad(both, ((0, 0), (0, max(0, dim - both.shape[1]))))
    return both[:, :dim]
