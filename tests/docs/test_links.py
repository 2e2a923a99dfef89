"""Links between the pages lead to files and headings that exist. The whole site is built every night."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for pattern in ("*.md", "docs/**/*.md", "benchmarks/results/*.md") for path in ROOT.glob(pattern))
MARKDOWN = MarkdownIt("commonmark").enable("table")


def links(text: str) -> Iterator[str]:
    for token in MARKDOWN.parse(text):
        for child in token.children or ():
            yield from (str(child.attrGet(name)) for name in ("href", "src") if child.attrGet(name))


def anchors(text: str) -> set[str]:
    """The names of the headings, as GitHub and the site form them, and explicit ones."""
    found = {*re.findall(r'(?:id|name)="([^"]+)"', text), *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)}
    tokens = MARKDOWN.parse(text)
    for heading, words in pairwise(tokens):
        if heading.type == "heading_open":
            title = "".join(each.content for each in words.children or () if each.type in ("text", "code_inline"))
            found.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return found


def dead_links(path: Path) -> list[str]:
    found = []
    for link in links(path.read_text(encoding="utf-8")):
        file, _, name = unquote(link).partition("#")
        target = (path.parent / file).resolve() if file else path
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (
            name and target.suffix == ".md" and name not in anchors(target.read_text(encoding="utf-8"))
        ):
            found.append(link)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    assert dead_links(path) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# One `two`\n[a](#one-two) [b](#none) [c](none.md) [d](https://x.org) ![e](a.png)\n", "utf-8")
    assert dead_links(page) == ["#none", "none.md", "a.png"]
