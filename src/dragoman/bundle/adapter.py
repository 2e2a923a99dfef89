"""LoRA adapters: files with low-rank changes of the weights of one bundle, and the bundle with these changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError
from safetensors import safe_open
from safetensors.numpy import save_file

from dragoman.bundle.bundle import WEIGHTS, Bundle, write_bundle
from dragoman.bundle.weights import check_weights, disk_errors, refuse_non_finite
from dragoman.config.base import Positive, Settings, Size
from dragoman.errors import BundleError
from dragoman.files import atomic_write, usual_permissions

__all__ = ["ADAPTER", "Adapter", "base_hash", "merge_adapter"]

ADAPTER = "adapter.safetensors"
"""Name of the file in the folder of a run."""

_FORMAT = "dragoman-lora-1"
"""Key of the metadata; its value is JSON, since safetensors stores several keys in a random order."""
_FIX = "name the adapter.safetensors of a run with [training.lora]"
Matrix = NDArray[np.float32]


def base_hash(bundle: Bundle) -> str:
    """Return the SHA-256 of the weights of a bundle, which identifies the base of an adapter."""
    found: str = bundle.manifest["files"][WEIGHTS]["sha256"]
    return found


class _Facts(Settings):
    """Metadata of a file."""

    base: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    rank: Size
    alpha: Positive


@dataclass(frozen=True)
class Adapter:
    """W′ = W + (alpha / rank) B A for some weights of a base model. Paper: [hu2022] (3).

    `factors` holds A [rank, in] and B [out, rank] by the name of the weight; `base` is the `base_hash` of its bundle.
    """

    base: str
    rank: int
    alpha: float
    factors: Mapping[str, tuple[Matrix, Matrix]]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read and check a file."""
        if not path.is_file():
            raise BundleError(f"the adapter must be a file, got {path}; {_FIX}")
        check_weights(path)
        refuse_non_finite(path)
        with safe_open(path, framework="numpy") as file:
            stated, names = (file.metadata() or {}).get(_FORMAT), sorted(file.keys())
            if stated is None:
                raise BundleError(f"{path} must be an adapter of the format {_FORMAT}, got another file; {_FIX}")
            weights = [name.removesuffix(".lora_A") for name in names if name.endswith(".lora_A")]
            if names != sorted(f"{name}.{part}" for name in weights for part in ("lora_A", "lora_B")):
                raise BundleError(f"{path} must hold lora_A and lora_B of each weight, got others; {_FIX}")
            factors = {name: (file.get_tensor(f"{name}.lora_A"), file.get_tensor(f"{name}.lora_B")) for name in weights}
        try:
            facts = _Facts.model_validate_json(stated)
        except ValidationError:
            raise BundleError(f"{path} must state its rank, alpha and base, got something else; {_FIX}") from None
        return cls(facts.base, facts.rank, facts.alpha, factors)

    def save(self, path: Path) -> None:
        """Write the file atomically."""
        tensors = {
            f"{name}.{part}": np.ascontiguousarray(matrix)
            for name, factors in self.factors.items()
            for part, matrix in zip(("lora_A", "lora_B"), factors, strict=True)
        }
        facts = {"base": self.base, "rank": self.rank, "alpha": self.alpha}
        with atomic_write(path) as draft, disk_errors(path), usual_permissions(draft):
            save_file(tensors, draft, {_FORMAT: json.dumps(facts)})

    def check_base(self, bundle: Bundle) -> None:
        """Require the bundle whose weights the adapter was trained with."""
        if (found := base_hash(bundle)) != self.base:
            raise BundleError(
                f"the adapter must be merged into the weights it was trained with, SHA-256 {self.base[:16]}, got "
                f"{found[:16]} in {bundle.path}; name the bundle of start.bundle"
            )

    def merged(self, weights: Mapping[str, Matrix]) -> dict[str, Matrix]:
        """Return all weights of the base with the changes added; sums are in float64."""
        result = dict(weights)
        scale = self.alpha / self.rank
        for name, (a, b) in self.factors.items():
            weight = weights.get(name)
            shapes = (a.shape, b.shape)
            if weight is None or weight.ndim != 2 or shapes != ((self.rank, weight.shape[1]), (len(weight), self.rank)):
                got = "no such weight" if weight is None else f"{weight.shape} and the factors {shapes}"
                raise BundleError(f"{ascii(name)[1:-1][:80]} must be a matrix that fits the adapter, got {got}; {_FIX}")
            change = scale * (b.astype(np.float64) @ a.astype(np.float64))
            result[name] = (weight + change).astype(np.float32)
        return result


def merge_adapter(bundle: Bundle, adapter: Adapter, output: Path) -> Bundle:
    """Write a bundle with the weights of the base and the changes of an adapter of this base.

    Its int8 weights and its shortlist are not copied: they are those of the base.
    """
    if output.resolve() == bundle.folder.resolve():
        raise BundleError(f"--output must be another folder than the base, got {output}; name a new one")
    adapter.check_base(bundle)
    note = f"A LoRA adapter of rank {adapter.rank} and alpha {adapter.alpha:g} is merged into its weights."
    card = f"{bundle.card().rstrip()}\n\n{note} Scores above are those of the base, {bundle.digest[:16]}.\n"
    return write_bundle(output, bundle.config, adapter.merged(bundle.weights()), bundle.tokenizers(), card)
