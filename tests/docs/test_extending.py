"""docs/extending.md: its blocks, applied to a copy of the source, are complete and their tests pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(?:^(?P<kind>New file|In) `(?P<path>[^`]+)`:\n\n)?^```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECTIONS = ("A score function", "A corpus reader", "A document format", "An importer", "An HTTP dialect", "A claim")
TESTS = [
    f"tests/{name}.py"
    for name in (
        *("unit/nn/attention/test_cosine", "unit/data/readers/test_fast_align"),
        *("unit/documents/text/test_lrc", "unit/importing/test_plain_folder", "unit/server/routes/test_cloud"),
        "claims/test_c900",
    )
]
IGNORED = shutil.ignore_patterns("__pycache__", "static")


class Block(NamedTuple):
    """A change of one file."""

    path: str
    is_new: bool
    code: str


def blocks(text: str) -> list[Block]:
    """The blocks of a section; one without a path changes the file of the block before."""
    found: list[Block] = []
    for match in BLOCK.finditer(text):
        path = match["path"] or found[-1].path
        assert (match["kind"] == "New file") == (match["language"] != "diff"), match[0]
        found.append(Block(path, match["language"] != "diff", match["code"]))
    return found


def changed(text: str, diff: str) -> str:
    """Apply lines that begin with + and -; the others must be in the text, once."""
    lines = diff.splitlines(keepends=True)
    assert {line[0] for line in lines} <= {"+", "-", " "}, diff
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines if line[0] != "-")
    assert before.strip()
    assert text.count(before) == 1, f"not once in the file:\n{before}"
    return text.replace(before, after)


def section(title: str) -> str:
    page = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
    (text,) = (part for part in page.split("\n## ") if part.startswith(f"{title}\n"))
    return text


def apply(title: str, tree: Path) -> list[str]:
    """Apply the blocks of a section to a copy of the source; return its tests."""
    text = section(title)
    for block in blocks(text):
        path = tree / block.path
        assert path.exists() != block.is_new, block.path
        path.write_text(block.code if block.is_new else changed(path.read_text(encoding="utf-8"), block.code), "utf-8")
    return [block.path for block in blocks(text) if block.path.startswith("tests/")]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the examples change and use, with all of them."""
    folder = tmp_path_factory.mktemp("extending")
    ignored = shutil.ignore_patterns("__pycache__", "static", "records", "report.*", "*-figures")
    for name in ("src", "testkit", "claims", "tests/claims", "tests/server"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored if name != "src" else IGNORED)
    for name in ("nn/attention", "data/readers", "documents/text", "importing", "server/routes"):
        (folder / "tests/unit" / name).mkdir(parents=True)
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder)
    tests = [path for title in SECTIONS for path in apply(title, folder)]
    assert tests == TESTS
    return folder


def test_a_score_function_changes_few_source_files():
    assert len({block.path for block in blocks(section("A score function")) if block.path.startswith("src/")}) <= 3


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree)]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_example_works(tree: Path):
    """All of them together: they must not depend on each other, and each must leave the others intact."""
    every = "tests/claims/test_every_claim.py::test_a_claim_is_decided_from_its_records[C900]"
    done = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, every)
    assert done.returncode == 0, done.stdout[-5000:]


def test_every_example_has_the_style_of_the_project(tree: Path):
    sources = [
        str(path) for path in tree.glob("src/dragoman/**/*.py") if path.read_text("utf-8") != original(path, tree)
    ]
    assert len(sources) >= len(SECTIONS)
    for command in (["check"], ["format", "--check", "--diff"]):
        done = run(tree, "-m", "ruff", *command, "--no-cache", *sources, *TESTS)
        assert done.returncode == 0, done.stdout


def original(path: Path, tree: Path) -> str:
    before = ROOT / path.relative_to(tree)
    return before.read_text(encoding="utf-8") if before.exists() else ""


def test_a_route_without_its_declaration_is_refused(tree: Path):
    path = tree / "src/dragoman/server/routes/cloud.py"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace('    @route_policy("body_key", translates=True)\n', ""), encoding="utf-8")
    try:
        done = run(tree, "-c", "from tests.server.asgi_calls import Caller; Caller()")
    finally:
        path.write_text(before, encoding="utf-8")
    assert done.returncode == 1
    assert "every route must declare who may use it, got '/cloud/translate'" in done.stderr


@pytest.mark.parametrize(
    ("text", "diff"), [("a\nb\n", " a\n+c\n x\n"), ("a\na\n", " a\n+c\n"), ("a\n", "+c\n"), ("a\n", "*c\n")]
)
def test_a_change_that_does_not_fit_is_found(text: str, diff: str):
    with pytest.raises(AssertionError):
        changed(text, diff)
    assert changed("a\nb\nc\n", " a\n-b\n+d\n") == "a\nd\nc\n"
