"""Table of positional encodings, for engines that look positions up instead of computing them. Imports no torch."""

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
    return _sinusoids(config).astype(np.float32)


def _sinusoids(config: TransformerConfig) -> NDArray[np.float64]:
    """The layouts of `dragoman.nn.embedding`. Shapes: -> [positions, dim]."""
    even, step = np.arange(0, config.dim, 2, dtype=np.float64), config.dim
    if config.positions == "sinusoidal-tensor2tensor":
        even, step = even[: config.dim // 2], max(config.dim // 2 - 1, 1) * 2
    positions = np.arange(MAX_POSITIONS, dtype=np.float64)[:, np.newaxis] + config.position_offset
    angle = positions * np.exp(even * (-np.log(10000.0) / step))
    if config.positions == "sinusoidal":
        both = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(MAX_POSITIONS, -1)  # sine, cosine, sine, …
    else:
        both = np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
        both = np.pad(both, ((0, 0), (0, max(0, config.dim - both.shape[1]))))
    return both[:, : config.dim]
