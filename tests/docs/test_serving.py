"""docs/serving.md has every setting and the lines that the program prints; no page installs from a package index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.server.settings import Limits, ServerSettings

ROOT = Path(__file__).resolve().parents[2]
SERVING = (ROOT / "docs/serving.md").read_text(encoding="utf-8")
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "docs/**/*.ipynb", "deploy/**/*")
    for path in ROOT.glob(pattern)
    if path.is_file()
)


def test_the_table_has_every_setting():
    names = {name for row in re.findall(r"^\| (`.*?) \|", SERVING, re.MULTILINE) for name in re.findall("`(.+?)`", row)}
    settings = {*ServerSettings.model_fields, *(f"limits.{name}" for name in Limits.model_fields)} - {"limits"}

    assert settings - names == set()


def test_the_lines_at_start_up_are_those_of_the_program():
    program = (ROOT / "src/dragoman/cli/commands/serve.py").read_text(encoding="utf-8")
    (shown,) = re.findall("^keys    (.+)$", SERVING, re.MULTILINE)

    assert f"'{shown}'" in program


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_page_installs_from_a_package_index(path: Path):
    assert not re.search(
        r"pip install [^`\n]*dragoman(\[|\b(?![/.]))", path.read_text(encoding="utf-8", errors="replace")
    )
