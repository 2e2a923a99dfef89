"""Our Transformer's weights, by names that need no Dragoman: `encoder.0.self.q`, `decoder.norm.bias`, `embedding` …

They are written in our environment, and read by the drivers of other toolkits, which fill in theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
FILE = "weights.npz"
RENAMED = {
    ".layers.": ".",
    ".around_attention.": ".self.",
    ".around_self.": ".self.",
    ".around_source.": ".source.",
    ".around_feedforward.": ".feedforward.",
    ".feedforward.W_1.": ".up.",
    ".feedforward.W_2.": ".down.",
    ".self_attention.": ".self.",
    ".source_attention.": ".source.",
    ".attention.": ".self.",
    ".W_o": ".o",
}


def plain(weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """A bundle's weights under the names of this module; queries, keys and values apart. All embeddings are one."""
    found: dict[str, Floats] = {}
    for key, array in weights.items():
        name = key
        for old, new in RENAMED.items():
            name = name.replace(old, new)
        if name.endswith(".W_qkv"):
            for part, matrix in zip("qkv", np.split(array, 3), strict=True):
                found[name.removesuffix("W_qkv") + part] = matrix
        else:
            found[name] = array
    found["embedding"], found["bias"] = found.pop("encoder.embedding.weight"), found.pop("decoder.output.bias")
    return found


def write(weights: Mapping[str, Floats], folder: Path) -> None:
    """Once, for all drivers."""
    arrays: dict[str, Any] = plain(weights)
    np.savez(folder / FILE, **arrays)


def read(folder: Path, tensor: Callable[[Floats], Any]) -> dict[str, Any]:
    """By name, as the tensors of a toolkit."""
    with np.load(folder / FILE) as arrays:
        return {name: tensor(arrays[name]) for name in arrays.files}


def positions(count: int, dim: int) -> Floats:
    """Sines and cosines in turn. Shapes: -> [count, dim]."""
    angle = np.arange(count)[:, None] * np.exp(np.arange(0, dim, 2) * (-np.log(10000.0) / dim))
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(count, dim).astype(np.float32)
