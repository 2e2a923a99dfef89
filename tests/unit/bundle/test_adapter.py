"""Adapter files: what is written is read, and merging adds the scaled product to the weights of the right base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from dragoman.bundle import Bundle
from dragoman.bundle.adapter import Adapter, base_hash, merge_adapter
from dragoman.errors import BundleError
from tests.unit.cli.tiny_translators import typed
from tests.unit.engines.tiny_transformers import tiny_transformer

NAME = "encoder.layers.0.attention.W_o"
FACTS = {"base": "0" * 64, "rank": 2, "alpha": 3.0}
FORMAT = "dragoman-lora-1"


@pytest.fixture
def base(tmp_path: Path) -> Bundle:
    return tiny_transformer(tmp_path / "base", {})


def adapter_of(bundle: Bundle, *, rank: int = 2, alpha: float = 3.0) -> Adapter:
    draw = np.random.default_rng(1)
    rows, columns = bundle.weights()[NAME].shape
    a, b = draw.normal(size=(rank, columns)), draw.normal(size=(rows, rank))
    return Adapter(base_hash(bundle), rank, alpha, {NAME: (a.astype(np.float32), b.astype(np.float32))})


def test_merged_weights_are_the_base_plus_the_scaled_product(base: Bundle, tmp_path: Path):
    adapter = adapter_of(base)
    adapter.save(tmp_path / "adapter.safetensors")
    found = typed("merge", base.folder, tmp_path / "adapter.safetensors", "-o", tmp_path / "merged")
    assert found.exit_code == 0, found.output
    assert "1 weights changed, rank 2, alpha 3" in found.stdout
    merged, before = Bundle.open(tmp_path / "merged"), base.weights()
    after = merged.weights()
    assert after.keys() == before.keys()
    assert [name for name in after if after[name].tobytes() != before[name].tobytes()] == [NAME]
    a, b = adapter.factors[NAME]
    for row in range(len(b)):  # the literal sum
        for column in range(a.shape[1]):
            change = 3.0 / 2 * sum(float(b[row, k]) * float(a[k, column]) for k in range(2))
            assert after[NAME][row, column] == pytest.approx(float(before[NAME][row, column]) + change, abs=1e-6)
    assert "LoRA adapter of rank 2 and alpha 3" in merged.card()
    assert merged.config == base.config
    assert merged.quantization() is None


def test_a_saved_adapter_is_read_again(base: Bundle, tmp_path: Path):
    adapter = adapter_of(base, alpha=1 / 3)
    adapter.save(tmp_path / "a.safetensors")
    found = Adapter.open(tmp_path / "a.safetensors")
    assert (found.base, found.rank, found.alpha) == (adapter.base, 2, 1 / 3)
    assert all(np.array_equal(*pair) for pair in zip(found.factors[NAME], adapter.factors[NAME], strict=True))
    assert (tmp_path / "a.safetensors").stat().st_mode & 0o444 == (tmp_path / "base").stat().st_mode & 0o444


def test_another_base_is_refused(base: Bundle, tmp_path: Path):
    merged = merge_adapter(base, adapter_of(base), tmp_path / "merged")
    adapter_of(base).save(tmp_path / "adapter.safetensors")
    found = typed("merge", merged.folder, tmp_path, "-o", tmp_path / "again")
    assert found.exit_code != 0
    assert " is not the base of the adapter: its weights have the SHA-256 " in found.stderr
    assert not (tmp_path / "again").exists()
    with pytest.raises(BundleError, match=r"--output .* is the folder of the base; name a new one"):
        merge_adapter(base, adapter_of(base), base.folder)


@pytest.mark.parametrize(
    ("tensors", "facts", "message"),
    [
        ({"x.lora_A": (2, 3), "x.lora_B": (4, 2)}, {"key": "other"}, "is no adapter of the format"),
        ({"x.lora_A": (2, 3)}, {}, "does not hold exactly lora_A and lora_B of each weight"),
        (
            {"x.lora_A": (2, 3), "x.lora_B": (4, 2), "y": (1, 1)},
            {},
            "does not hold exactly lora_A and lora_B of each weight",
        ),
        ({"x.lora_A": (2, 3), "x.lora_B": (4, 2)}, {"rank": "many"}, "does not state its rank, alpha and base"),
        ({"x.lora_A": (2, 3), "x.lora_B": (4, 2)}, {"rank": 0}, "does not state its rank, alpha and base"),
        ({"x.lora_A": (2, 3), "x.lora_B": (4, 2)}, {"alpha": float("nan")}, "does not state its rank, alpha and base"),
        ({"x.lora_A": (2, 3), "x.lora_B": (4, 2)}, {"base": None}, "does not state its rank, alpha and base"),
        ({"x.lora_A": (2, 3), "x.lora_B": (4, 2)}, {}, "x must be a matrix that fits the adapter, got no such weight"),
        ({f"{NAME}.lora_A": (2, 3), f"{NAME}.lora_B": (4, 2)}, {}, "must be a matrix that fits the adapter, got"),
    ],
)
def test_other_files_are_refused_in_one_line(
    tensors: dict[str, tuple[int, int]], facts: dict[str, Any], message: str, base: Bundle, tmp_path: Path
):
    arrays = {name: np.ones(shape, np.float32) for name, shape in tensors.items()}
    stated = {name: value for name, value in (FACTS | {"base": base_hash(base)} | facts).items() if value is not None}
    save_file(arrays, tmp_path / "a.safetensors", {facts.get("key", FORMAT): json.dumps(stated)})
    found = typed("merge", base.folder, tmp_path / "a.safetensors", "-o", tmp_path / "merged")
    assert found.exit_code != 0
    assert message in found.stderr
    assert len(found.stderr.splitlines()) == 1
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"PK\x03\x04" + b"0" * 100])
def test_files_that_are_no_safetensors_are_refused(content: bytes, tmp_path: Path):
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(BundleError):
        Adapter.open(tmp_path / "a.safetensors")


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path):
    arrays = {"x.lora_A": np.full((2, 3), np.nan, np.float32), "x.lora_B": np.ones((4, 2), np.float32)}
    save_file(arrays, tmp_path / "a.safetensors", {FORMAT: json.dumps(FACTS)})
    with pytest.raises(BundleError, match="must hold finite weights, got NaN or infinity"):
        Adapter.open(tmp_path / "a.safetensors")
