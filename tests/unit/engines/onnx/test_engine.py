"""The ONNX engine gives the results of torch, from a cached export, without torch."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import Bundle, write_bundle
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.engines.onnx.export import FORMAT, export_onnx
from dragoman.engines.onnx.graph import builder
from dragoman.engines.protocol import IncrementalEngine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, CombinationError
from dragoman.search import Hypothesis, SearchInput, SearchSettings
from tests.unit.engines.tiny_recurrent import tiny_recurrent
from tests.unit.engines.tiny_transformers import random_sentences, tiny_transformer

pytest.importorskip("onnxruntime")

SENTENCES = [SearchInput(tokens) for tokens in [*random_sentences(20, seed=5), []]]
BEAM = SearchSettings(beam=4, nbest=3)

WITHOUT_TORCH = """
import sys
from pathlib import Path
from dragoman.bundle import Bundle
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.search import SearchSettings, SearchInput
engine = OnnxEngine.open(Bundle.open(Path(sys.argv[1]), trusted=True), threads=1)
found = engine.search([SearchInput([5, 6, 7])], SearchSettings(beam=2), return_attention=True)
print(len(found), *(name in sys.modules for name in ("torch", "onnx")))
"""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return tiny_recurrent(tmp_path_factory.mktemp("recurrent") / "bundle")


@pytest.fixture(scope="module")
def engine(bundle: Bundle) -> OnnxEngine:
    return OnnxEngine.open(bundle, threads=1)


def assert_equal(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        for a, b in zip(one, other, strict=True):
            assert a.log_prob == pytest.approx(b.log_prob, abs=1e-4)
            assert (a.alignment is None) == (b.alignment is None)
            if a.alignment is not None and b.alignment is not None:
                np.testing.assert_allclose(a.alignment, b.alignment, atol=1e-5)


@pytest.mark.parametrize("settings", [SearchSettings(beam=1), BEAM], ids=["greedy", "beam"])
@pytest.mark.parametrize("return_attention", [False, True])
def test_it_finds_what_torch_finds(
    bundle: Bundle, engine: OnnxEngine, settings: SearchSettings, return_attention: bool
):
    wanted = TorchEngine.open(bundle).search(SENTENCES, settings, return_attention=return_attention)
    found = engine.search(SENTENCES, settings, return_attention=return_attention)
    assert_equal(found, wanted)
    assert all((each.alignment is not None) == return_attention for hypotheses in found for each in hypotheses)


def test_it_scores_as_torch_does(bundle: Bundle, engine: OnnxEngine):
    sources = [list(sentence.tokens) for sentence in SENTENCES]
    targets = sources[::-1]
    wanted = TorchEngine.open(bundle).score(sources, targets, return_attention=True)
    assert_equal(
        [[each] for each in engine.score(sources, targets, return_attention=True)], [[each] for each in wanted]
    )


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_sentence_finds_the_same_in_any_company(bundle: Bundle, precision: str):
    engine = OnnxEngine.open(bundle, precision=precision, threads=1)  # type: ignore[arg-type]
    alone = [engine.search([sentence], BEAM, return_attention=True)[0] for sentence in SENTENCES]
    assert_equal(engine.search(SENTENCES, BEAM, return_attention=True), alone)
    assert_equal(engine.search(SENTENCES[5:], BEAM, return_attention=True), alone[5:])


def test_threads_change_nothing(bundle: Bundle, engine: OnnxEngine):
    several = OnnxEngine.open(bundle, threads=3)
    wanted = engine.search(SENTENCES, BEAM, return_attention=True)
    assert_equal(several.search(SENTENCES, BEAM, return_attention=True), wanted)
    with ThreadPoolExecutor(4) as callers:
        for found in callers.map(lambda _: several.search(SENTENCES, BEAM, return_attention=True), range(8)):
            assert_equal(found, wanted)


def test_batches_at_the_same_time_share_the_threads(bundle: Bundle, monkeypatch: pytest.MonkeyPatch):
    engine = OnnxEngine.open(bundle, threads=2)
    assert engine.concurrency == 2, "one batch on all threads leaves them idle during the search between two steps"
    seen, both, plain = [], threading.Barrier(2, timeout=30), IncrementalEngine.search

    def search(self: OnnxEngine, *args: Any, **options: Any) -> Any:
        both.wait()
        seen.append(self._threads.per_batch)
        both.wait()
        return plain(self, *args, **options)

    alone = engine._threads.per_batch
    monkeypatch.setattr(IncrementalEngine, "search", search)
    with ThreadPoolExecutor(2) as callers:
        found = list(callers.map(lambda _: engine.search(SENTENCES, BEAM), range(2)))
    assert (alone, seen, engine._threads.per_batch) == (2, [1, 1], 2)
    assert_equal(*found)


@pytest.mark.parametrize("preset", ["bahdanau2015-desk", "luong2015-desk", "cho2014-desk"])
def test_int8_is_nearly_float32(tmp_path: Path, preset: str):
    bundle = tiny_recurrent(tmp_path / "bundle", preset=preset)
    exact, coarse = (OnnxEngine.open(bundle, precision=each, threads=1) for each in ("float32", "int8"))
    sources = [list(sentence.tokens) for sentence in SENTENCES]
    pairs = zip(exact.score(sources, sources[::-1]), coarse.score(sources, sources[::-1]), strict=True)
    gaps = np.array([(a.log_prob - b.log_prob) / (len(a.tokens) + 1) for a, b in pairs])
    assert 0.0 < np.abs(gaps).mean() < 0.1


def test_a_writing_is_a_value(engine: OnnxEngine):
    begun = engine.start([[5, 6], [7]], True)
    first = begun.step(np.asarray([1, 1]))
    kept = first.log_probs.copy()
    first.log_probs[:] = 0.0
    first.next_state.select(np.asarray([1])).step(np.asarray([9]))
    first.next_state.select(np.asarray([], np.int64))
    np.testing.assert_array_equal(begun.step(np.asarray([1, 1])).log_probs, kept)


def test_the_export_is_made_once(tmp_path: Path, own_cache: Path):
    bundle = tiny_recurrent(tmp_path / "bundle")
    first = OnnxEngine.open(bundle)
    assert first.has_new_export
    assert "export created in" in first.note
    files = sorted(own_cache.glob("exports/*/export/*"))
    made = [path.stat().st_mtime_ns for path in files]
    second = OnnxEngine.open(bundle)
    assert not second.has_new_export
    assert str(files[0].parent) in second.note
    assert made == [path.stat().st_mtime_ns for path in files]
    assert {"reader.onnx", "writer.onnx"} <= {path.name for path in files}


def test_an_export_is_the_same_every_time(bundle: Bundle, tmp_path: Path):
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
        export_onnx(bundle, folder, "int8")
    one, other = (sorted(folder.iterdir()) for folder in folders)
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    assert FORMAT >= 1


def test_a_transformer_is_refused(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "bundle")
    with pytest.raises(CombinationError, match=r"model\.decoder must be ssru for a Transformer .*, got self-attention"):
        OnnxEngine.open(bundle)


def test_a_model_too_large_for_a_file_of_onnx_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(builder, "LARGEST", 1000)
    with pytest.raises(CombinationError, match="more than 1,000 bytes, the limit of a file of ONNX"):
        export_onnx(tiny_recurrent(tmp_path / "bundle"), tmp_path, "float32")


def test_weights_of_another_model_are_refused(tmp_path: Path):
    bundle = tiny_recurrent(tmp_path / "bundle")
    weights = bundle.weights()
    weights["decoder.output.bias"] = weights["decoder.output.bias"][:-1]
    with pytest.raises(BundleError, match="not those of the model"):
        write_bundle(tmp_path / "other", bundle.config, weights, bundle.tokenizers(), "card")


def test_it_runs_without_torch_and_from_an_export_without_onnx(tmp_path: Path, own_cache: Path):
    bundle = tiny_recurrent(tmp_path / "bundle")
    command = [sys.executable, "-c", WITHOUT_TORCH, str(bundle.folder)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first.split() == ["1", "False", "True"]
    assert second.split() == ["1", "False", "False"]
