"""`dragoman quantize` writes a bundle with int8 weights."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import WEIGHTS
from dragoman.bundle.weights import Quantization
from tests.unit.cli.tiny_translators import tiny_bundle, typed
from tests.unit.engines.tiny_transformers import tiny_transformer


def test_rows_are_rounded_by_half_a_step_at_most():
    generator = np.random.default_rng(2)
    matrix = (generator.normal(size=(50, 30)) * np.exp(generator.uniform(-9, 9, (50, 1)))).astype(np.float32)
    matrix[3], matrix[4] = 0.0, 1e-38
    weights = {"a": matrix, "b": matrix[0]}
    stored = Quantization.of(weights)
    found = stored.rounded(weights)
    assert stored.weights.keys() == {"a"}
    assert found["b"] is weights["b"]
    steps = np.abs(matrix).max(1) / 127
    steps[4] = 1e-30 / 127
    assert (np.abs(found["a"] - matrix) <= 0.501 * steps[:, None]).all()
    assert Quantization.from_bytes(stored.to_bytes(), {"a": (50, 30), "b": (30,)}).stored_integers(found).keys() == {
        "a"
    }


@pytest.mark.parametrize("kind", ["rnn", "ssru"])
def test_a_quarter_of_the_size_and_nearly_the_same_numbers(kind: str, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    if kind == "rnn":
        exact = Bundle.open(tiny_bundle("bahdanau2015-desk"))
    else:
        exact = tiny_transformer(tmp_path / "b", {"decoder": "ssru"})
    before = {path.name: path.read_bytes() for path in exact.folder.iterdir()}
    done = typed("quantize", exact.folder, "-o", tmp_path / "small", "--json")
    assert done.exit_code == 0, done.output
    assert {path.name: path.read_bytes() for path in exact.folder.iterdir()} == before
    small = Bundle.open(tmp_path / "small")
    assert json.loads(done.stdout)["digest"] == small.digest
    stored, weights, wanted = load_file(small.folder / WEIGHTS), small.weights(), exact.weights()
    assert {array.ndim for array in stored.values() if array.dtype == np.int8} == {2}
    assert all(array.dtype == np.int8 for array in stored.values() if array.ndim == 2)
    for name, array in wanted.items():
        assert weights[name].dtype == np.float32
        np.testing.assert_allclose(weights[name], array, atol=np.abs(array).max() / 250)
    with Translator.open(small, threads=1) as translator, Translator.open(exact, threads=1) as other:
        assert translator.engine_reason == "onnx int8, 1 thread"
        pairs = ["a b c"], ["b c"]
        assert translator.score(*pairs)[0].log_prob == pytest.approx(other.score(*pairs)[0].log_prob, rel=0.1)
    again = typed("quantize", small.folder, "-o", tmp_path / "smaller")
    assert again.exit_code == 1
    assert "is int8 already; name a float32 bundle" in again.stderr
    assert not (tmp_path / "smaller").exists()
