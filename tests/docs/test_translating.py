"""The Python examples of docs/translating.md run, with small untrained models."""

import re
from pathlib import Path

import docx
import pytest

from tests.server.bundles import tiny_bundle

PAGE = Path(__file__).resolve().parents[2] / "docs" / "translating.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("## From Python")[2].partition("### Using internal modules")[0]
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    tiny_bundle(folder / "run" / "bundle", "en", "de", "rnn")
    tiny_bundle(folder / "de-fr", "de", "fr", "rnn")
    (folder / "news.txt").write_text("A man sleeps.\n", encoding="utf-8")
    document = docx.Document()
    document.add_paragraph("Two dogs play in the snow.")
    document.save(str(folder / "report.docx"))
    return folder


@pytest.mark.filterwarnings("ignore::UserWarning")  # on languages: these models write nonsense
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(
    number: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(folder)
    exec(compile(EXAMPLES[number], PAGE.name, "exec"), {"__name__": "example"})
    printed = capsys.readouterr().out
    if "translate_file" in EXAMPLES[number]:
        wanted = "report.fr.docx" if "Translators" in EXAMPLES[number] else "report.de.docx"
        assert (folder / wanted).is_file()
    if "directions" in EXAMPLES[number]:
        assert printed.startswith(str((("en", "de"), ("de", "fr"), ("en", "fr"))))


def test_there_are_examples_of_all_calls():
    for name in ("translate_stream", "translate_file", "translate_html", "Translators.open", "translate_async"):
        assert any(name in example for example in EXAMPLES), name
