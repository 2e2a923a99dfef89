"""Hand-aligned sentences: links of attention, and changed source words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from claims.ledger.measures import measure
from claims.measurement.link_statistics import (
    CHANGE_COLUMNS,
    LINK_COLUMNS,
    GoldSentences,
    change_columns,
    diagonal_links,
    link_columns,
    link_counts,
    word_losses,
)
from dragoman.api.translation.translator import Translator
from dragoman.config import parse_config
from dragoman.engines.torch_engine import TorchEngine
from dragoman.evaluation.word_alignment import GoldLinks, score_alignment
from dragoman.models.base import Model
from dragoman.models.build import build_model
from dragoman.text.tokenizers.word_and_character import train_words

GOLD = GoldSentences(
    ["der hund schläft", "ein baum"],
    ["the dog sleeps", "a tree"],
    [GoldLinks(frozenset({(0, 0), (1, 1), (2, 2)})), GoldLinks(frozenset({(0, 0)}), frozenset({(1, 1)}))],
)
MODEL = {"family": "rnn", "embedding": 8, "encoder": {"hidden": 8}, "decoder": {"hidden": 8}}


def translator(**decoder: str) -> Translator:
    """A model with initial weights, whose vocabulary has the words of the sentences."""
    config = parse_config(
        {
            "tokenizer": {"kind": "word", "size": 40},
            "model": MODEL | {"decoder": {"hidden": 8, **decoder}},
        }
    )
    tokenizer = train_words([*GOLD.sources, *GOLD.targets], size=40)
    model = build_model(config.model, tokenizer.size, tokenizer.size).eval()
    return Translator(TorchEngine(model), config, {"source": tokenizer, "target": tokenizer})


def network(given: Translator) -> Model[Any, Any]:
    assert isinstance(given.engine, TorchEngine)
    return given.engine.model


def test_error_rates_of_counts_equal_those_of_links():
    found = [((0, 0), (1, 2)), ((0, 0), (1, 1))]
    counts = np.array(link_counts(found, GOLD.links), float)  # [columns, sentences]
    assert len(counts) == len(LINK_COLUMNS)
    rate = measure("aer").score(counts.sum(1))
    assert float(rate) == pytest.approx(score_alignment(found, GOLD.links).aer)


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [(2, 4, ((0, 0), (0, 1), (1, 2), (1, 3))), (3, 1, ((0, 0),)), (2, 2, ((0, 0), (1, 1)))],
)
def test_the_diagonal(source: int, target: int, links: tuple[tuple[int, int], ...]):
    assert diagonal_links(source, target) == links


def test_links_of_a_model_have_one_value_per_sentence():
    found = link_columns(translator(), GOLD)
    assert set(found) == {"diagonal", "predicted", "posterior"}
    assert found["diagonal"][2] == [3, 1]
    assert all(len(column) == 2 for columns in found.values() for column in columns)


def test_losses_of_words_add_up_to_that_of_the_sentence():
    given = translator()
    tokenizers = {"source": given.preprocessor.tokenizer, "target": given.preprocessor.tokenizer}
    losses = word_losses(network(given), tokenizers, GOLD.sources[:1], GOLD.targets[0])
    scored = given.score(GOLD.sources[:1], GOLD.targets[:1])[0]
    assert losses.shape == (1, 3)
    assert losses.sum() < -scored.log_prob  # the end is left out
    assert (losses > 0).all()


@pytest.mark.parametrize("attend", ["after", "none"])
def test_changed_words_move_linked_and_unlinked_words(attend: str):
    given = translator(attend=attend)
    tokenizers = {"source": given.preprocessor.tokenizer, "target": given.preprocessor.tokenizer}
    columns = dict(zip(CHANGE_COLUMNS, change_columns(network(given), tokenizers, GOLD), strict=True))
    assert columns["linked_pairs"] == [3, 2]
    assert columns["unlinked_pairs"] == [6, 2]
    assert min(columns["linked"] + columns["unlinked"]) > 0


def test_the_ratio_is_one_if_all_words_matter_equally():
    assert float(measure("unlinked-change").score(np.array([3.0, 3.0, 6.0, 6.0]))) == 1.0
    assert float(measure("unlinked-change").score(np.array([4.0, 2.0, 3.0, 6.0]))) == 0.25
