"""Transformers with an SSRU decoder on ONNX Runtime: the results of torch, stored integers, and shortlists."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from dragoman.api.training.bundle_writer import inference_note, write_trained
from dragoman.api.translation.options import TranslateOptions
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle, write_bundle
from dragoman.bundle.bundle import WEIGHTS, inherit_inference
from dragoman.bundle.checkpoint_bundle import save_run_tokenizers
from dragoman.bundle.shortlist import Shortlist
from dragoman.bundle.weights import Quantization
from dragoman.engines.export_cache import export_bundle
from dragoman.engines.onnx.engine import OnnxEngine
from dragoman.engines.onnx.export import DECODER_STEP_FILE, ENCODER_FILE, OUTPUT_FILE, export_onnx
from dragoman.engines.onnx.graph.builder import Graph, SharedWeights, import_onnx
from dragoman.engines.onnx.session import TABLE
from dragoman.engines.select import open_engine
from dragoman.engines.torch_engine import TorchEngine
from dragoman.errors import BundleError, CombinationError, DataError
from dragoman.importing.import_model import import_model
from dragoman.search import Hypothesis, SearchInput, SearchSettings, SearchTrace
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.settings import ServerSettings
from dragoman.text.glossary import Glossary
from dragoman.training.callbacks.events import TrainingEnded
from testkit.random_models.random_firefox import firefox_folder
from testkit.random_models.random_marian import SHAPES, write_vocabularies
from tests.unit.engines.tiny_transformers import KINDS, random_sentences, tiny_transformer

pytest.importorskip("onnxruntime")

SENTENCES = [SearchInput(tokens) for tokens in [*random_sentences(12, seed=5), []]]
GREEDY, BEAM = SearchSettings(beam=1), SearchSettings(nbest=3)
LONG = SearchSettings(beam=1, min_length=10)


def assert_equal(found: list[list[Hypothesis]], wanted: list[list[Hypothesis]], tolerance: float = 1e-4) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert [each.tokens for each in one] == [each.tokens for each in other]
        for a, b in zip(one, other, strict=True):
            assert a.log_prob == pytest.approx(b.log_prob, abs=tolerance)
            assert (a.alignment is None) == (b.alignment is None)
            if a.alignment is not None and b.alignment is not None:
                np.testing.assert_allclose(a.alignment, b.alignment, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_it_finds_what_torch_finds(kind: str, tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b", {**KINDS[kind], "decoder": "ssru"}, end=1.0)
    engine, reference = OnnxEngine.open(bundle, threads=1), TorchEngine.open(bundle)
    for settings in (GREEDY, BEAM):
        for shown in (False, True):
            wanted = reference.search(SENTENCES, settings, return_attention=shown)
            assert_equal(engine.search(SENTENCES, settings, return_attention=shown), wanted)
    sources = [list(sentence.tokens) for sentence in SENTENCES]
    pairs = sources, [[token % 40 for token in source] for source in sources[::-1]]
    wanted = [[each] for each in reference.score(*pairs, return_attention=True)]
    assert_equal([[each] for each in engine.score(*pairs, return_attention=True)], wanted)


def test_int8_is_nearly_float32(tmp_path: Path):
    bundle = tiny_transformer(tmp_path / "b", {"decoder": "ssru", "activation": "swish"})
    exact, coarse = (OnnxEngine.open(bundle, precision=each, threads=1) for each in ("float32", "int8"))
    sources = [list(sentence.tokens) for sentence in SENTENCES]
    pairs = zip(exact.score(sources, sources[::-1]), coarse.score(sources, sources[::-1]), strict=True)
    gaps = np.array([(a.log_prob - b.log_prob) / (len(a.tokens) + 1) for a, b in pairs])
    assert 0.0 < np.abs(gaps).mean() < 0.1


def test_a_sentence_that_is_too_long_is_refused(tmp_path: Path):
    settings = {"decoder": "ssru", "positions": "learned", "max_positions": "8"}
    engine = OnnxEngine.open(tiny_transformer(tmp_path / "b", settings), threads=1)
    engine.search([SearchInput([5] * 7)], GREEDY)
    with pytest.raises(DataError, match="must be at most 7 tokens long"):
        engine.search([SearchInput([5] * 8)], GREEDY)


# ------------------------------------------------------------------------------------------------------ stored integers


@pytest.fixture(scope="module")
def student(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """An imported int8 model with a shortlist."""
    folder = tmp_path_factory.mktemp("student")
    write_vocabularies(folder, SHAPES["shared, swish"])
    source = firefox_folder(folder / "firefox", (folder / "source.spm").read_bytes(), lexicon=True)
    return import_model(source, folder / "bundle").bundle


def test_the_stored_integers_are_exported_as_they_are(student: Bundle, tmp_path: Path):
    export_onnx(student, tmp_path, "int8", alone=True)
    stored, weights = student.quantization(), student.weights()
    assert stored is not None
    onnx, numpy_helper = import_onnx(), import_onnx("onnx.numpy_helper")
    found = []
    for name in (ENCODER_FILE, DECODER_STEP_FILE, OUTPUT_FILE):
        graph = onnx.load(tmp_path / name).graph
        arrays = [numpy_helper.to_array(each) for each in graph.initializer]
        found += [array for array in arrays if array.dtype == np.int8]
    rows = {row.tobytes() for array in found for row in array.T} | {row.tobytes() for array in found for row in array}
    for name in stored.weights:
        assert all(row.tobytes() in rows for row in stored.integers(name, weights[name])), name


def test_a_student_runs_in_int8_on_onnx_by_default_and_translates_like_torch(student: Bundle):
    translator = Translator.open(student, threads=1)
    assert translator.engine_reason == "onnx int8, 1 thread"
    exact = open_engine([student], engine="torch").engine
    coarse = OnnxEngine.open(student, precision="int8", threads=1, shortlist=False)
    sources = [list(sentence.tokens) for sentence in student_sentences()]
    pairs = zip(exact.score(sources, sources[::-1]), coarse.score(sources, sources[::-1]), strict=True)
    gaps = np.array([(a.log_prob - b.log_prob) / (len(a.tokens) + 1) for a, b in pairs])
    assert 0.0 < np.abs(gaps).mean() < 0.1
    plain = OnnxEngine.open(student, threads=1, shortlist=False)
    assert_equal(plain.search(student_sentences(), BEAM), exact.search(student_sentences(), BEAM))


def test_a_trained_bundle_of_the_same_model_has_its_own_integers(student: Bundle, tmp_path: Path):
    weights = student.weights()
    weights["decoder.layers.0.ssru.W"] += np.float32(0.01)
    trained = write_bundle(tmp_path / "b", student.config, weights, student.tokenizers(), "card")
    assert trained.quantization() is None
    assert open_engine([trained], threads=1).description == "onnx int8, 1 thread"
    assert open_engine([trained], precision="float32", threads=1).description == "onnx float32, 1 thread"


def test_a_student_is_used_as_it_was_made_for(student: Bundle, tmp_path: Path):
    text = "le la un de"
    own = Translator.open(student, threads=1)
    assert own.search_settings.beam == 1
    assert "| Made for | greedy search, int8; used unless an option names others |" in student.card()
    assert own.translate(text).score == own.translate(text, beam=1).score
    assert len(own.translate(text, nbest=3).nbest) == 3, "an n-best list needs the usual beam"
    assert Translator.open(student, search=SearchSettings(beam=2)).search_settings.beam == 2
    assert Translator.open(student, search=SearchSettings(alpha=0.5)).search_settings.beam == 1
    terms = TranslateOptions(glossary=Glossary({}))
    assert own.prepare([text], terms)[0].options.search.beam == 5, "required phrases gain from a beam"
    assert own.prepare([text], TranslateOptions())[0].options.search.beam == 1
    asked = build_options(ServerSettings(), alternatives=2)
    assert own.prepare([text], build_options(ServerSettings()))[0].options.search.beam == 1
    assert own.prepare([text], asked)[0].options.search == SearchSettings(nbest=3)
    assert own.prepare([text], build_options(ServerSettings(beam=3)))[0].options.search.beam == 3
    earlier = student.config.model_copy(update={"inference": None})
    old = write_bundle(tmp_path / "old", earlier, student.weights(), student.tokenizers(), "card")
    before = Translator.open(old)
    assert before.search_settings == SearchSettings(), "bundles without the section search as before"
    assert before.prepare([text], build_options(ServerSettings()))[0].options.search == before.search_settings
    both = Translator.open(student, old, engine="torch")
    assert both.search_settings == SearchSettings()


def test_a_fine_tuned_student_keeps_int8_the_beam_and_the_shortlist(student: Bundle, tmp_path: Path):
    weights = {name: torch.from_numpy(array * np.float32(1.01)) for name, array in student.weights().items()}
    ended = TrainingEnded("finished", 1, 1.0, 1, None, None, "loss")
    tuned = write_trained(
        student.config.model_copy(update={"inference": None}),
        tmp_path,
        weights,
        [1],
        ended,
        student.tokenizers(),
        (),
        student,
    )
    translator = Translator.open(tuned, threads=1)
    stored, base = tuned.quantization(), student.quantization()
    assert stored is not None
    assert base is not None
    assert (stored.weights, stored.inputs.keys()) == ({}, base.inputs.keys()), "its integers are made from its weights"
    exact, coarse = (OnnxEngine.open(tuned, precision=each, threads=1) for each in ("float32", "int8"))
    sources = [list(sentence.tokens) for sentence in student_sentences()]
    pairs = zip(exact.score(sources, sources[::-1]), coarse.score(sources, sources[::-1]), strict=True)
    assert 0.0 < np.abs([(a.log_prob - b.log_prob) / (len(a.tokens) + 1) for a, b in pairs]).mean() < 0.1
    assert (translator.engine_reason, translator.search_settings.beam) == ("onnx int8, 1 thread", 1)
    assert tuned.shortlist() is not None
    assert "quantizes the new weights to int8" in inference_note(student, tuned)
    assert "the shortlist of the base is kept" in inference_note(student, tuned)
    plain = write_bundle(tmp_path / "p", tuned.config, tuned.weights(), tuned.tokenizers(), "card")
    assert f"dragoman shortlist {plain.folder} SOURCE TARGET" in inference_note(student, plain), "how to restore it"


def test_a_run_keeps_what_a_checkpoint_of_a_student_needs_to_be_used_as_it(student: Bundle, tmp_path: Path):
    save_run_tokenizers(tmp_path, student.config, student.tokenizers(), student)
    base, folder = student.quantization(), tmp_path / "tokenizers"
    assert base is not None
    shapes = {name: array.shape for name, array in student.weights().items()}
    stored = Quantization.from_bytes((folder / "quantization.safetensors").read_bytes(), shapes)
    assert (stored.weights, stored.inputs.keys()) == ({}, base.inputs.keys())
    assert (folder / "shortlist.safetensors").is_file()
    own, _, _ = inherit_inference(student, student.config.model_copy(update={"inference": None}), student.tokenizers())
    assert own.inference == student.inference()


def test_an_export_is_the_one_that_translation_and_the_server_use(student: Bundle, tmp_path: Path, own_cache: Path):
    own = write_bundle(
        tmp_path / "b",
        student.config,
        student.weights(),
        student.tokenizers(),
        "card",
        quantization=student.quantization(),
    )
    exported = export_bundle(own, "onnx")
    assert (exported.precision, exported.is_new) == ("int8", True)
    engine = open_engine([own], threads=1).engine
    assert isinstance(engine, OnnxEngine)
    assert not engine.has_new_export, "no second export"


# ------------------------------------------------------------------------------------------------------------ shortlist


def student_sentences() -> list[SearchInput]:
    return [SearchInput(tokens) for tokens in [*random_sentences(14, seed=3, vocab=40), []]]


@pytest.fixture(scope="module", params=["float32", "int8"])
def shortlisted(student: Bundle, request: pytest.FixtureRequest) -> OnnxEngine:
    return OnnxEngine.open(student, precision=request.param, threads=1)


def test_a_translation_holds_only_tokens_of_the_shortlist(student: Bundle, shortlisted: OnnxEngine):
    shortlist = student.shortlist()
    assert shortlist is not None
    whole = OnnxEngine.open(student, precision=shortlisted.precision, threads=1, shortlist=False)  # type: ignore[arg-type]
    sentences = student_sentences()
    for settings in (LONG, BEAM, SearchSettings(sample=True, nbest=4)):
        for sentence, hypotheses in zip(sentences, shortlisted.search(sentences, settings), strict=True):
            allowed = set(shortlist.candidates(sentence.tokens).tolist())
            assert all(set(each.tokens) <= allowed for each in hypotheses)
    free = whole.search(sentences, LONG)
    assert any(
        not set(found[0].tokens) <= set(shortlist.candidates(sentence.tokens).tolist())
        for sentence, found in zip(sentences, free, strict=True)
    ), "the test needs a model that writes other tokens"


def test_a_sentence_finds_the_same_in_any_batch(shortlisted: OnnxEngine):
    sentences = student_sentences()
    alone = [shortlisted.search([sentence], BEAM, return_attention=True)[0] for sentence in sentences]
    assert_equal(shortlisted.search(sentences, BEAM, return_attention=True), alone)
    assert_equal(shortlisted.search(sentences[5:], BEAM, return_attention=True), alone[5:])


def test_few_sentences_multiply_gathered_rows_whatever_the_beam(
    shortlisted: OnnxEngine, monkeypatch: pytest.MonkeyPatch
):
    used: list[int] = []
    run = shortlisted.shortlist_output.run

    def recorded(wanted: Sequence[str], feeds: Mapping[str, Any], rows: int) -> list[Any]:
        used.append(rows)
        return run(wanted, feeds, rows)

    monkeypatch.setattr(shortlisted.shortlist_output, "run", recorded)
    shortlisted.search([SearchInput([9, 14, 20])] * 4, SearchSettings(beam=4))
    assert max(used) == 16, "the matrix of the vocabulary takes longer for four sentences"


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_output_layer_is_opened_by_the_first_large_batch_also_without_the_files(
    student: Bundle, precision: str, tmp_path: Path
):
    (tmp_path / "export").mkdir()
    export_onnx(student, tmp_path / "export", precision, alone=True)
    engine = OnnxEngine(tmp_path / "export", precision=precision, threads=1, shortlist=student.shortlist())  # type: ignore[arg-type]
    sentences = student_sentences()
    few = [found for sentence in sentences for found in engine.search([sentence], BEAM)]
    assert "output" not in vars(engine)
    shutil.rmtree(tmp_path / "export")
    assert_equal(engine.search(sentences, BEAM), few)
    assert "output" in vars(engine)


def test_an_export_of_the_cache_uses_the_integers_of_the_bundle(student: Bundle, tmp_path: Path):
    """Both have the same results. Without the right content of the bundle nothing is opened."""
    written = export_bundle(student, "onnx", precision="int8", output=tmp_path / "alone")
    engine = OnnxEngine.open(student, precision="int8", threads=1)
    cached = export_bundle(student, "onnx", precision="int8")
    for folder, is_stored in ((written.folder, False), (cached.folder, True)):
        assert (b"stored.int8." in (folder / ENCODER_FILE).read_bytes()) == is_stored
    alone = OnnxEngine(written.folder, precision="int8", threads=1, shortlist=student.shortlist(), full_range=True)
    for settings in (GREEDY, BEAM):
        wanted = alone.search(student_sentences(), settings)
        for one, other in zip(engine.search(student_sentences(), settings), wanted, strict=True):
            assert [(each.tokens, each.log_prob) for each in one] == [(each.tokens, each.log_prob) for each in other]

    shutil.copytree(student.folder, tmp_path / "changed")
    bundle = Bundle.open(tmp_path / "changed")
    content = bytearray((bundle.folder / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (bundle.folder / WEIGHTS).write_bytes(content)
    with pytest.raises(BundleError, match="changed while the bundle was open"):
        OnnxEngine.open(bundle, precision="int8", threads=1)


def test_equal_matrices_of_a_bundle_are_one_constant(student: Bundle, tmp_path: Path):
    shared = SharedWeights(tmp_path / "weights.bin", student.folder / WEIGHTS)
    graph = Graph("graph", "int8", shared=shared)
    integers = load_file(student.folder / WEIGHTS)["encoder.layers.0.feedforward.W_1.weight"]
    assert graph.transposed(integers) == graph.transposed(integers)
    assert [each.dims for each in graph.proto().initializer] == [list(integers.shape[::-1])]


def test_the_graphs_of_a_model_read_the_same_tables(student: Bundle, tmp_path: Path):
    export_onnx(student, tmp_path, "float32")
    tables = [
        {match[1] for match in TABLE.finditer((tmp_path / name).read_bytes())}
        for name in (ENCODER_FILE, DECODER_STEP_FILE)
    ]
    assert tables[0] == tables[1]
    assert tables[0], "positions"


def test_threads_change_nothing(student: Bundle, shortlisted: OnnxEngine):
    several = OnnxEngine.open(student, precision=shortlisted.precision, threads=3)  # type: ignore[arg-type]
    sentences = student_sentences() * 2
    assert_equal(several.search(sentences, BEAM), shortlisted.search(sentences, BEAM))


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_shortlist_of_all_tokens_changes_nothing(student: Bundle, precision: str, tmp_path: Path):
    size = student.tokenizers()["target"].size
    everything = Shortlist.of_lists(range(size), [[] for _ in range(size)])
    bundle = write_bundle(
        tmp_path / "b",
        student.config,
        student.weights(),
        student.tokenizers(),
        "card",
        quantization=student.quantization(),
        shortlist=everything,
    )
    engine, whole = (
        OnnxEngine.open(bundle, precision=precision, threads=1, shortlist=each)  # type: ignore[arg-type]
        for each in (True, False)
    )
    for settings in (GREEDY, BEAM, SearchSettings(beam=4, groups=2), SearchSettings(beam=2, no_repeat_ngram=2)):
        assert_equal(engine.search(student_sentences(), settings), whole.search(student_sentences(), settings))


def test_prefixes_and_phrases_may_hold_other_tokens(student: Bundle, shortlisted: OnnxEngine):
    shortlist = student.shortlist()
    assert shortlist is not None
    sentence = SearchInput([9, 14, 20])
    others = sorted(set(range(4, 40)) - set(shortlist.candidates(sentence.tokens).tolist()))[:3]
    (with_prefix,) = shortlisted.search([replace(sentence, prefix=others)], BEAM)
    assert all(each.tokens[:3] == others for each in with_prefix)
    (with_phrase,) = shortlisted.search([replace(sentence, phrases=[others], may_follow=np.ones(60, np.bool_))], BEAM)
    assert str(others)[1:-1] in str(with_phrase[0].tokens)


def test_streams_and_search_trees_have_token_ids(shortlisted: OnnxEngine):
    class Recorder:
        def __init__(self) -> None:
            self.seen: list[list[int]] = []

        def is_cancelled(self, sentence: int) -> bool:
            return False

        def is_streamed(self, sentence: int) -> bool:
            return True

        def on_tokens(self, sentence: int, tokens: list[int]) -> None:
            self.seen.append(tokens)

    recorder, trace, sentence = Recorder(), SearchTrace(), SearchInput([9, 14, 20])
    settings = SearchSettings(beam=4, min_length=6)
    ((best, *_),) = shortlisted.search([sentence], settings, monitor=recorder, trace=trace)
    assert recorder.seen[-1] == best.tokens
    nodes = trace.trees[0]
    paths = set()
    for node in nodes:
        path, walked = [], node
        while True:
            path.append(walked.token)
            if walked.parent < 0:
                break
            walked = nodes[walked.parent]
        paths.add(tuple(path[::-1]))
    assert tuple(best.tokens) in {path[:-1] for path in paths} | paths


def test_scores_of_given_translations_ignore_the_shortlist(student: Bundle, shortlisted: OnnxEngine):
    whole = OnnxEngine.open(student, precision=shortlisted.precision, threads=1, shortlist=False)  # type: ignore[arg-type]
    sources = [list(sentence.tokens) for sentence in student_sentences()]
    found, wanted = (each.score(sources, sources[::-1]) for each in (shortlisted, whole))
    assert [each.log_prob for each in found] == [each.log_prob for each in wanted]


# ------------------------------------------------------------------------------------------------------------- messages


def test_an_engine_that_cannot_run_an_ssru_names_those_that_can(student: Bundle, tmp_path: Path):
    with pytest.raises(CombinationError, match="engine must be one of onnx, torch for a Transformer with an SSRU dec"):
        open_engine([student], engine="ctranslate2")
    with pytest.raises(CombinationError, match="got ssru; use the engine onnx or torch"):
        export_bundle(student, "ctranslate2")
    with pytest.raises(CombinationError, match="got self-attention; use the engine ctranslate2 or torch"):
        export_bundle(tiny_transformer(tmp_path / "b"), "onnx")
