"""``dragoman translate`` with a document."""

import io
import sys
from pathlib import Path
from typing import Any

import docx
import pytest

from dragoman.environment import install_command
from tests.server.bundles import tiny_bundle as bundle_of_languages
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed
from tests.unit.documents.office_files import report

FRENCH = "Les enfants jouent dans le jardin pendant que leur mère prépare le repas."


@pytest.fixture(scope="module")
def en_pt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_of_languages(tmp_path_factory.mktemp("bundles") / "en-pt", "en", "pt")


def _styles(document: Any) -> list[Any]:
    return [paragraph.style for paragraph in document.paragraphs]


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
    assert (again.exit_code, "already exists" in again.stderr) == (2, True)
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
        ((), "a docx document is written to a file"),
        (("-o", "a.odt"), "the output must end in .docx"),
        (("-o", "nowhere/a.docx"), "the output must be in an existing folder"),
        (("-o", "b.docx", "--resume"), "--resume is for lines of text, not"),
        (("-o", "b.docx", "--json"), "--json is for lines of text, not"),
        (("-o", "in.docx", "--force"), "in.docx is the input"),
        (("-o", "b.docx", "--again"), "--again is for files with translations (.mqxliff, .po, .pot, .sdlxliff, .tmx,"),
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
    for data, fault in [
        (None, "in.docx does not exist; check the path"),
        (b"hello", "in.docx is not a zip archive"),
        (b"", "in.docx is empty; check the file\n"),
    ]:
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", f"<p>{FRENCH}</p>" * 6),
        ("a.md", f"{FRENCH}\n\n" * 6),
        ("a.po", "".join(f'msgid "{number}. {FRENCH}"\nmsgstr ""\n\n' for number in range(6))),
    ],
)
def test_a_document_in_another_language_gets_a_note(name: str, text: str, en_pt: Path, tmp_path: Path):
    source = tmp_path / name
    source.write_text(text, encoding="utf-8")
    result = typed("translate", en_pt, source, *QUICK)
    assert result.exit_code == 0, result.stderr
    assert "note    6 of the first 6 texts look like fr; the model translates from en\n" in result.stderr
    source.write_text(
        text.replace(FRENCH, "The children play in the garden while their mother cooks."), encoding="utf-8"
    )
    assert "note " not in typed("translate", en_pt, source, *QUICK).stderr


def test_a_short_heading_does_not_prevent_the_note(en_pt: Path, tmp_path: Path):
    source = tmp_path / "a.md"
    source.write_text(f"# Musée\n\n{FRENCH}\n", encoding="utf-8")
    assert "note    the texts look like fr; the model" in typed("translate", en_pt, source, *QUICK).stderr


def test_only_the_first_texts_are_read_for_the_note(en_pt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dragoman.api.files.document_translation.NOTE_SAMPLE", 5)
    source = tmp_path / "a.html"
    source.write_text(f"<p>{FRENCH}</p>" * 6, encoding="utf-8")
    assert "note    5 of the first 5 texts look like fr" in typed("translate", en_pt, source, *QUICK).stderr


def test_another_declared_target_gets_a_note_or_an_error(en_pt: Path, tmp_path: Path):
    source, target = tmp_path / "b.po", tmp_path / "c.po"
    text = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Open the door"\nmsgstr ""\n'
    source.write_text(text, encoding="utf-8")
    result = typed("translate", en_pt, source, "-o", target, *QUICK)
    told = "note    b.po declares de as its target language; the model translates to pt, and the output declares pt\n"
    assert (result.exit_code, told in result.stderr) == (0, True), result.stderr
    assert "Language: pt" in target.read_text(encoding="utf-8")
    target.unlink()
    source.write_text(f'{text}\nmsgid "Close"\nmsgstr "Schließen"\n', encoding="utf-8")
    result = typed("translate", en_pt, source, "-o", target, *QUICK)
    assert (result.exit_code, "b.po must be translated to de" in result.stderr) == (1, True), result.stderr
    assert (told in result.stderr, target.exists()) == (False, False)


def test_another_declared_source_gets_a_note(en_pt: Path, tmp_path: Path):
    source = tmp_path / "b.xlf"
    unit = "<trans-unit><source>Open the door</source></trans-unit>"
    source.write_text(f'<xliff version="1.2"><file source-language="fr">{unit}</file></xliff>', encoding="utf-8")
    result = typed("translate", en_pt, source, *QUICK)
    told = "note    b.xlf declares fr as its source language; the model translates from en\n"
    assert (result.exit_code, told in result.stderr) == (0, True), result.stderr


def test_drafts_stay_unless_they_are_to_be_translated_again(en_pt: Path, tmp_path: Path):
    source = tmp_path / "b.po"
    source.write_text('#, fuzzy\nmsgid "Open the door"\nmsgstr "Abre"\n', encoding="utf-8")
    result = typed("translate", en_pt, source, *QUICK)
    note = (
        "note    b.po has 1 unreviewed translation, which stays: 1 of people or other tools; --again translates again\n"
    )
    assert (result.exit_code, note in result.stderr) == (0, True), result.stderr
    assert result.stdout == source.read_text(encoding="utf-8")
    result = typed("translate", en_pt, source, "--again", *QUICK)
    assert (result.exit_code, "note " in result.stderr) == (0, False), result.stderr
    assert "# dragoman:" in result.stdout
    assert "Abre" not in result.stdout
