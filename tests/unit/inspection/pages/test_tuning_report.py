"""The page of a search: every section, and texts that are escaped."""

from __future__ import annotations

from dataclasses import replace

from lxml import html

from dragoman.inspection.pages.tuning_report import (
    TrialRow,
    TuningReport,
    render_tuning_report,
)

BEST = TrialRow("trial-002", {"model.dropout": 0.1, "x": "<b>"}, 1.25, 900, 3, [(100, 3.0), (900, 1.25)])
OWN = TrialRow("trial-000", {"model.dropout": 0.3, "x": "y"}, 2.5, 100, 1, [(100, 2.5)])
FAILED = TrialRow("trial-001", {"model.dropout": 0.2, "x": "y"}, None, 0, 0, [], "training must not <i>diverge</i>")
REPORT = TuningReport("project", "loss", [BEST, OWN, FAILED], [(3, 100), (1, 900)], is_complete=True)


def text_of(report: TuningReport) -> tuple[str, str]:
    page = render_tuning_report(report)
    return page, html.fromstring(page).text_content()


def test_every_section() -> None:
    page, text = text_of(REPORT)
    for words in ("Learning curves", "Trials", "Failed trials", "training must not <i>diverge"):
        assert words in text
    assert "trial-002 has the best validation loss, 1.250: model.dropout 0.1, x <b>" in text
    assert "<b>" not in page.replace("&lt;b&gt;", "")
    assert "of the project's settings" in text
    assert "http" not in page.replace("http-equiv", "")


def test_a_search_that_is_not_complete_and_one_by_score() -> None:
    _, text = text_of(replace(REPORT, is_complete=False, metric="chrf"))
    assert "The search is not complete" in text
    assert "1.2" in text
