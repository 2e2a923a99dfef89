"""Translations of the validation set: all of them, in order, scored and shown."""

from typing import Any

import numpy as np
import pytest

from dragoman.api.scoring import TranslationScorer, translate_pieces
from dragoman.data.pairs import Pairs
from dragoman.data.preparation.manifest import Prepared
from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import Model
from dragoman.models.build import build_model
from dragoman.search import Hypothesis, SearchSettings, Sentence
from dragoman.stopping import Stopped
from dragoman.text import Tokenizer
from tests.equivalence.tiny_project import tiny_project, tiny_training

NAME = "luong2015-desk"


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    config = tiny_training(NAME)
    assert config.data is not None
    return Prepared.open(tiny_project().folder / config.data.folder)


@pytest.fixture(scope="module")
def tokenizers(prepared: Prepared) -> dict[str, Tokenizer]:
    return prepared.tokenizers()


@pytest.fixture(scope="module")
def model(tokenizers: dict[str, Tokenizer]) -> Model[Any, Any]:
    return build_model(tiny_training(NAME).model, tokenizers["source"].size, tokenizers["target"].size, seed=3)


@pytest.fixture(scope="module")
def pairs(prepared: Prepared) -> Pairs:
    return prepared.shards("validation").gather(np.arange(8))


def test_translations_come_in_the_order_of_the_sources(model: Model[Any, Any], pairs: Pairs):
    sources = [ids.tolist() for ids in pairs.source.split()]
    together = translate_pieces(model, sources, check=lambda: None)
    engine, settings = TorchEngine(model), SearchSettings(beam=1)
    alone = [engine.search([Sentence(source)], settings) for source in sources]
    assert [[[found.pieces]] for found in together] == [[[best.pieces]] for ((best,),) in alone]
    assert translate_pieces(model, [], check=lambda: None) == []


def test_scores_signatures_and_samples(model: Model[Any, Any], pairs: Pairs, tokenizers: dict[str, Tokenizer]):
    scored = TranslationScorer(pairs, tokenizers)(model, lambda: None)
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
    """Whatever the model: the references are handed in as its translations."""
    truth = {tuple(s.tolist()): t.tolist() for s, t in zip(pairs.source.split(), pairs.target.split(), strict=True)}

    def oracle(_: object, sentences: list[Sentence], *__: object, **___: object) -> list[list[Hypothesis]]:
        return [[Hypothesis(truth[tuple(sentence.pieces)], 0.0)] for sentence in sentences]

    monkeypatch.setattr(TorchEngine, "search", oracle)
    scored = TranslationScorer(pairs, tokenizers)(model, lambda: None)
    assert scored.scores["chrf"] == pytest.approx(100.0)
    assert all(sample.translation == sample.reference for sample in scored.samples)
    assert all(sample.weights is None for sample in scored.samples)


def test_few_sentences_are_shown_once(model: Model[Any, Any], prepared: Prepared, tokenizers: dict[str, Tokenizer]):
    one = prepared.shards("validation").gather(np.arange(1))
    assert len(TranslationScorer(one, tokenizers)(model, lambda: None).samples) == 1


def test_a_check_that_raises_ends_it(model: Model[Any, Any], pairs: Pairs, tokenizers: dict[str, Tokenizer]):
    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        TranslationScorer(pairs, tokenizers)(model, stop)
