"""Every row of docs/reliability.md names a report of its date, and its figures are those of the report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
_DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
_LINK = re.compile(r"\]\(\.\./(benchmarks/results/[\w-]+\.md)\)")
_FIGURE = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w,]*\d)")
_SMALL = {str(number) for number in range(11)}


def rows() -> list[list[str]]:
    """The cells of all rows: promise, target, found, date, report."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if not set(row[0]) <= set("-: ") and row[0] != "promise"]


def test_every_promise_has_a_row():
    assert len(rows()) == 34
    assert len({row[0] for row in rows()}) == 34


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_agrees_with_its_report(row: list[str]):
    _, _, found, date, report = row
    link = _LINK.search(report)
    if link is None:
        assert date == "–"
        assert "no report" in found
        return
    text = (ROOT / link[1]).read_text(encoding="utf-8")
    assert _DATE.fullmatch(date)
    assert date in text
    assert _FIGURE.search(found), "a report has a figure"
    known = set(_FIGURE.findall(text)) | _SMALL
    missing = [figure for figure in _FIGURE.findall(found) if figure not in known]
    assert not missing, f"{link[1]} does not contain {missing}"


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_names_the_command(row: list[str]):
    assert "`" in row[4]


def test_a_figure_that_no_report_has_is_found():
    """Control: a row that claims more than its report states."""
    row = next(list(row) for row in rows() if row[0] == "corruption found")
    row[2] = row[2].replace(" tests", "7 tests")
    with pytest.raises(AssertionError, match="does not contain"):
        test_a_row_agrees_with_its_report(row)


def test_a_row_without_a_figure_is_found():
    """Control: a row with a report that states nothing of it."""
    row = next(list(row) for row in rows() if row[0] == "corruption found")
    row[2] = "kept"
    with pytest.raises(AssertionError, match="a report has a figure"):
        test_a_row_agrees_with_its_report(row)
