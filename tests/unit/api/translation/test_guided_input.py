"""A model whose head aligns the input of a step: its weights are one step later, in every engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Bundle, Translator
from tests.unit.engines.tiny_transformers import tiny_transformer

SOURCES, TARGETS = ["s1 s2 s3 s4", "s9 s8"], ["s5 s6 s7", "s3 s3 s2 s1"]


@pytest.fixture(scope="module", params=["self-attention", "ssru"])
def bundle(request: Any, tmp_path_factory: Any) -> Bundle:
    folder: Path = tmp_path_factory.mktemp("model") / "bundle"
    return tiny_transformer(folder, {"alignment_map": "guided-input", "decoder": request.param})


@pytest.fixture(params=["torch", "fastest"])
def translator(request: Any, bundle: Bundle) -> Translator:
    is_ssru = bundle.config.model.decoder == "ssru"
    fastest = "onnx" if is_ssru else "ctranslate2"
    name = "torch" if request.param == "torch" else fastest
    if name != "torch":
        pytest.importorskip("onnxruntime" if is_ssru else "ctranslate2")
    return Translator.open(bundle, engine=name)  # type: ignore[arg-type]


def later(bundle: Bundle, source: str, target: str) -> np.ndarray:
    """The rows of the words of the target: those of the first head of the last layer, one step later."""
    (maps,) = Translator.open(bundle, engine="torch").attention([source], [target])
    rows: np.ndarray = maps.weights[-1, 0, 1:, :-1]
    return rows


def test_given_translations(translator: Translator, bundle: Bundle):
    for source, target, found in zip(SOURCES, TARGETS, translator.score(SOURCES, TARGETS, attention=True), strict=True):
        np.testing.assert_allclose(np.array(found.weights), later(bundle, source, target), atol=1e-4)


def test_translations(translator: Translator, bundle: Bundle):
    for found in translator.translate(SOURCES, attention=True, beam=2):
        assert found.is_truncated, "random weights write no end; the last word has no step after it"
        expected = later(bundle, found.source, found.text)[:-1]
        assert len(expected) > 5
        np.testing.assert_allclose(np.array(found.weights)[:-1], expected, atol=1e-4)
