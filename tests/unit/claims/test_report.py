"""The report: undecided comparisons state what would decide them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.claims.claim import Ledger, PoolSettings
from dragoman.claims.report import LedgerReport, ReportLanguage, report_markdown
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
