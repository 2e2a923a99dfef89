"""A paper key in the code leads to one edition of one paper, and an equation number to an equation of that edition."""

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.conftest import Repository

KEY = r"[a-z]+\d{4}[a-z]?"
NUMBER = re.compile(r"\((\d+)\)")
# [luong2015] (9), (10)   [vaswani2017], equation (1)   [cho2014] (5)-(8)
CITATION = re.compile(rf"\[({KEY})\]((?:\s*(?:,|;|and|to|–|-)?\s*(?:(?:eqs?\.|equations?)\s*)?\(\d+\))*)")
HEADING = re.compile(rf"^## ({KEY})$", re.MULTILINE)
FIELD = re.compile(r"^- \*\*(\w+)\*\*: (.+(?:\n  .+)*)", re.MULTILINE)
REQUIRED = {"Title", "Authors", "Year", "Venue", "Edition", "Equations"}


class Cited(NamedTuple):
    where: str
    key: str
    equations: frozenset[int]


def papers(text: str) -> dict[str, dict[str, str]]:
    """Key to fields, from the text of docs/papers.md."""
    _, *parts = HEADING.split(text)
    return {key: dict(FIELD.findall(body)) for key, body in zip(parts[::2], parts[1::2], strict=True)}


def prose(source: str) -> list[str]:
    """The docstrings and comments of a Python source."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) for node in ast.walk(ast.parse(source)) if isinstance(node, holders)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [text for text in docstrings if text] + [t.string for t in tokens if t.type == tokenize.COMMENT]


def citations(source: str, where: str) -> list[Cited]:
    found = [match for text in prose(source) for match in CITATION.finditer(text)]
    return [Cited(where, m[1], frozenset(int(number) for number in NUMBER.findall(m[2]))) for m in found]


def unknown(cited: list[Cited], known: dict[str, dict[str, str]]) -> list[str]:
    """A line for each key or equation number that docs/papers.md does not have."""
    faults = []
    for where, key, equations in cited:
        if key not in known:
            faults.append(f"{where}: [{key}] has no entry in docs/papers.md")
            continue
        listed = {int(number) for number in NUMBER.findall(known[key].get("Equations", ""))}
        faults += [f"{where}: [{key}] ({n}) is not among the entry's equations" for n in sorted(equations - listed)]
    return faults


@pytest.fixture(scope="module")
def known(root: Path) -> dict[str, dict[str, str]]:
    return papers((root / "docs" / "papers.md").read_text(encoding="utf-8"))


def test_every_key_in_the_code_is_pinned(repository: Repository, known: dict[str, dict[str, str]]):
    sources = repository.python("src", "claims", "tests/equations")
    cited = [c for path in sources for c in citations(path.read_text(encoding="utf-8"), repository.name(path))]
    assert unknown(cited, known) == []


def test_every_entry_is_complete(known: dict[str, dict[str, str]]):
    assert known
    assert {key: sorted(REQUIRED - set(entry)) for key, entry in known.items() if REQUIRED - set(entry)} == {}


def test_every_entry_agrees_with_its_key(known: dict[str, dict[str, str]]):
    assert [key for key, entry in known.items() if not re.match(rf"[a-z]+{entry['Year']}", key)] == []


def test_an_arxiv_edition_names_its_version(known: dict[str, dict[str, str]]):
    editions = {key: entry["Edition"] for key, entry in known.items()}
    assert [key for key, edition in editions.items() if re.search(r"arXiv:\d{4}\.\d{4,5}(?!v?\d)", edition)] == []


def test_keys_are_in_order_and_unique(root: Path):
    keys = HEADING.findall((root / "docs" / "papers.md").read_text(encoding="utf-8"))
    assert keys == sorted(set(keys))


def test_an_unpinned_key_or_number_is_caught():
    known = {"luong2015": {"Equations": "(8) location; (9) centre"}}
    source = '"""Paper: [luong2015] (8), (11)."""\nx = 1  # as in [nobody1999]\n'
    assert unknown(citations(source, "x.py"), known) == [
        "x.py: [luong2015] (11) is not among the entry's equations",
        "x.py: [nobody1999] has no entry in docs/papers.md",
    ]
