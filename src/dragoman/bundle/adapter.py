"""LoRA adapters: files with low-rank changes of the weights of one bundle, and the bundle with these changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self, TypeVar

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

ADAPTER = "adapter.safetensors"
"""Name of the file in the folder of a run."""

_FORMAT = "dragoman-lora-1"
"""Key of the metadata; its value is JSON, since safetensors stores several keys in a random order."""
_FIX = "name the adapter.safetensors of a run with [training.lora]"
Matrix = NDArray[np.float32]
_PARTS = "parametrizations"  # the name that torch.nn.utils.parametrize gives them
_ORIGINAL = "original"
Weight = TypeVar("Weight")


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
    """W′ = W + (alpha / rank) B A ([hu2022] (3)); `factors` A [rank, in], B [out, rank] by weight, `base` its hash."""

    base: str
    rank: int
    alpha: float
    factors: Mapping[str, tuple[Matrix, Matrix]]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Read and check a file."""
        if not path.is_file():
            raise BundleError(f"{path} does not exist; {_FIX}")
        check_weights(path)
        refuse_non_finite(path)
        with safe_open(path, framework="numpy") as file:
            stated, names = (file.metadata() or {}).get(_FORMAT), sorted(file.keys())
            if stated is None:
                raise BundleError(f"{path} is no adapter of the format {_FORMAT}; {_FIX}")
            weights = [name.removesuffix(".lora_A") for name in names if name.endswith(".lora_A")]
            if names != sorted(f"{name}.{part}" for name in weights for part in ("lora_A", "lora_B")):
                raise BundleError(f"{path} does not hold exactly lora_A and lora_B of each weight; {_FIX}")
            factors = {name: (file.get_tensor(f"{name}.lora_A"), file.get_tensor(f"{name}.lora_B")) for name in weights}
        try:
            facts = _Facts.model_validate_json(stated)
        except ValidationError:
            raise BundleError(f"{path} does not state its rank, alpha and base; {_FIX}") from None
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
        if (weights := base_hash(bundle)) != self.base:
            raise BundleError(
                f"{bundle.folder} is not the base of the adapter: its weights have the SHA-256 {weights[:16]}…, those "
                f"of the base {self.base[:16]}…; name the bundle of start.bundle"
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


def split_lora(weights: Mapping[str, Weight]) -> tuple[dict[str, Weight], dict[str, tuple[Weight, Weight]]]:
    """Split the weights of a checkpoint into those of the base model, by their usual names, and the factors.

    The factors are lora_A [rank, in] and lora_B [out, rank], by the name of the weight.
    """
    base: dict[str, Weight] = {}
    parts: dict[str, dict[str, Weight]] = {}
    for name, tensor in weights.items():
        module, found, rest = name.partition(f"{_PARTS}.")
        if not found:
            base[name] = tensor
            continue
        weight, part = rest.split(".", 1)
        if part == _ORIGINAL:
            base[module + weight] = tensor
        else:
            parts.setdefault(module + weight, {})[part.rpartition(".")[2]] = tensor
    return base, {name: (part["lora_A"], part["lora_B"]) for name, part in parts.items()}


def merge_adapter(bundle: Bundle, adapter: Adapter, output: Path) -> Bundle:
    """Write a bundle of the base with the changes of its adapter, its shortlist and settings; int8 is made again."""
    if output.resolve() == bundle.folder.resolve():
        raise BundleError(f"--output {output} is the folder of the base; name a new one")
    adapter.check_base(bundle)
    note = f"A LoRA adapter of rank {adapter.rank} and alpha {adapter.alpha:g} is merged into its weights."
    card = f"{bundle.card().rstrip()}\n\n{note} Scores above are those of the base, {bundle.digest[:16]}.\n"
    config = bundle.config.model_copy(update={"inference": bundle.inference()})
    weights, stored = adapter.merged(bundle.weights()), bundle.quantization()
    return write_bundle(
        output,
        config,
        weights,
        bundle.tokenizers(),
        card,
        quantization=stored and stored.for_weights({name: each.shape for name, each in weights.items()}),
        shortlist=bundle.shortlist(),
    )
