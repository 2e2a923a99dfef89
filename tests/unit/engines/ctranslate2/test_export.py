"""An exported Transformer computes the same function as the torch model, for all variants."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.engines.ctranslate2.export import export_ctranslate2, longest_sentence
from dragoman.engines.onnx.session import has_vnni
from dragoman.engines.select import open_engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, CombinationError
from dragoman.text import train_words
from testkit.random_bundle import RNN, constant_weights
from tests.unit.engines.tiny_transformers import KINDS, random_sentences, tiny_transformer

pytest.importorskip("ctranslate2")


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_log_probabilities_and_alignments(kind: str, tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b", KINDS[kind])
    sources, targets = random_sentences(20, seed=1), random_sentences(20, seed=2)
    expected = TorchEngine.open(bundle).score(sources, targets, return_attention=True)
    found = CTranslate2Engine.open(bundle, threads=1).score(sources, targets, return_attention=True)
    for ours, theirs in zip(expected, found, strict=True):
        assert theirs.tokens == ours.tokens
        assert theirs.log_prob == pytest.approx(ours.log_prob, abs=1e-4)
        assert theirs.score == pytest.approx(ours.score, abs=1e-4)
        assert ours.alignment is not None
        assert theirs.alignment is not None
        np.testing.assert_allclose(theirs.alignment, ours.alignment, atol=1e-5)


@pytest.mark.parametrize("kind", ["pre-norm, all tied", "nothing tied, two vocabularies"])
def test_int8_is_near(kind: str, tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b", KINDS[kind])
    sources, targets = random_sentences(20, seed=1), random_sentences(20, seed=2)
    exact, near = (
        CTranslate2Engine.open(bundle, precision=precision, threads=1).score(sources, targets)
        for precision in ("float32", "int8")
    )
    gaps = [abs(a.score - b.score) for a, b in zip(exact, near, strict=True)]
    # Without VNNI the sums of bytes may overflow.
    assert 0 < max(gaps) < (0.2 if has_vnni() else 0.8)


def test_its_files(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b", KINDS["nothing tied, two vocabularies"])
    export_ctranslate2(bundle, tmp_path, "float32")
    facts = json.loads((tmp_path / "config.json").read_text())
    assert facts["add_source_eos"] is True
    assert facts["decoder_start_token"] == "<s>"
    for side, size in (("source", 64), ("target", 44)):
        words = json.loads((tmp_path / f"{side}_vocabulary.json").read_text())
        assert len(words) == size
        assert words[:4] == ["<pad>", "<unk>", "<s>", "</s>"]


def test_the_longest_sentence(tmp_path: Path):
    assert longest_sentence(load_config("vaswani2017-desk")) == 4096
    learned = ["model.positions=learned", "model.max_positions=40"]
    assert longest_sentence(load_config("vaswani2017-desk", learned)) == 40


def rnn_bundle(folder: Path) -> Bundle:
    words = train_words(["a b"], size=9)
    config = load_config("luong2015-desk", ["tokenizer.kind=word", *RNN])
    tokenizers = {"source": words, "target": words}
    return write_bundle(folder, config, constant_weights(config, tokenizers), tokenizers, "card")


def test_only_transformers(tmp_path: Path):
    with pytest.raises(CombinationError, match=r"model\.family must be transformer for CTranslate2, got rnn"):
        CTranslate2Engine.open(rnn_bundle(tmp_path / "b"))
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("change", ["missing", "more", "shape"])
def test_weights_must_be_those_of_the_configuration(change: str, tmp_path: Path):
    good = tiny_transformer(tmp_path / "good")
    weights = dict(good.weights())
    if change == "missing":
        del weights["encoder.norm.bias"]
    elif change == "more":
        weights["decoder.output.weight"] = weights["encoder.embedding.weight"]
    else:
        weights["decoder.output.bias"] = np.zeros(63, np.float32)
    with pytest.raises(BundleError, match="not those of the model that its configuration describes"):
        write_bundle(tmp_path / "bad", good.config, weights, good.tokenizers(), "card")


SCRIPT = """
import sys
from dragoman.bundle import Bundle
from dragoman.engines.ctranslate2.engine import CTranslate2Engine
from dragoman.search.hypothesis import SearchInput
from dragoman.config.search import SearchSettings

engine = CTranslate2Engine.open(Bundle.open(sys.argv[1], trusted=True), threads=1)
assert "export created" in engine.note, engine.note
assert engine.search([SearchInput([5, 6])], SearchSettings())[0]
assert not [name for name in sys.modules if name.split(".")[0] == "torch"]
import torch

assert torch.ones(1).item() == 1
"""


def test_nothing_of_it_loads_torch(tmp_path: Path, own_cache: Path):
    """Converting and translating; and torch can be imported afterwards."""
    bundle = tiny_transformer(tmp_path / "b")
    subprocess.run([sys.executable, "-c", SCRIPT, str(bundle.folder)], check=True, timeout=60)


def test_only_normalization_by_the_variance(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "bundle", {"norm_form": "deviation"})
    with pytest.raises(CombinationError, match=r"model\.norm_form must be variance for CTranslate2, got deviation"):
        export_ctranslate2(bundle, tmp_path, "float32")
    assert open_engine([bundle], threads=1).engine.name == "torch"
