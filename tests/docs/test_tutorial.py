"""The notebooks of the tutorial run, have all parts of a chapter, and are the same programs in both languages."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorial"
ENGLISH = sorted(path for path in FOLDER.glob("*.ipynb") if ".zh." not in path.name)
PARTS = {
    "en": ("## The equation", "## An experiment", "## Break it", "## Questions"),
    "zh": ("## 公式", "## 实验", "## 弄坏它", "## 问答"),
}
MIN_QUESTIONS = 3


def chinese(path: Path) -> Path:
    return path.with_suffix(".zh.ipynb")


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def program(cell: dict[str, Any]) -> str:
    """The program of a cell without comments and words, which differ by language."""
    source = re.sub(r"^%.*$", "", "".join(cell["source"]), flags=re.MULTILINE)
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


@pytest.mark.parametrize("path", ENGLISH, ids=lambda path: path.stem)
def test_both_languages_have_the_same_programs(path: Path) -> None:
    assert [program(cell) for cell in cells(path, "code")] == [program(cell) for cell in cells(chinese(path), "code")]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("path", ENGLISH, ids=lambda path: path.stem)
def test_a_chapter_is_complete_and_saved_with_its_output(path: Path, language: str) -> None:
    path = chinese(path) if language == "zh" else path
    text = "\n".join("".join(cell["source"]) for cell in cells(path, "markdown"))
    assert [part for part in PARTS[language] if part not in text] == []
    assert text.count("<details>") >= MIN_QUESTIONS
    assert "$$" in text
    assert "claims/report" in text
    code = cells(path, "code")
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), "run it again from the start"
    kinds = [output.get("name", output["output_type"]) for cell in code for output in cell["outputs"]]
    assert not {"error", "stderr"} & set(kinds)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_stored_output_is_that_of_these_programs(path: Path) -> None:
    """A failure must not keep the output of an earlier run: no cell may fail unnoticed, or change after its run."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    digest = hashlib.sha256("\0".join("".join(cell["source"]) for cell in cells(path, "code")).encode()).hexdigest()
    assert notebook["metadata"].get("executed") == digest[:16], (
        f"run all cells of {path.name} at full size, then set metadata.executed to {digest[:16]}"
    )
    tags = {tag for cell in notebook["cells"] for tag in cell["metadata"].get("tags", ())}
    assert not tags & {"raises-exception", "skip-execution"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_the_first_cell_installs_the_package_if_it_is_missing(path: Path, tmp_path: Path) -> None:
    source = "".join(cells(path, "code")[0]["source"])
    assert not list(FOLDER.glob("*.py")), "a notebook that is copied alone has no other file"
    run: list[list[str]] = []
    for is_missing in (False, True):
        space = {"find_spec": lambda _, missing=is_missing: None if missing else object()}
        exec(re.sub(r"^(import|from) .*$", "", source, flags=re.MULTILINE), space | _fake_modules(run))
        assert len(run) == is_missing
    (command,) = run
    assert command[1:4] == ["-m", "pip", "install"]
    assert (FOLDER / command[-1].partition("[")[0] / "pyproject.toml").is_file()


def _fake_modules(run: list[list[str]]) -> dict[str, Any]:
    """`sys`, and a `subprocess` that only notes its commands, whose failure must raise."""

    def note(command: list[str], *, check: bool) -> None:
        assert check
        run.append(command)

    return {"sys": SimpleNamespace(executable="python"), "subprocess": SimpleNamespace(run=note)}


def firefox_model() -> Path:
    """Folder of a model from English to Portuguese, which is no part of the repository; skip without it."""
    corpora = Path(os.environ.get("DRAGOMAN_CORPORA") or FOLDER.parents[2] / "shared" / "data")
    folder = Path(os.environ.get("FIREFOX_MODEL") or corpora.parent / "models" / "firefox-enpt")
    if not folder.is_dir():
        pytest.skip("no model of Firefox here: set FIREFOX_MODEL to the folder of one (docs/importing.md)")
    return folder


IN_THE_GATE = ("07-bahdanau",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=() if path.stem in IN_THE_GATE else pytest.mark.long)
        for path in [*ENGLISH, chinese(ENGLISH[0])]
    ],
)
def test_a_notebook_runs_alone(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in an empty folder: an error of any cell raises."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("DRAGOMAN_TUTORIAL", "small")
    if "FIREFOX_MODEL" in path.read_text(encoding="utf-8"):
        monkeypatch.setenv("FIREFOX_MODEL", str(firefox_model()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client
        notebook = nbformat.read(shutil.copy(path, tmp_path), as_version=4)
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()


def test_another_program_is_noticed() -> None:
    assert program({"source": ["x = 1  # one"]}) == program({"source": ["x = 1  # 一"]})
    assert program({"source": ["x = 1"]}) != program({"source": ["x = 2"]})
