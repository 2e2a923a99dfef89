"""Which files are translated as lines of text: known endings, and no other file without `--as text`."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.api.files.folder_translation import check_folders
from dragoman.api.files.text_files import (
    check_text_file,
    count_columns,
    is_text_file,
    parse_format,
)
from dragoman.cli.commands.synthetic_corpora import check_input
from dragoman.errors import ConfigError
from tests.unit.cli.tiny_translators import QUICK, tiny_bundle, typed

PROSE = "Two dogs play in the snow.\nThe man reads; the woman sleeps.\nWho is there?\n"
TEXT_NAMES = """
a.txt A.TXT a.text notes README train.en train.de train.en.gz news.pt-BR news.zh_CN.gz dev.eng_Latn ace_Arab.devtest
train.deu train.cs train.pl train.sv train.el train.pt train.ts train.sh news.2024 part.00 hyp.out news.ref a.csv a.tsv
.hidden Dr.\u00a0Smith
""".split()  # noqa: SIM905 -- one name per word
REFUSED = {  # ending: content, and the way that the message names
    "mxliff": ('<xliff version="1.2"></xliff>', "add --as xliff"),
    "ts": ("export const a = {\n  open: 'Open',\n};\n", "looks like code; write its texts to a .txt file"),
    "js": ("export default {open: 'Open'};\n", "convert it to .po or .xliff"),
    **dict.fromkeys(("sub", "sbv", "lrc", "ttml"), ("[00:01.00]Hello\n", "convert it to .srt")),
    **dict.fromkeys(
        ("toml", "ini", "plist", "json5"),
        ('"open" = "Open";\n', "convert it to .po or .xliff, or write its texts to a .txt file, one per line, or add"),
    ),
    **dict.fromkeys(("adoc", "org", "wiki"), ("* Title\n", "convert it to .html or .md")),
    **dict.fromkeys(("log", "conf", "py", "c", "css", "svg", "sql"), ("a = 1\n", "convert it to one of these, or add")),
    **dict.fromkeys(("xhtml", "twig"), ("<p>Hello</p>\n", "add --as html")),
    "pdf": ("%PDF-1.7\n", "which is a PDF document; convert it to .docx with LibreOffice, or to .txt with pdftotext"),
    "mobi": ("BOOKMOBI", "convert it to .epub with calibre"),
    "rtf": ("{\\rtf1 Hello}", "convert it to .docx with LibreOffice"),
    "xls": ("\xd0\xcf", "convert it to .xlsx with LibreOffice"),
    "xlsm": ("PK\x03\x04", "add --as xlsx"),
    "zip": ("PK\x03\x04", "unpack it"),
    "html.gz": ("<p>Hello</p>", "unpack it with gunzip"),
    "html.de": ("<p>Hello</p>", "add --as html"),
    "json.de": ('{"a": "b"}', "add --as json"),
    # a language too, but the content is that of the format
    "cs": ("using System;\n\npublic class Program\n{\n    // Hello\n}\n", "looks like code"),
    "pl": ("#!/usr/bin/perl\nuse strict;\nmy $x = 1;\n", "looks like code"),
    "sh": ("# install\nset -e\necho hello\n", "looks like code"),
    "el": (";;; foo.el --- Foo\n\n(defun foo ()\n  bar)\n", "looks like code"),
    "ml": ('let x = 1\n(* comment *)\nlet () = print_string "x"\n', "looks like code"),
    "sv": ("module top;\n  logic a;\nendmodule\n", "looks like code"),
    "mk": ("all: build\n\t$(CC) x.c\n", "looks like code"),
    "cat": ('OVERRIDE YES\nPUBLIC "-//x//EN" "x.ent"\n', "looks like code"),
    "1": ('.TH LS 1 "May"\n.SH NAME\nls - list\n', "looks like a manual page"),
}

FILES = [
    ("a.csv", 'id,text\n1,"Hello, you"\n2,World\n', 2),
    ("a.csv", "Hallo;Hello\nWelt, ja;World\n", 2),
    ("a.tsv", "a\tb\tc\nd\te\tf\n", 3),
    ("a.csv", "One sentence.\nAnother, with a comma.\n", 1),
    ("a.csv", 'text\n"Hello, you"\n', 1),
    ("a.tsv", "one\ntwo\n", 1),
    ("a.txt", "a\tb\nc\td\n", 1),
    ("a.csv", "", 1),
]


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_text_endings_and_languages_are_text(tmp_path: Path, name: str):
    path = _file(tmp_path, name, PROSE)
    assert (check_text_file(str(path)), is_text_file(path)) == ("", True)


@pytest.mark.parametrize("ending", REFUSED)
def test_every_other_ending_is_refused_with_a_way(tmp_path: Path, ending: str):
    text, way = REFUSED[ending]
    path = _file(tmp_path, f"a.{ending}", text)
    with pytest.raises(ConfigError) as raised:
        check_text_file(str(path))
    message = str(raised.value)
    assert "the input must be plain text (.txt, .en, no ending) or one of .arb, .ass, .docx, " in message
    assert way in message
    is_binary = text.startswith(("PK", "%PDF", "{\\rtf"))
    assert ("--as text" in message, is_text_file(path)) == (not is_binary, False)
    if is_binary:
        with pytest.raises(ConfigError):
            check_text_file(str(path), is_forced=True)
    else:
        assert check_text_file(str(path), is_forced=True) == ""


@pytest.mark.parametrize(
    ("data", "kind"), [(b"PK\x03\x04..", "a zip archive"), (b"%PDF-1", "a PDF"), (b"a\0b", "zero")]
)
def test_binary_content_is_no_text_whatever_its_name(tmp_path: Path, data: bytes, kind: str):
    for name in ("a.txt", "a.en", "a"):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ConfigError, match=kind):
            check_text_file(str(tmp_path / name))


def test_the_way_out_and_the_note_on_the_command_line(tmp_path: Path):
    sub = _file(tmp_path, "a.sub", "{1}{25}Hello\n")
    refused = typed("translate", tmp_path / "no-model", sub)
    assert (refused.exit_code, "convert it to .srt, or add --as text" in refused.stderr) == (2, True), refused.stderr
    assert typed("translate", tiny_bundle(), sub, "--as", "text", *QUICK).stdout.count("\n") == 1
    note = "looks like JSON, and its syntax is translated as well; convert it to .po or .xliff"
    json = _file(tmp_path, "a.txt", '{"open": "Open the door"}\n')
    assert f"note    {json} {note}" in typed("translate", tiny_bundle(), json, *QUICK).stderr
    piped = typed("translate", tiny_bundle(), *QUICK, stdin='{"open": "Open the door"}\n')
    assert (piped.exit_code, f"note    standard input {note}" in piped.stderr) == (0, True), piped.stderr


def test_another_format_than_that_of_the_ending(tmp_path: Path):
    page = _file(tmp_path, "page.tpl", '<p class="x">A house</p>\n')
    out = tmp_path / "out.tpl"
    assert typed("translate", tiny_bundle(), page, "--as", "html", "-o", out, *QUICK).exit_code == 0
    assert out.read_text(encoding="utf-8").startswith('<p class="x">')
    piped = typed("translate", tiny_bundle(), "-", "--as", "html", *QUICK, stdin="<p>A house</p>\n")
    assert (piped.exit_code, piped.stdout[:3]) == (0, "<p>"), piped.stderr
    with pytest.raises(ConfigError, match=r"--as must be one of text, .*docx, .*, got 'sub'; choose one of these"):
        parse_format("sub", "a.sub")


def test_files_of_a_folder_are_skipped_unless_they_are_read_as_text(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.txt", "b.sub", "c.rst", "d.en"):
        _file(folder, name, PROSE)
    _file(folder, "e.zip", "PK\x03\x04")
    found = check_folders(folder, tmp_path / "out", resume=False, force=False)
    assert found == (["a.txt", "d.en"], ["b.sub", "c.rst", "e.zip"])
    found = check_folders(folder, tmp_path / "out", resume=False, force=False, as_text=True)
    assert found == (["a.txt", "b.sub", "c.rst", "d.en"], ["e.zip"])


def test_a_synthetic_corpus_is_made_of_text_only(tmp_path: Path):
    page = _file(tmp_path, "a.html", "<p>Hello</p>")
    with pytest.raises(ConfigError, match=r"must be plain text .*a\.html; write its texts to a \.txt file"):
        check_input(page, tmp_path / "out", resume=False, force=False)


def test_texts_of_a_folder_and_of_standard_input_that_look_like_data_are_noted(tmp_path: Path):
    folder, source = tmp_path / "texts", tmp_path / "in.json"
    folder.mkdir()
    data = '{"open": "Open"}\n'
    for name in [*(f"{number}.txt" for number in range(6)), "a.txt"]:
        (folder / name).write_text("abc def\n" if name == "a.txt" else data, encoding="utf-8")
    result = typed("translate", tiny_bundle(), folder, "-o", tmp_path / "out", *QUICK)
    notes = [line for line in result.stderr.splitlines() if line.startswith("note    ")]
    assert notes[0].startswith(f"note    {folder}/0.txt looks like JSON, and its syntax is translated as well")
    assert (len(notes), notes[4]) == (5, "note    2 more files look like markup, code or data")
    source.write_text(data, encoding="utf-8")
    with source.open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "translate", str(tiny_bundle()), "-", *map(str, QUICK)],
            stdin=stdin,
            capture_output=True,
            check=True,
            text=True,
        )
    assert "note    standard input looks like JSON" in done.stderr


@pytest.mark.parametrize(("name", "text", "found"), FILES)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_columns_of_a_table_are_counted(tmp_path: Path, name: str, text: str, found: int, ending: str):
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
    assert count_columns(str(path)) == found


def test_what_cannot_be_read_is_no_table(tmp_path: Path):
    assert count_columns(str(tmp_path / "none.csv")) == 1
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip data")
    assert count_columns(str(tmp_path / "bad.csv.gz")) == 1


def test_tables_are_no_text_of_a_folder_or_of_a_synthetic_corpus(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "text.txt").write_text("a\tb\n", encoding="utf-8")
    (folder / "table.tsv").write_text("a\tb\n", encoding="utf-8")
    assert check_folders(folder, tmp_path / "out", resume=False, force=False) == (["text.txt"], ["table.tsv"])
    with pytest.raises(ConfigError, match=r"table\.tsv, a table of 2 columns; save one column"):
        check_input(folder / "table.tsv", tmp_path / "out", resume=False, force=False)
