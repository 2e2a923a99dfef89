"""Runs without a record, with an incomplete record, and records without word counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from claims.ledger.claim import Claim, Ledger
from claims.ledger.record import ModelRecord, RecordStore
from claims.ledger.verdict import decide
from claims.measurement.word_counts import WORD_COLUMNS
from claims.pool.missing_runs import missing_runs
from claims.pool.pool_model import PoolRun, pool_models
from claims.pool.record_texts import add_word_counts, without_word_counts
from claims.pool.training_pool import TrainingPool
from tests.claims.synthetic import claim, record, records
from tests.claims.toy_ledger import write_toy_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return write_toy_ledger(tmp_path)[0]


def with_record(ledger: Ledger, **facts: object) -> tuple[PoolRun, RecordStore]:
    """The first model of the ledger, with a record of these facts."""
    store = RecordStore(ledger.folder / "records")
    model = pool_models(ledger, ledger.claims)[0]
    ModelRecord(dict(records(0.6, 1, seeds=1)[0].facts) | {"format": 1} | facts).write(store.path(model))
    return model, store


def measured_by(name: str, given: Claim) -> Claim:
    return given.model_copy(update={"comparisons": [given.comparisons[0].model_copy(update={"measure": name})]})


def test_a_model_without_a_record_is_missing(ledger: Ledger):
    _, store = with_record(ledger)
    assert missing_runs(ledger, ledger.claims, store) == pool_models(ledger, ledger.claims)[1:]


def test_a_model_whose_record_lacks_statistics_is_missing(ledger: Ledger):
    _, store = with_record(ledger)
    covering = measured_by("coverage-deviation", ledger.claims[0])
    assert missing_runs(ledger, [covering], store) == pool_models(ledger, [covering])


def test_a_record_without_word_counts_needs_no_training(ledger: Ledger):
    _, store = with_record(ledger)
    counting = measured_by("words-dropped", ledger.claims[0])
    assert missing_runs(ledger, [counting], store) == pool_models(ledger, [counting])[1:]


def test_word_counts_are_added_to_a_record_once(ledger: Ledger, tmp_path: Path):
    texts = (tmp_path / "data" / "test.de").read_text(encoding="utf-8").splitlines()
    model, store = with_record(ledger, hypotheses=texts)
    models = without_word_counts([model], store)
    assert models == [model]
    add_word_counts(models, store, tmp_path / "data", tmp_path / "work")
    counts = dict(zip(WORD_COLUMNS, store.read(model).facts["words"], strict=True))
    assert sum(counts["words"]) == sum(len(text.split()) for text in texts)
    assert sum(counts["dropped"]) == sum(counts["repeated"]) == 0  # the references themselves
    assert without_word_counts([model], store) == []


def test_an_incomplete_record_is_measured_again(ledger: Ledger, tmp_path: Path):
    model, store = with_record(ledger)
    pool = TrainingPool(ledger, tmp_path / "data", tmp_path / "work", store)
    assert pool.missing([model]) == []
    assert TrainingPool(ledger, tmp_path, tmp_path, store, incomplete={model.key}).missing([model]) == [model]


def test_a_comparison_whose_records_lack_statistics_is_not_measured():
    found = {"new": records(0.7, 1), "old": records(0.5, 2)}
    both = claim().comparisons + measured_by("coverage-deviation", claim()).comparisons
    result = decide(claim().model_copy(update={"comparisons": both}), found)
    assert len(result.comparisons) == 1
    assert result.unmeasured == (both[1],)
    assert result.verdict == "cannot be told at this size"


def test_records_that_lack_statistics_are_left_out_of_an_effect():
    draws = np.random.default_rng(3)
    counted = [
        ModelRecord(
            dict(record(0.6, draws, seed=seed).facts) | {"words": [[10] * 300, [1] * 300, [5] * 300, [0] * 300]}
        )
        for seed in (1, 2)
    ]
    result = decide(measured_by("words-repeated", claim()), {"new": [*counted, record(0.6, draws)], "old": counted})
    assert [len(scores) for scores in result.comparisons[0].effect.by_seed] == [2, 2]
    assert result.comparisons[0].effect.value == 0
