"""Weight files are checked before use."""

import errno
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import save_file

from dragoman.bundle.weights import check_weights, disk_errors, read_weights, refuse_non_finite, write_weights
from dragoman.errors import BundleError


def test_arrays_that_are_not_contiguous_are_written_right(tmp_path: Path):
    path = tmp_path / "w"
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    write_weights(path, {"w": array})
    check_weights(path)
    np.testing.assert_array_equal(read_weights(path)["w"], array)


def test_no_weights_are_no_weights(tmp_path: Path):
    write_weights(tmp_path / "w", {})
    with pytest.raises(BundleError, match="must hold weights, got none"):
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
