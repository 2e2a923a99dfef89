"""The example notebook runs in a kernel, and shows progress and results."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs/notebooks/first-translator.ipynb"
MANY = """\
from dragoman.reporting.stage_progress import LineView
LineView.every = 0  # as if it took longer
found = translator.translate((folder / "test.en").read_text().splitlines())
len(found)"""
INTERRUPT = """\
import os, signal, threading
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
stopped = dragoman.train(folder, run=folder / "stopped", overrides=["training.max_updates=100000"])
stopped"""


def test_the_notebook_is_saved_without_outputs_and_fits_a_page():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        if cell["cell_type"] == "code":
            assert max(map(len, "".join(cell["source"]).splitlines())) <= 105


def test_links_of_the_notebook_lead_to_pages():
    links = re.findall(r"\]\(([^)]+\.md)\)", NOTEBOOK.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (NOTEBOOK.parent / link).is_file()] == []


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The code cells of the executed notebook, and of two more."""
    import nbformat
    from nbclient import NotebookClient

    folder = tmp_path_factory.mktemp("notebook")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        notebook.cells += [nbformat.v4.new_code_cell(source) for source in (MANY, INTERRUPT)]
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cells: list[Any], source: str) -> list[Any]:
    """The outputs of the one cell with this source; printed lines are one output."""
    (cell,) = (cell for cell in cells if source in cell.source)
    printed = [output for output in cell.outputs if output["output_type"] == "stream"]
    others = [output for output in cell.outputs if output["output_type"] != "stream"]
    return ([{"text": "".join(output["text"] for output in printed)}] if printed else []) + others


def html(output: Any) -> str:
    return str(output["data"]["text/html"])


@pytest.mark.slow
def test_the_notebook_shows_progress_and_results(cells: list[Any]):
    for cell in cells:
        assert [each.get("text") for each in cell.outputs if each.get("name") == "stderr"] == [], cell.source

    progress, prepared = outputs(cells, "dragoman.prepare(folder)")
    assert "✓ training the tokenizer" in progress["text"]
    assert "PreparedData(" in prepared["data"]["text/plain"]

    lines, result = outputs(cells, "result = dragoman.train(folder)")
    assert lines["text"].splitlines()[-1].startswith("✓ finished: 250 updates")
    assert "validation @" in lines["text"]
    assert "first-translator/run" in result["data"]["text/plain"]

    (translator,) = outputs(cells, "translator = dragoman.Translator.open")
    assert translator["data"]["text/plain"].startswith("Translator(en → fr; ")
    (translation,) = outputs(cells, "attention=True")
    assert "ce chat épais voit mon cheval noir." in html(translation)
    assert "<svg" in html(translation)

    stages, scores = outputs(cells, "dragoman.evaluate")
    assert "✓ translating with first-translator  200 sentences" in stages["text"]
    assert "BLEU" in html(scores)
    assert float(re.search(r">(\d+\.\d+) ±", html(scores))[1]) > 95  # type: ignore[index]


@pytest.mark.slow
def test_a_kernel_shows_the_progress_of_many_sentences(cells: list[Any]):
    progress, count = outputs(cells, MANY)
    assert progress["text"].splitlines()[-1].startswith("✓ translating  200 sentences")
    assert count["data"]["text/plain"] == "200"


@pytest.mark.slow
def test_an_interrupted_kernel_keeps_the_run(cells: list[Any]):
    progress, result = outputs(cells, INTERRUPT)
    assert "\n– interrupted: " in progress["text"]
    assert "interrupted" in result["data"]["text/plain"]
