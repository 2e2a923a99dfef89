"""The report: undecided comparisons state what would decide them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.claims.claim import Claim, Ledger, PoolSettings
from dragoman.claims.pool.pool_model import pool_models
from dragoman.claims.record import ModelRecord
from dragoman.claims.report import LedgerReport, RemainingRuns, ReportLanguage, claim_records, report_markdown
from dragoman.claims.verdict import decide
from tests.unit.claims.synthetic import claim, records


def page(new: float, noise: float, language: ReportLanguage = "en") -> str:
    found = {"new": records(new, 1, noise=noise), "old": records(0.6, 2, noise=noise)}
    ledger = Ledger(Path(), (claim(),), {}, PoolSettings())
    return report_markdown(LedgerReport(ledger, {"C1": decide(claim(), found)}, {}), language)


@pytest.mark.parametrize(
    ("language", "phrase"), [("en", "seeds per variant would decide it"), ("zh", "个种子才能判定")]
)
def test_an_effect_that_seeds_leave_open_states_how_many_would_decide_it(language: ReportLanguage, phrase: str):
    assert phrase in page(0.66, 0.06, language)


def test_an_effect_that_sentences_leave_open_requires_more_sentences():
    assert "needs more test sentences" in page(0.606, 0.0)


def test_a_decided_effect_shows_its_interval_and_level():
    text = page(0.7, 0.005)
    assert "| **holds here** | 3 | 6 |" in text
    assert "(95 %)" in text


@pytest.mark.parametrize(("language", "text"), [("en", "Findings: It is so.\n"), ("zh", "发现: 如此。\n")])
def test_findings_are_shown_in_the_language_of_the_page(language: ReportLanguage, text: str):
    found = {"new": records(0.7, 1), "old": records(0.6, 2)}
    told = claim().model_copy(update={"findings": {"en": "It is so.", "zh": "如此。"}})
    ledger = Ledger(Path(), (told,), {}, PoolSettings())
    assert text in report_markdown(LedgerReport(ledger, {"C1": decide(told, found)}, {}), language)


def test_a_claim_without_all_of_its_runs_states_what_remains():
    remaining = RemainingRuns(4, 6, 90.0)
    ledger = Ledger(Path(), (claim(),), {}, PoolSettings())
    text = report_markdown(LedgerReport(ledger, {}, {}, {"C1": remaining}))
    assert "| not measured yet (models to train: 4 of 6, about 1.5 CPU hours) |" in text
    assert "What remains: models to train: 4 of 6, about 1.5 CPU hours." in text


@pytest.mark.parametrize(
    ("measure", "fast", "slow"),
    [("log2", "| fast | 2 |", "| slow | 16 |"), ("share", "| fast | 2.5 |", "| slow | 20 |")],
)
def test_a_claim_with_a_probe_shows_the_mean_of_every_condition(measure: str, fast: str, slow: str):
    terms = [{"variant": "x", "search": "slow"}, {"variant": "x", "weight": -1.0, "search": "fast"}]
    comparison = {"name": "slow against fast", "measure": measure, "terms": terms, "hypothesis": 3.0}
    table = claim().model_dump() | {"variants": {"x": {"probe": "head-cost"}}, "comparisons": [comparison]}
    probed = Claim.model_validate(table)
    ledger = Ledger(Path(), (probed,), {}, PoolSettings())
    samples = {"fast": [1.0, 4.0], "slow": [8.0, 32.0]}
    found = {}
    for run in pool_models(ledger, [probed]):
        facts = {"name": run.name, "key": run.key, "seed": run.seed, "samples": samples, "machine": "a machine"}
        found[run.key] = ModelRecord(facts | {"training": {"cpu_seconds": 1.0}})
    result = decide(probed, claim_records(ledger, probed, found))
    text = report_markdown(LedgerReport(ledger, {"C1": result}, found))
    assert result.verdict == "holds here"
    assert fast in text
    assert slow in text
