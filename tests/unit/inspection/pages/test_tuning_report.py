"""The page of a search: every section, and texts that are escaped."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from lxml import html

from dragoman.inspection.pages.tuning_report import (
    Coordinate,
    TrialRow,
    TuningReport,
    parallel_coordinates_svg,
    render_tuning_report,
)

BEST = TrialRow("trial-002", {"model.dropout": 0.1, "x": "<b>"}, 1.25, 900, 3, [(100, 3.0), (900, 1.25)])
OWN = TrialRow("trial-000", {"model.dropout": 0.3, "x": "y"}, 2.5, 100, 1, [(100, 2.5)])
FAILED = TrialRow("trial-001", {"model.dropout": 0.2, "x": "y"}, None, 0, 0, [], "training must not <i>diverge</i>")
REPORT = TuningReport("project", "loss", [BEST, OWN, FAILED], [(3, 100), (1, 900)], ["x"], is_complete=True)


def text_of(report: TuningReport) -> tuple[str, str]:
    page = render_tuning_report(report)
    return page, html.fromstring(page).text_content()


def test_every_section() -> None:
    page, text = text_of(REPORT)
    for words in ("Settings and scores", "Learning curves", "Trials", "Failed trials", "training must not <i>diverge"):
        assert words in text
    assert "trial-002 has the best validation loss, 1.250: model.dropout 0.1, x <b>" in text
    assert "<b>" not in page.replace("&lt;b&gt;", "")
    assert page.count('<polyline class="item ') == 2, "a failed trial has no line"
    assert "of the project's settings" in text
    assert "http" not in page.replace("http-equiv", "")


def test_a_search_that_is_not_complete_and_one_by_score() -> None:
    page, text = text_of(replace(REPORT, is_complete=False, metric="chrf"))
    assert "The search is not complete" in text
    assert 'chosen"' not in page
    assert "1.2" in text


def test_numbers_on_linear_and_logarithmic_axes() -> None:
    assert Coordinate("a", [1, 10, 100], is_log=True).shares() == pytest.approx([0.0, 0.5, 1.0])
    assert Coordinate("a", [1.0, 2.0, None]).shares() == [0.0, 1.0, None]
    assert Coordinate("a", [1.0, 2.0], is_reversed=True).shares() == [1.0, 0.0]
    assert Coordinate("a", [1.0, 2.0], is_reversed=True).ticks() == [(1.0, "1"), (0.0, "2")]
    assert Coordinate("a", [3, 3]).shares() == [0.5, 0.5]
    assert Coordinate("a", [3, 3]).ticks() == [(0.5, "3")]
    assert Coordinate("a", [None]).shares() == [None]


def test_other_values_are_categories() -> None:
    assert Coordinate("a", ["sgd", "adam", "sgd"]).shares() == [1.0, 0.0, 1.0]
    assert Coordinate("a", [True, False]).ticks() == [(0.0, "False"), (1.0, "True")]


def test_texts_are_escaped_and_the_best_is_on_top() -> None:
    axes = [Coordinate("<a>", ["<x>", "y"]), Coordinate("loss", [1.0, 2.0], is_reversed=True)]
    svg = parallel_coordinates_svg("Title", axes, ["trial-000", "trial-001"], best=0, name="p")
    root = ET.fromstring(svg)
    lines = root.findall("polyline")
    assert [line.get("class") for line in lines] == ["item other", "item chosen"]
    assert "<x>" in "".join(lines[1].itertext())
    assert lines[1].get("points") == "70,284.0 220,34.0"
