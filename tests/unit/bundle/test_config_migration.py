"""Bundles of format version 1, written by Dragoman 0.1.0, give the same results."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.bundle import bundle_config as shared_config
from dragoman.bundle.bundle_config import migrate_config
from dragoman.config.search import SearchSettings
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError
from dragoman.search import Hypothesis, SearchInput

FIXTURES = Path(__file__).parents[2] / "fixtures" / "formats-0.1"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
NAMES = ("rnn", "transformer")


def described(array: np.ndarray) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{array.dtype}[{','.join(map(str, array.shape))}] {digest}"


def assert_same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare exactly with the torch and instruction set that wrote the fixtures, otherwise within a tolerance."""
    written = EXPECTED["written_by"]
    is_same = (torch.__version__, torch.backends.cpu.get_cpu_capability()) == (
        written["torch"],
        written["cpu_capability"],
    )
    assert [each["text"] for each in found] == [each["text"] for each in expected]
    for key in ("score", "log_prob"):
        values = [each[key] for each in expected]
        assert [each[key] for each in found] == (values if is_same else pytest.approx(values, rel=1e-4)), key


@pytest.mark.parametrize("name", NAMES)
def test_weights_and_settings_of_version_1_are_read(name: str):
    bundle = Bundle.open(FIXTURES / name / "run" / "bundle")
    assert bundle.manifest["version"] == 1
    assert bundle.digest == EXPECTED[name]["bundle"]["digest"]
    tensors = {key: described(array) for key, array in bundle.weights().items()}
    assert tensors == EXPECTED[name]["bundle"]["tensors"]
    assert bundle.config.data is not None
    assert bundle.config.data.max_tokens == {"rnn": 24, "transformer": 48}[name]


@pytest.mark.parametrize("name", NAMES)
def test_translations_of_version_1_are_the_same(name: str):
    bundle = Bundle.open(FIXTURES / name / "run" / "bundle")
    source, target = (bundle.tokenizers()[side] for side in ("source", "target"))
    engine = TorchEngine.open(bundle, threads=1)
    sources = [source.encode(text) for text in EXPECTED["sentences"]]
    expected = EXPECTED[name]["translations"]["torch"]

    def shown(hypothesis: Hypothesis) -> dict[str, Any]:
        text = target.decode(hypothesis.tokens)
        return {"text": text, "score": hypothesis.score, "log_prob": hypothesis.log_prob}

    found = engine.search([SearchInput(ids) for ids in sources], SearchSettings(nbest=3), return_attention=True)
    assert_same(
        [shown(each) for several in found for each in several], [n for c in expected["beam_5"] for n in c["n_best"]]
    )
    greedy = engine.search([SearchInput(ids) for ids in sources], SearchSettings(beam=1))
    assert_same([shown(best) for (best,) in greedy], expected["greedy"])
    references = [target.encode(text) for text in EXPECTED["references"]]
    scored = engine.score(sources, references)
    assert_same([shown(each) for each in scored], expected["references"])


def test_without_the_migration_a_bundle_of_version_1_is_rejected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shared_config, "migrate_config", lambda table, version: table)
    with pytest.raises(BundleError, match=r"data\.max_pieces is no known setting"):
        Bundle.open(FIXTURES / "rnn" / "run" / "bundle")


def test_settings_of_the_current_version_keep_their_names():
    table = {"data": {"max_pieces": 3}, "start": {"bundle": "x", "new_pieces": 2}}
    assert migrate_config(table, 1) == {"data": {"max_tokens": 3}, "start": {"bundle": "x", "new_tokens": 2}}
    assert migrate_config(table, 2) == table
    assert migrate_config({"data": 5, "start": {}}, 1) == {"data": 5, "start": {}}
