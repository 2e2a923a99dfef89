"""`python -m claims`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from claims import __main__ as command
from claims.ledger.claim import Ledger
from claims.ledger.record import MAIN_SEARCH, ModelRecord, RecordStore
from claims.pool.pool_model import pool_models
from tests.claims.synthetic import records
from tests.claims.toy_ledger import write_toy_ledger


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(command.app, list(map(str, arguments)))
    return done.exit_code, done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger with the record of one of its two models."""
    ledger, _ = write_toy_ledger(tmp_path)
    model = pool_models(ledger, ledger.claims)[0]
    add_record(tmp_path, 0)
    assert RecordStore(tmp_path / "claims" / "records").has(model)
    return tmp_path


def add_record(folder: Path, number: int) -> None:
    ledger = Ledger.read(folder / "claims")
    model = pool_models(ledger, ledger.claims)[number]
    facts = dict(records(0.7 - 0.2 * number, number, seeds=1)[0].facts)
    facts["searches"][MAIN_SEARCH]["scores"] = {"bleu": {"value": 30.0, "signature": "nrefs:1"}}
    facts["training"] = {"cpu_seconds": 120.0, "parameters": 1000, "updates": 12}
    facts |= {"format": 1, "base": model.base, "changes": list(model.changes), "corpus": model.corpus_name}
    facts |= {"key": model.key, "machine": "a machine"}
    ModelRecord(facts).write(RecordStore(folder / "claims" / "records").path(model))


def test_list_counts_missing_records_and_their_time(folder: Path):
    code, output = run("list", "--ledger", folder / "claims", "--json")
    assert code == 0
    remaining = {"missing": 1, "incomplete": 0, "total": 2, "minutes": 15.0}
    assert json.loads(output) == [{"id": "C1", "title": "Wide is better than narrow"} | remaining]
    assert "1 of 2 records missing, about 15 CPU minutes of training" in run("list", "--ledger", folder / "claims")[1]
    add_record(folder, 1)
    assert "all claims: all 2 records exist" in run("list", "--ledger", folder / "claims")[1]


def test_a_dry_run_reports_what_would_be_trained_and_what_exists(folder: Path):
    code, output = run("run", "C1", "--dry-run", "--ledger", folder / "claims")
    assert code == 0
    assert "trained  tiny, seed 1" in output
    assert "train    tiny model.dim=8, seed 1, about 15 CPU minutes" in output
    assert "1 of 2 records missing: about 15 CPU minutes of training, at least 8 minutes with 2 at a time" in output


def test_a_fresh_run_ignores_the_records_of_the_ledger(folder: Path):
    _, output = run("run", "C1", "--fresh", "--dry-run", "--ledger", folder / "claims", "--work", folder / "work")
    assert "2 of 2 records missing" in output


def test_a_fresh_run_is_estimated_from_the_records_of_the_ledger(folder: Path):
    _, output = run("run", "C1", "--fresh", "--dry-run", "--ledger", folder / "claims", "--work", folder / "work")
    assert "train    tiny, seed 1, about 2 CPU minutes" in output
    assert "train    tiny model.dim=8, seed 1, about 15 CPU minutes" in output


def test_a_fresh_run_does_not_reuse_trained_models(folder: Path, monkeypatch: pytest.MonkeyPatch):
    folders: list[Path] = []
    monkeypatch.setattr(command, "_train", lambda *given: folders.append(given[4]))
    for options in ([], ["--fresh"]):
        run("run", "C1", *options, "--ledger", folder / "claims", "--work", folder / "work")
    assert folders == [folder / "work", folder / "work" / "fresh"]


def test_a_run_without_missing_models_prints_the_verdict(folder: Path):
    add_record(folder, 1)
    code, output = run("run", "--all", "--ledger", folder / "claims")
    assert code == 0
    assert "all 2 records exist" in output
    assert "Wide is better than narrow: cannot be told at this size (1 seeds)" in output


def test_claims_must_be_named(folder: Path):
    code, output = run("run", "--ledger", folder / "claims")
    assert code == 2
    assert "claims must be named, or else --all given" in output


@pytest.mark.parametrize(("language", "phrase"), [("en", "not measured yet"), ("zh", "尚未测量")])
def test_the_report_lists_claims_that_are_not_measured(folder: Path, language: str, phrase: str):
    code, output = run("report", "--ledger", folder / "claims", "--language", language)
    assert code == 0
    assert phrase in output


def test_the_report_shows_verdicts_and_models(folder: Path):
    add_record(folder, 1)
    page = folder / "claims.md"
    assert run("report", "--ledger", folder / "claims", "--output", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "**cannot be told at this size**" in text
    assert "tiny `model.dim=8`" in text
    assert (folder / "claims-figures" / "C1.svg").is_file()


def test_the_report_replaces_figures_with_force_only(folder: Path):
    page = folder / "claims.md"
    figures = folder / "claims-figures"
    figures.mkdir()
    (figures / "other.svg").write_text("", encoding="utf-8")
    code, output = run("report", "--ledger", folder / "claims", "--output", page)
    assert code == 2
    assert "has files in it" in output
    assert run("report", "--ledger", folder / "claims", "--output", page, "--force")[0] == 0
