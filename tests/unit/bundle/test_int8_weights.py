"""A bundle of an int8 model holds its matrices once, as int8, and reads them as the same float32 numbers."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dragoman.bundle import Bundle, write_bundle, write_verified
from dragoman.bundle.bundle import QUANTIZATION, WEIGHTS
from dragoman.bundle.weights import Quantization, refuse_non_finite
from dragoman.errors import BundleError

NAME = "encoder.embedding.weight"


@pytest.fixture
def student(bundle: Bundle, tmp_path: Path) -> Bundle:
    """A bundle with a matrix of integers divided by multipliers."""
    generator = np.random.default_rng(3)
    weights = bundle.weights()
    integers = generator.integers(-127, 128, weights[NAME].shape).astype(np.int8)
    multipliers = np.exp(generator.uniform(-3, 3, len(integers))).astype(np.float32)
    weights[NAME] = integers.astype(np.float32) / multipliers[:, None]
    return write_bundle(
        tmp_path / "student",
        bundle.config,
        weights,
        bundle.tokenizers(),
        "card",
        quantization=Quantization({NAME: multipliers}, {}),
    )


def test_integers_are_stored_once_and_read_as_the_same_float32(student: Bundle, bundle: Bundle, tmp_path: Path):
    stored, found = load_file(student.folder / WEIGHTS), Bundle.open(student.folder).weights()
    assert stored[NAME].dtype == np.int8
    assert {array.dtype for name, array in stored.items() if name != NAME} == {np.dtype(np.float32)}
    assert found[NAME].dtype == np.float32
    saved = (bundle.folder / WEIGHTS).stat().st_size - (student.folder / WEIGHTS).stat().st_size
    assert saved > 2.9 * stored[NAME].size
    assert student.parameter_count() == bundle.parameter_count()
    quantization = student.quantization()
    assert quantization is not None
    assert np.array_equal(quantization.integers(NAME, found[NAME]), stored[NAME])


def test_a_bundle_of_an_earlier_version_with_the_quotients_is_the_same(student: Bundle, tmp_path: Path):
    wanted = student.weights()
    old = changed(student, tmp_path / "old", wanted)
    assert old.quantization() is not None
    found = old.weights()
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        assert array.tobytes() == wanted[name].tobytes(), name


def test_quotients_that_the_integers_do_not_give_to_the_bit_are_kept(student: Bundle, tmp_path: Path):
    weights = student.weights()
    weights[NAME][0, 0] = -0.0
    again = write_bundle(
        tmp_path / "b", student.config, weights, student.tokenizers(), "card", quantization=student.quantization()
    )
    assert load_file(again.folder / WEIGHTS)[NAME].dtype == np.float32
    assert again.weights()[NAME].tobytes() == weights[NAME].tobytes()


def changed(
    student: Bundle, folder: Path, weights: dict[str, np.ndarray], quantization: Quantization | None = None
) -> Bundle:
    """A bundle with other content of the file of weights, as an untrusted author could write it, opened."""
    with write_verified(folder) as draft:
        for name in student.manifest["files"]:
            shutil.copy(student.folder / name, draft)
        save_file(weights, draft / WEIGHTS)
        if quantization is not None:
            (draft / QUANTIZATION).write_bytes(quantization.to_bytes())
    return Bundle.open(folder)


def test_integers_of_strangers_are_checked(student: Bundle, tmp_path: Path):
    stored = load_file(student.folder / WEIGHTS)
    bias, other = next(name for name in stored if stored[name].ndim == 1), "decoder.embedding.weight"
    assert changed(student, tmp_path / "control", stored).weights()[NAME].dtype == np.float32
    with pytest.raises(BundleError, match=f"must hold float32 weights, got I8 in '{bias}'"):
        changed(student, tmp_path / "a", stored | {bias: stored[bias].astype(np.int8)})
    with pytest.raises(BundleError, match=f"{other} is int8 and has no multipliers"):
        changed(student, tmp_path / "b", stored | {other: stored[other].astype(np.int8)})
    with pytest.raises(BundleError, match="must hold float32 weights, got U8"):
        changed(student, tmp_path / "c", stored | {NAME: stored[NAME].astype(np.uint8)})
    with pytest.raises(BundleError, match="those of the model that its configuration describes"):
        changed(student, tmp_path / "d", stored | {NAME: stored[NAME][:, 1:].copy()})
    multipliers = np.full(len(stored[NAME]), 1e-37, np.float32)
    with pytest.raises(BundleError, match="make numbers that are not finite"):
        changed(student, tmp_path / "e", stored, Quantization({NAME: multipliers}, {}))
    for name in (bias, other):
        broken = stored[name].copy()
        broken.flat[-1] = np.nan
        with pytest.raises(BundleError, match=f"got NaN or infinity in {name}"):
            changed(student, tmp_path / "f", stored | {name: broken})


def test_numbers_after_integers_are_checked_too(student: Bundle, tmp_path: Path):
    """In an untrusted file, float32 numbers may begin anywhere."""
    stored = load_file(student.folder / WEIGHTS)
    others = [name for name in stored if name != NAME]
    stored[others[-1]].flat[-1] = np.inf
    order, header, data = [others[0], NAME, *others[1:]], {}, b""
    for name in order:
        kind = "I8" if name == NAME else "F32"
        begin, data = len(data), data + stored[name].tobytes()
        header[name] = {"dtype": kind, "shape": list(stored[name].shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    (tmp_path / WEIGHTS).write_bytes(len(text).to_bytes(8, "little") + text + data)
    with pytest.raises(BundleError, match=f"got NaN or infinity in {others[-1]}"):
        refuse_non_finite(tmp_path / WEIGHTS)
    (tmp_path / WEIGHTS).write_bytes(
        len(text).to_bytes(8, "little") + text + data.replace(np.float32(np.inf).tobytes(), bytes(4))
    )
    refuse_non_finite(tmp_path / WEIGHTS)
