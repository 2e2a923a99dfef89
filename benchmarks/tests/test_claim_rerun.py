"""The comparison of a claim that is trained a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.claim_rerun import Curve, page, rerun_figures, same_losses
from claims.ledger.claim import Ledger
from claims.ledger.record import FORMAT, MAIN_SEARCH, ModelRecord, RecordStore
from claims.pool.pool_model import pool_models
from dragoman.errors import DataError

LEDGER = Ledger.read(Path(__file__).parents[2] / "claims")
CLAIM = LEDGER.claim("C12")
LOW = [[6, 7], [6, 7], [4, 5], [3, 4], [2, 3], [1, 2]]  # both lengths, and matches by order, of two sentences
HIGH = [[6, 7], [6, 7], [6, 7], [5, 6], [4, 5], [3, 4]]


def stores(folder: Path) -> tuple[RecordStore, RecordStore]:
    """The ledger, where input feeding is better, and a second training, where it is not."""
    found = RecordStore(folder / "ledger"), RecordStore(folder / "again")
    models = pool_models(LEDGER, [CLAIM])
    for store in found:
        store.folder.mkdir()
        is_again = store is found[1]
        for model in models:
            is_changed = is_again and model == models[0]
            is_fed = "model.decoder.input_feeding=true" in model.changes
            curves = {"train": [[50, 2.0 if is_changed else 1.0]], "validation": [[50, 3.0]]}
            scores = {"bleu": {"value": 31.0 if is_again else 30.0}}
            counts = HIGH if is_fed and not is_again else LOW
            facts = {
                "format": FORMAT,
                "name": model.name,
                "key": model.key,
                "seed": model.seed,
                "base": model.base,
                "corpus": model.corpus_name,
                "changes": [*model.changes],
                "machine": f"machine of {store.folder.name}",
                "code": {"commit": f"{store.folder.name}0123456789"},
                "training": {"cpu_seconds": 1.0, "curves": curves},
                "test": {"source_words": [6, 7]},
                "searches": {MAIN_SEARCH: {"counts": counts, "scores": scores}},
                "hypotheses": ["one", "another" if is_changed else "two"],
            }
            ModelRecord(facts).write(store.path(model))
    return found


def test_changed_losses_translations_and_verdicts_are_found(tmp_path: Path):
    figures = rerun_figures(LEDGER, CLAIM, stores(tmp_path))
    same = [(each["same_losses"], each["same_translations"]) for each in figures["models"].values()]
    assert same == [(False, 1)] + [(True, 2)] * 5
    assert [found["verdict"] for found in figures["verdicts"]] == ["holds here", "does not hold here"]
    ledger, again = (found["effects"][0] for found in figures["verdicts"])
    assert ledger["effect"] > 10
    assert again["effect"] == 0
    text = page(CLAIM, figures)
    assert "Verdict of the ledger: holds here (3 seeds); trained again: does not hold here (3 seeds)." in text
    assert "| feeding, seed 1 | 30.00 | 31.00 | no | 1 of 2 |" in text
    assert f"| ledger | {CLAIM.comparisons[0].name} | {ledger['effect']:.2f} |" in text
    assert "(95 %) | does not hold here |" in text
    assert "Ledger: machine of ledger. Commits: ledger0." in text
    assert "Trained again: machine of again. Commits: again01." in text


@pytest.mark.parametrize(
    ("train", "is_same"),
    [
        ([[50, 4.0], [100, 3.0]], True),
        ([[50, 4.0], [70, 3.5], [100, 2.9], [150, 2.0]], True),  # stopped after 70 updates
        ([[50, 4.0], [70, 3.5], [100, 2.9], [150, 2.1]], False),
        ([[50, 4.1], [100, 3.0]], False),
        ([[20, 4.0]], False),
    ],
)
def test_a_resumed_training_has_the_same_losses(train: Curve, is_same: bool):
    def record(curve: Curve) -> ModelRecord:
        return ModelRecord({"training": {"curves": {"train": curve, "validation": [[100, 3.0]]}}})

    assert same_losses(record([[50, 4.0], [100, 3.0], [150, 2.0]]), record(train)) == is_same


def test_missing_records_and_probes_are_errors(tmp_path: Path):
    found = stores(tmp_path)
    with pytest.raises(DataError, match="C11 must be a claim about models"):
        rerun_figures(LEDGER, LEDGER.claim("C11"), found)
    found[1].path(pool_models(LEDGER, [CLAIM])[0]).unlink()
    with pytest.raises(DataError, match=r"again must contain the records of all models of C12, got 5 of 6"):
        rerun_figures(LEDGER, CLAIM, found)
