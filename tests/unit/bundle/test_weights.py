"""Weight files are checked before use."""

import errno
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import save, save_file

from dragoman.bundle import Bundle, write_bundle, write_verified
from dragoman.bundle.bundle import QUANTIZATION
from dragoman.bundle.weights import (
    Quantization,
    check_weights,
    disk_errors,
    read_weights,
    refuse_non_finite,
    write_weights,
)
from dragoman.errors import BundleError

NAME = "encoder.embedding.weight"


def test_arrays_that_are_not_contiguous_are_written_right(tmp_path: Path):
    path = tmp_path / "w"
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    write_weights(path, {"w": array})
    check_weights(path)
    np.testing.assert_array_equal(read_weights(path)["w"], array)


def test_no_weights_are_no_weights(tmp_path: Path):
    write_weights(tmp_path / "w", {})
    with pytest.raises(BundleError, match="holds no weights"):
        check_weights(tmp_path / "w")


def test_what_is_no_file_of_weights_is_told(tmp_path: Path):
    (tmp_path / "w").write_bytes(b"")
    with pytest.raises(BundleError, match="must be a safetensors file"):
        check_weights(tmp_path / "w")
    with pytest.raises(BundleError, match="must hold float32 weights"):
        read_weights(tmp_path / "w")


def fail(text: str) -> None:
    with disk_errors(Path("w")):
        raise SafetensorError(text)


def test_faults_of_the_disk_get_their_number_back():
    with pytest.raises(OSError, match="No space left") as caught:
        fail("Error while serializing: I/O error: No space left on device (os error 28)")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == "w"
    with pytest.raises(SafetensorError):
        fail("something else")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 70_000, 199_999])
def test_one_value_that_is_not_finite_is_found_and_its_tensor_is_named(value: float, place: int, tmp_path: Path):
    path = tmp_path / "w"
    arrays = {"a": np.ones((3, 5), np.float32), "b": np.ones(200_000, np.float32), "c": np.ones(7, np.float32)}
    save_file(arrays, path)
    refuse_non_finite(path)
    arrays["b"][place] = value
    save_file(arrays, path)
    with pytest.raises(BundleError, match="must hold finite weights, got NaN or infinity in b;"):
        refuse_non_finite(path)


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
        with pytest.raises(BundleError, match="a does not hold integers divided by their multipliers"):
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
        (save({"other": ROWS}), "holds other arrays than multipliers of weights"),
        (save({"weights/a": ROWS, "inputs/b": ROWS}), "holds other arrays than multipliers of weights"),
        (save({"weights/a": ROWS[:2]}), "of a is not one float32 multiplier per row"),
        (save({"weights/a": ROWS.astype(np.float64)}), "of a is not one float32 multiplier per row"),
        (save({"weights/bias": ROWS}), "of bias is not one float32 multiplier per row"),
        (save({"weights/unknown": ROWS}), "of unknown is not one float32 multiplier per row"),
        (save({"weights/a": ROWS * 0}), "not all positive and finite"),
        (save({"weights/a": ROWS * np.float32(np.nan)}), "not all positive and finite"),
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
