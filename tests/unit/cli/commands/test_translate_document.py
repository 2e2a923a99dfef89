"""``dragoman translate`` with a document."""

import io
import sys
from pathlib import Path
from typing import Any

import docx
import pytest

from dragoman.cli.commands.translate import DOCUMENTS
from dragoman.documents.formats import FORMATS
from dragoman.environment import install_command
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed
from tests.unit.documents.office_files import report


def _styles(document: Any) -> list[Any]:
    return [paragraph.style for paragraph in document.paragraphs]


def test_all_formats_but_plain_text_are_documents():
    assert set(FORMATS) - {".txt"} == DOCUMENTS


def test_a_document_becomes_a_document(tmp_path: Path):
    source, target = tmp_path / "report.docx", tmp_path / "report.de.docx"
    source.write_bytes(report())
    result = typed("translate", tiny_bundle(), source, "-o", target, *QUICK)
    assert result.exit_code == 0, result.stderr
    before, after = docx.Document(io.BytesIO(report())), docx.Document(str(target))
    assert [each.style_id for each in _styles(after)] == [each.style_id for each in _styles(before)]
    assert after.paragraphs[0].text != before.paragraphs[0].text
    assert after.paragraphs[3].text == "2024"
    again = typed("translate", tiny_bundle(), source, "-o", target, *QUICK)
    assert (again.exit_code, "must be new" in again.stderr) == (2, True)
    assert typed("translate", tiny_bundle(), source, "-o", target, "--force", *QUICK).exit_code == 0


def test_text_formats_go_to_stdout(tmp_path: Path):
    source = tmp_path / "a.md"
    source.write_text("# A house\n\n```\ncode\n```\n", encoding="utf-8")
    result = typed("translate", tiny_bundle(), source, *QUICK)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("# ")
    assert result.stdout.endswith("\n\n```\ncode\n```\n")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ((), "a docx document must be written to a file"),
        (("-o", "a.odt"), "the output must end in .docx"),
        (("-o", "nowhere/a.docx"), "the output must be in an existing folder"),
        (("-o", "b.docx", "--resume"), "--resume must come with lines of text"),
        (("-o", "b.docx", "--json"), "--json must come with lines of text"),
        (("-o", "in.docx", "--force"), "the output must not be the input"),
    ],
)
def test_what_does_not_fit_is_said_before_a_model_is_loaded(
    arguments: tuple[str, ...], fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("in.docx").write_bytes(report())
    result = typed("translate", "no-bundle-at-all", "in.docx", *arguments)
    assert (result.exit_code, fault in result.stderr) == (2, True), result.stderr
    assert Path("in.docx").read_bytes() == report()


def test_what_is_wrong_with_the_document_is_said_before_a_model_is_loaded(tmp_path: Path):
    source = tmp_path / "in.docx"
    for data, fault in [(None, "the input must be a file"), (b"hello", "in.docx must be a zip archive")]:
        if data is not None:
            source.write_bytes(data)
        result = typed("translate", "no-bundle-at-all", source, "-o", tmp_path / "out.docx")
        assert (result.exit_code, fault in result.stderr) == (1, True), result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.docx"]


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    source = tmp_path / "a.po"
    source.write_text("a house\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "polib", None)
    monkeypatch.delitem(sys.modules, "dragoman.documents.text.po", raising=False)
    result = typed("translate", "no-bundle-at-all", source)
    assert (result.exit_code, install_command("serve") in result.stderr) == (3, True), result.stderr
