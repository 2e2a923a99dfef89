"""Every figure of the README and of the table of results occurs on the page that its row links to."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READMES, RESULTS = ["README.md", "README.zh.md"], "docs/results.md"
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_PAGE = re.compile(r"\]\((?:\.\./)?(benchmarks/results/[\w-]+\.md)\)")
_SMALL = {str(number) for number in range(11)}


def rows(page: str) -> list[str]:
    """Rows of the table of results."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("|") and _PAGE.search(line)]


def figures(text: str) -> list[str]:
    return _NUMBER.findall(_PAGE.sub("", text))


@pytest.mark.parametrize("row", [*rows("README.md"), *rows(RESULTS)])
def test_figures_of_a_row_stand_on_its_page(row: str):
    (page,) = _PAGE.findall(row)
    known = set(_NUMBER.findall((ROOT / page).read_text(encoding="utf-8")))
    missing = [figure for figure in figures(row) if figure not in known]
    assert not missing, f"{page} does not contain {missing}"


def test_a_figure_that_no_page_has_is_found():
    """Control: a row that claims more than its page states."""
    row = next(row for row in rows(RESULTS) if "39.10" in row).replace("39.10", "39.97")
    with pytest.raises(AssertionError, match=r"39\.97"):
        test_figures_of_a_row_stand_on_its_page(row)


def test_both_languages_claim_the_same():
    found = [[(_PAGE.findall(row), sorted(figures(row))) for row in rows(page)] for page in READMES]
    assert found[0]
    assert found[0] == found[1]


@pytest.mark.parametrize("page", READMES)
def test_there_are_no_figures_outside_the_table(page: str):
    """Versions and small counts apart, a figure belongs in a row with its conditions and its page."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = "\n".join(line for line in text.splitlines() if line not in rows(page))
    python = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    allowed = {python.removeprefix(">="), "2.0"} | _SMALL  # Apache-2.0
    assert set(_NUMBER.findall(re.sub(r"\([^)]*\)", "", prose))) <= allowed
