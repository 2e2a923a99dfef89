"""Translations of the validation set: all of them, in order, scored and shown."""

import importlib
from typing import Any

import numpy as np
import pytest

from dragoman.api.training.held_out_scores import HeldOutSet, score_set
from dragoman.api.training.translation_scorer import TranslationScorer, translate_greedy
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.token_pairs import Pairs
from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import Model
from dragoman.models.build import build_model
from dragoman.search import Hypothesis, SearchInput, SearchSettings
from dragoman.stop_signal import StopRequested
from dragoman.text import Tokenizer
from testkit.tiny_project import tiny_project, tiny_training

NAME = "luong2015-desk"


@pytest.fixture(scope="module")
def prepared() -> PreparedData:
    config = tiny_training(NAME)
    assert config.data is not None
    return PreparedData.open(tiny_project().folder / config.data.folder)


@pytest.fixture(scope="module")
def tokenizers(prepared: PreparedData) -> dict[str, Tokenizer]:
    return prepared.tokenizers()


@pytest.fixture(scope="module")
def model(tokenizers: dict[str, Tokenizer]) -> Model[Any, Any]:
    return build_model(tiny_training(NAME).model, tokenizers["source"].size, tokenizers["target"].size, seed=3)


@pytest.fixture(scope="module")
def pairs(prepared: PreparedData) -> Pairs:
    return prepared.shards("validation").gather(np.arange(8))


def test_translations_come_in_the_order_of_the_sources(model: Model[Any, Any], pairs: Pairs):
    sources = [ids.tolist() for ids in pairs.source.split()]
    together = translate_greedy(model, sources, check=lambda: None)
    engine, settings = TorchEngine(model), SearchSettings(beam=1)
    alone = [engine.search([SearchInput(source)], settings) for source in sources]
    assert [[[found.tokens]] for found in together] == [[[best.tokens]] for ((best,),) in alone]
    assert translate_greedy(model, [], check=lambda: None) == []


def test_scores_signatures_and_samples(model: Model[Any, Any], pairs: Pairs, tokenizers: dict[str, Tokenizer]):
    scored = TranslationScorer(pairs, tokenizers, language="de")(model, lambda: None)
    assert {*scored.scores} == {*scored.signatures} == {"bleu", "chrf"}
    assert all(0.0 <= value <= 100.0 for value in scored.scores.values())
    assert len(scored.samples) == 3
    for sample in scored.samples:
        assert sample.source
        assert sample.reference
        assert sample.weights is not None
        assert len(sample.weights) == len(sample.target_words)
        assert {len(row) for row in sample.weights} == {len(sample.source_words)}


def test_the_right_translations_score_full_marks(
    pairs: Pairs, tokenizers: dict[str, Tokenizer], monkeypatch: pytest.MonkeyPatch, model: Model[Any, Any]
):
    """For any model: the references are passed as its translations."""
    truth = {tuple(s.tolist()): t.tolist() for s, t in zip(pairs.source.split(), pairs.target.split(), strict=True)}

    def oracle(_: object, sentences: list[SearchInput], *__: object, **___: object) -> list[list[Hypothesis]]:
        return [[Hypothesis(truth[tuple(sentence.tokens)], 0.0)] for sentence in sentences]

    monkeypatch.setattr(TorchEngine, "search", oracle)
    scored = TranslationScorer(pairs, tokenizers, language="de")(model, lambda: None)
    assert scored.scores["chrf"] == pytest.approx(100.0)
    assert all(sample.translation == sample.reference for sample in scored.samples)
    assert all(sample.weights is None for sample in scored.samples)


@pytest.mark.parametrize(("language", "tokenizer"), [("zh", "zh"), ("zh-TW", "zh"), ("de", "13a")])
def test_bleu_has_the_tokenizer_of_the_target_language(
    language: str, tokenizer: str, model: Model[Any, Any], pairs: Pairs, tokenizers: dict[str, Tokenizer]
):
    scored = TranslationScorer(pairs, tokenizers, language=language)(model, lambda: None)
    assert f"|tok:{tokenizer}|" in scored.signatures["bleu"]


@pytest.mark.parametrize(("language", "module"), [("ja", "ja_mecab"), ("ko", "ko_mecab")])
def test_without_the_tokenizer_of_bleu_there_is_chrf(
    language: str,
    module: str,
    model: Model[Any, Any],
    pairs: Pairs,
    tokenizers: dict[str, Tokenizer],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(importlib.import_module(f"sacrebleu.tokenizers.tokenizer_{module}"), "MeCab", None)
    scored = TranslationScorer(pairs, tokenizers, language=language)(model, lambda: None)
    assert [*scored.scores] == [*scored.signatures] == ["chrf"]
    held_out = HeldOutSet("test", ["a", "b"], ["c d", "e f"], direction=("en", language))
    found = score_set(held_out, ["c d", "e g"], "trained", before=["c d", "e f"])
    assert [score.metric for score in found.scores] == [test.metric for test in found.tests] == ["chrf++"]


def test_few_sentences_are_shown_once(model: Model[Any, Any], prepared: PreparedData, tokenizers: dict[str, Tokenizer]):
    one = prepared.shards("validation").gather(np.arange(1))
    assert len(TranslationScorer(one, tokenizers, language="de")(model, lambda: None).samples) == 1


def test_a_check_that_raises_ends_it(model: Model[Any, Any], pairs: Pairs, tokenizers: dict[str, Tokenizer]):
    def stop() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        TranslationScorer(pairs, tokenizers, language="de")(model, stop)
