"""What the folder of a run tells."""

import json
from pathlib import Path

import pytest

from dragoman.api.evaluation.run_history import flatten_settings, read_run
from dragoman.config import load_config
from dragoman.errors import DataError
from dragoman.inspection.comparison.model_tables import format_best
from tests.unit.api.recorded_runs import ENTRIES, recorded_run


def test_curves_are_over_updates_tokens_and_time(tmp_path: Path) -> None:
    record = read_run(recorded_run(tmp_path / "run"))
    curves = {curve.quantity: curve for curve in record.curves}
    assert list(curves) == ["training loss", "validation loss", "bleu"]
    loss = curves["training loss"]
    assert loss.updates == (50, 100, 150)
    assert loss.tokens == (1000, 4000, 5000)
    assert loss.seconds == (10, 40, 55)  # the validation's among them
    assert loss.values == (8.0, 4.0, 2.0)
    assert curves["bleu"].seconds == (45,)
    assert curves["bleu"].values == (12.5,)


def test_facts_of_the_training(tmp_path: Path) -> None:
    record = read_run(recorded_run(tmp_path / "run", seed=7))
    facts = record.summary
    assert facts is not None
    assert (facts.updates, facts.tokens, facts.seconds, facts.ended) == (150, 5000, 60.0, "finished")
    assert facts.tokens_per_second == pytest.approx(5000 / 60)
    assert facts.best == {"bleu": 12.5, "loss": 3.5}
    assert format_best(facts) == "BLEU 12.50, loss 3.50; after 100 updates"
    assert (facts.data_fingerprint, facts.config_digest) == ("79587217", "c" * 64)
    assert facts.pairs == {"train": 900, "validation": 100}
    assert record.parameters == 1234
    assert record.config is not None
    assert record.config.training.seed == 7


def test_a_log_that_is_torn_or_strange_gives_what_can_be_read(tmp_path: Path) -> None:
    strange = [
        {"kind": "update", "update": "x", "loss": 1.0},
        {"kind": "update", "update": 200, "loss": None, "tokens": None, "tokens_per_second": 0},
        {"kind": "validation", "update": 200, "loss": "low", "scores": ["bleu"]},
        {"kind": "validation", "update": 200, "loss": True, "scores": {"bleu": "high"}},
        {"kind": "update", "update": 10**400, "loss": 1.0},
    ]
    folder = recorded_run(tmp_path / "run", entries=[*ENTRIES, *strange])
    with (folder / "log.jsonl").open("ab") as file:
        file.write(b'[1]\n\xff\xfe\n{"kind": "update", "upd')
    assert read_run(folder).curves == read_run(recorded_run(tmp_path / "whole")).curves


def test_a_run_that_goes_on_has_no_end_yet(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path / "run", entries=[])
    (folder / "run.json").write_text('{"ended": null}', encoding="utf-8")
    record = read_run(folder)
    assert record.curves == ()
    assert record.summary is not None
    assert record.summary.ended == "not yet"
    assert (record.summary.best, format_best(record.summary)) == ({}, "")


def test_a_run_that_goes_on_is_as_far_as_its_log(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path / "run")
    stale = {"ended": None, "update": 100, "seconds": 41.0}  # since the last validation, and without it
    (folder / "run.json").write_text(json.dumps(stale), encoding="utf-8")
    facts = read_run(folder).summary
    assert facts is not None
    assert (facts.updates, facts.tokens, facts.seconds) == (150, 5000, 55.0)
    assert facts.tokens_per_second == pytest.approx(5000 / 55)


def test_a_record_that_is_none_is_refused(tmp_path: Path) -> None:
    folder = recorded_run(tmp_path / "run")
    (folder / "run.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="record of a run"):
        read_run(folder)


def test_settings_have_dotted_names_and_toml_values() -> None:
    settings = flatten_settings(load_config("vaswani2017-desk"))
    assert settings["model.family"] == '"transformer"'
    assert settings["training.seed"] == "1"
