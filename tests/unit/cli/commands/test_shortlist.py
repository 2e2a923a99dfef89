"""`dragoman shortlist` adds a shortlist that the model's attention gives."""

import json
from pathlib import Path

import pytest

from dragoman.bundle import Bundle
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.search import SearchInput, SearchSettings
from tests.unit.cli.tiny_translators import tiny_bundle, typed
from tests.unit.engines.tiny_transformers import tiny_transformer

pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path: Path) -> Bundle:
    return tiny_transformer(tmp_path / "model", {"decoder": "ssru"})


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    lines = [f"s{number} s{number + 1} s{number + 2}\ts{number + 30} s{number + 29}\n" for number in range(20)]
    path.write_text("".join(lines) * 2)
    return path


def test_a_sentence_may_write_what_attends_to_its_tokens(model: Bundle, corpus: Path, tmp_path: Path):
    found = typed(
        "shortlist", model.folder, corpus, "-o", tmp_path / "b", "--per-token", "3", "--frequent", "2", "--json"
    )
    assert found.exit_code == 0, found.output
    facts = json.loads(found.stdout)
    assert facts["pairs"] == 40
    assert facts["covered"] > 0.9
    bundle = Bundle.open(tmp_path / "b")
    shortlist, tokenizer = bundle.shortlist(), bundle.tokenizers()["source"]
    assert shortlist is not None
    source = tokenizer.encode("s5 s6 s7")
    candidates = shortlist.candidates(source).tolist()
    assert len(set(candidates)) <= 4 + 2 + 4 * len(source)
    assert set(source) <= set(candidates), "a joint vocabulary allows copies"
    assert {*tokenizer.encode("s35 s34")} & set(candidates)
    engine = OnnxEngine.open(bundle, threads=1)
    ((best,),) = engine.search([SearchInput(source)], SearchSettings(beam=1, max_length=8))
    assert set(best.tokens) <= set(candidates)
    assert {name: array.tobytes() for name, array in bundle.weights().items()} == {
        name: array.tobytes() for name, array in model.weights().items()
    }


def test_models_without_use_for_a_shortlist_are_refused(corpus: Path, tmp_path: Path):
    found = typed("shortlist", tiny_bundle(), corpus, "-o", tmp_path / "b")
    assert found.exit_code != 0
    assert "model.decoder must be ssru for a shortlist, got self-attention" in found.stderr
    assert not (tmp_path / "b").exists()


def test_an_empty_corpus_is_refused(model: Bundle, tmp_path: Path):
    (tmp_path / "empty.tsv").write_text("")
    found = typed("shortlist", model.folder, tmp_path / "empty.tsv", "-o", tmp_path / "b")
    assert "there are no sentence pairs to build a shortlist from" in found.stderr
