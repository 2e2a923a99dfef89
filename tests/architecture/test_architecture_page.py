"""The data flows of docs/architecture.md agree with the modules and imports of the package."""

import re
from itertools import pairwise
from pathlib import Path

import grimp
import pytest

ROW = re.compile(r"^\| (\w+) \| `([\w.]+)` \| [^|]+ \| `([\w.]+)` \|$")


def flows(text: str) -> list[tuple[list[str], list[tuple[str, str, str]]]]:
    """Per flow: the stops of its drawing in order, and the rows (stop, module, caller) of its table."""
    found = []
    for section in text.split("\n## ")[1:]:
        drawing = re.search(r"```mermaid\n(.*?)```", section, re.DOTALL)
        if drawing is None:
            continue
        stops = list(dict.fromkeys(re.findall(r"(?<![\w|])(\w+)(?= -->|\n)", drawing[1].replace("flowchart LR", ""))))
        rows = [match.groups() for line in section.splitlines() if (match := ROW.match(line))]
        found.append((stops, [(stop, module, caller) for stop, module, caller in rows]))
    return found


@pytest.fixture(scope="module")
def page(root: Path) -> list[tuple[list[str], list[tuple[str, str, str]]]]:
    return flows((root / "docs" / "architecture.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("dragoman", cache_dir=None)


def test_drawings_show_the_stops_of_their_tables(page):
    assert len(page) == 2
    for stops, rows in page:
        assert stops == [stop for stop, _, _ in rows]


def test_modules_exist(page, graph: grimp.ImportGraph):
    named = {f"dragoman.{name}" for _, rows in page for _, module, caller in rows for name in (module, caller)}
    assert sorted(named - graph.modules) == []


def test_callers_import_their_stops(page, graph: grimp.ImportGraph):
    calls = [(f"dragoman.{caller}", f"dragoman.{module}") for _, rows in page for _, module, caller in rows]
    missing = [
        f"{caller} does not import {module}"
        for caller, module in calls
        if not graph.direct_import_exists(importer=caller, imported=module)
    ]
    assert missing == []


def arrows_without_imports(rows: list[tuple[str, str, str]], graph: grimp.ImportGraph) -> list[str]:
    """Arrows whose two stops import neither each other nor are both imported, or import, a module of the same table."""
    modules = {f"dragoman.{name}" for _, module, caller in rows for name in (module, caller)}

    def neighbours(module: str) -> set[str]:
        imported = graph.find_modules_directly_imported_by(module)
        return (imported | graph.find_modules_that_directly_import(module)) & modules | {module}

    pairs = [(f"dragoman.{one[1]}", f"dragoman.{other[1]}") for one, other in pairwise(rows)]
    return [f"{one} → {other}" for one, other in pairs if not neighbours(one) & neighbours(other)]


def test_arrows_agree_with_the_imports(page, graph: grimp.ImportGraph):
    for _, rows in page:
        assert arrows_without_imports(rows, graph) == []


def test_a_wrong_arrow_is_noticed(page, graph: grimp.ImportGraph):
    (_, first), (_, second) = page
    assert arrows_without_imports([first[0], *second], graph)


def test_a_wrong_page_is_noticed(graph: grimp.ImportGraph):
    text = "\n## A\n```mermaid\nflowchart LR\n  a -->|x| b\n```\n| a | `data.loader` | reads | `nn.padding` |\n"
    ((stops, rows),) = flows(text)
    assert stops == ["a", "b"]
    assert rows == [("a", "data.loader", "nn.padding")]
    assert not graph.direct_import_exists(importer="dragoman.nn.batches", imported="dragoman.data.loader")
