"""The documents are in order: versions agree, every release speaks of saved models, decisions have their parts."""

import re
from pathlib import Path

import dragoman

SECTIONS = ["Question", "Decision", "Considered", "Consequences"]


def read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def test_the_citation_names_this_version(root: Path):
    assert re.findall(r"^version: (.+)$", read(root, "CITATION.cff"), re.MULTILINE) == [dragoman.__version__]


def test_every_version_speaks_of_saved_models(root: Path):
    _, *versions = re.split(r"^## ", read(root, "CHANGELOG.md"), flags=re.MULTILINE)
    assert versions
    assert [version.splitlines()[0] for version in versions if "### Saved models" not in version] == []


def test_decisions_are_numbered_and_whole(root: Path):
    pages = sorted((root / "docs" / "decisions").glob("[0-9]*.md"))
    assert [page.name[:4] for page in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {page.name[:4]}: "), page.name
        assert re.search(
            r"^Date: \d{4}-\d\d-\d\d\. Status: (proposed|accepted|replaced by \d{4})\.$", text, re.MULTILINE
        )
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS, page.name


def test_links_between_documents_lead_somewhere(root: Path):
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    link = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
    links = [(page, target) for page in pages for target in link.findall(page.read_text(encoding="utf-8"))]
    assert [f"{page.relative_to(root)}: {to}" for page, to in links if not (page.parent / to).exists()] == []
