"""The int8 form of weights: exact integers, and a checked file of a bundle."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from dragoman.bundle import Bundle, write_bundle, write_verified
from dragoman.bundle.bundle import QUANTIZATION
from dragoman.bundle.quantization import Quantization
from dragoman.errors import BundleError

NAME = "encoder.embedding.weight"


def test_integers_divided_by_any_multiplier_are_found_again():
    generator = np.random.default_rng(1)
    integers = generator.integers(-127, 128, (300, 40)).astype(np.int8)
    multipliers = np.exp(generator.uniform(-8, 8, 300)).astype(np.float32)
    weight = integers.astype(np.float32) / multipliers[:, None]
    found = Quantization({"a": multipliers}, {}).integers("a", weight)
    assert found.dtype == np.int8
    assert np.array_equal(found, integers)


def test_weights_that_are_no_integers_are_refused():
    one = Quantization({"a": np.ones(2, np.float32)}, {})
    for weight in ([[1.0, 2.5], [0.0, 0.0]], [[1.0, 300.0], [0.0, 0.0]]):
        with pytest.raises(BundleError, match="a must hold integers divided by their multipliers"):
            one.integers("a", np.asarray(weight, np.float32))


def test_a_bundle_keeps_it(bundle: Bundle, tmp_path: Path):
    multipliers = np.full(bundle.tokenizers()["source"].size, 20.0, np.float32)
    quantization = Quantization({NAME: multipliers}, {NAME: multipliers * 2})
    kept = write_bundle(
        tmp_path / "b", bundle.config, bundle.weights(), bundle.tokenizers(), "card", quantization=quantization
    )
    found = Bundle.open(kept.folder).quantization()
    assert found is not None
    assert np.array_equal(found.weights[NAME], multipliers)
    assert np.array_equal(found.inputs[NAME], multipliers * 2)
    assert bundle.quantization() is None


ROWS = np.ones(3, np.float32)
SHAPES = {"a": (3, 4), "bias": (3,)}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"nothing", "must be safetensors"),
        (save({"other": ROWS}), "must hold multipliers of weights"),
        (save({"inputs/a": ROWS}), "must hold multipliers of weights"),
        (save({"weights/a": ROWS[:2]}), "of a must be one float32 multiplier per row"),
        (save({"weights/a": ROWS.astype(np.float64)}), "of a must be one float32 multiplier per row"),
        (save({"weights/bias": ROWS}), "of bias must be one float32 multiplier per row"),
        (save({"weights/unknown": ROWS}), "of unknown must be one float32 multiplier per row"),
        (save({"weights/a": ROWS * 0}), "must be positive and finite"),
        (save({"weights/a": ROWS * np.float32(np.nan)}), "must be positive and finite"),
    ],
)
def test_other_files_are_refused(data: bytes, complaint: str):
    with pytest.raises(BundleError, match=complaint):
        Quantization.from_bytes(data, SHAPES)


def test_a_bundle_with_another_file_of_that_name_is_refused(bundle: Bundle, tmp_path: Path):
    with write_verified(tmp_path / "other") as draft:
        for name in bundle.manifest["files"]:
            shutil.copy(bundle.folder / name, draft)
        (draft / QUANTIZATION).write_bytes(b"{}")
    with pytest.raises(BundleError, match="the quantization of a bundle must be safetensors"):
        Bundle.open(tmp_path / "other")
