"""The comparison of a claim that is trained a second time."""

from __future__ import annotations

from pathlib import Path

from benchmarks.claim_rerun import page, rerun_figures
from dragoman.claims.claim import Ledger
from dragoman.claims.pool.pool_model import pool_models
from dragoman.claims.record import FORMAT, MAIN_SEARCH, ModelRecord, RecordStore

LEDGER = Path(__file__).parents[2] / "claims"
COUNTS = [[6, 7], [6, 7], [4, 5], [3, 4], [2, 3], [1, 2]]  # both lengths, and matches by order, of two sentences


def test_a_changed_translation_and_loss_are_counted(tmp_path: Path):
    ledger = Ledger.read(LEDGER)
    claim = ledger.claim("C6")
    stores = RecordStore(tmp_path / "first"), RecordStore(tmp_path / "second")
    models = pool_models(ledger, [claim])
    for store in stores:
        store.folder.mkdir()
        for model in models:
            is_changed = store is stores[1] and model == models[0]
            facts = {
                "format": FORMAT,
                "name": model.name,
                "key": model.key,
                "seed": model.seed,
                "machine": store.folder.name,
                "code": {"commit": "abc"},
                "training": {"cpu_seconds": 1.0, "curves": {"train": [[1, 2.0 if is_changed else 1.0]]}},
                "test": {"source_words": [6, 7]},
                "searches": {MAIN_SEARCH: {"counts": COUNTS, "scores": {"bleu": {"value": 30.0}}}},
                "hypotheses": ["one", "another" if is_changed else "two"],
            }
            ModelRecord(facts).write(store.path(model))
    figures = rerun_figures(ledger, claim, stores)
    same = [(each["same_losses"], each["same_translations"]) for each in figures["models"].values()]
    assert same == [(False, 1)] + [(True, 2)] * 5
    text = page(claim, figures)
    assert "| forward, seed 1 | 30.00 | 30.00 | no | 1 of 2 |" in text
    assert "Machines of the second training: second." in text
