"""Tables are recognised by their columns, and the command for one column gives its texts."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest

from dragoman.api.files.folder_translation import check_folders
from dragoman.api.files.table_columns import column_command, column_in_language, count_columns
from dragoman.cli.synthetic_corpus import check_input
from dragoman.errors import DataError
from tests.unit.cli.tiny_translators import typed

FILES = [
    ("a.csv", 'id,text\n1,"Hello, you"\n2,World\n', (2, ",")),
    ("a.csv", "Hallo;Hello\nWelt, ja;World\n", (2, ";")),
    ("a.tsv", "a\tb\tc\nd\te\tf\n", (3, "\t")),
    ("a.csv", "One sentence.\nAnother, with a comma.\n", (1, "")),
    ("a.csv", 'text\n"Hello, you"\n', (1, "")),
    ("a.tsv", "one\ntwo\n", (1, "")),
    ("a.txt", "a\tb\nc\td\n", (1, "")),
    ("a.csv", "", (1, "")),
]


@pytest.mark.parametrize(("name", "text", "found"), FILES)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_columns_of_a_table_are_counted(tmp_path: Path, name: str, text: str, found: tuple[int, str], ending: str):
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
    assert count_columns(str(path)) == found


def test_what_cannot_be_read_is_no_table(tmp_path: Path):
    assert count_columns(str(tmp_path / "none.csv")) == (1, "")
    (tmp_path / "bad.csv.gz").write_bytes(b"no gzip data")
    assert count_columns(str(tmp_path / "bad.csv.gz")) == (1, "")


@pytest.mark.parametrize(
    ("name", "text"), [("my a.csv", 'Hello,x\n"two\nlines, yes",y\n'), ("a.tsv", "Hello\tx\ntwo lines, yes\ty\n")]
)
def test_the_command_gives_the_first_column(tmp_path: Path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    _, delimiter = count_columns(str(path))
    command = column_command(str(path), delimiter, "cat")
    shown = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
    assert shown.stdout == "Hello\ntwo lines, yes\n"


ENGLISH = "Two young people are walking along the river in the evening"
GERMAN = "Zwei junge Leute gehen am Abend den Fluss entlang"


@pytest.mark.parametrize(
    ("text", "language", "column"),
    [
        (f"id,German,English\n1,{GERMAN},{ENGLISH}\n2,{GERMAN},{ENGLISH}\n", "en", 3),
        (f"id,German,English\n1,{GERMAN},{ENGLISH}\n2,{GERMAN},{ENGLISH}\n", "de-AT", 2),
        (f"id,German,English\n1,{GERMAN},{ENGLISH}\n2,{GERMAN},{ENGLISH}\n", "fr", None),
        (f"1,{GERMAN}\n", "de", 2),
        ("id,fr,EN\n1,a,b\n", "en", 3),
        ("id,x\n1,a\n", "", None),
    ],
)
def test_the_column_of_a_language_is_found(tmp_path: Path, text: str, language: str, column: int | None):
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    assert column_in_language(str(path), ",", language) == column


@pytest.mark.parametrize(("name", "text"), [("a.csv", "x,Hello\n"), ("a.tsv", "x\tHello\n")])
def test_the_command_gives_another_column(tmp_path: Path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    command = column_command(str(path), count_columns(str(path))[1], "cat", 2)
    assert subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout == "Hello\n"


def test_translate_proposes_the_column_of_its_source_language(tmp_path: Path):
    path = tmp_path / "a.tsv"
    path.write_text(f"1\t{GERMAN}\t{ENGLISH}\n" * 6, encoding="utf-8")
    bundle = Path(__file__).parents[3] / "fixtures/formats-0.1/transformer/run/bundle"
    result = typed("translate", bundle, path)
    assert result.exit_code == 2
    assert f"here column 3, in en: cat {path} | cut -f3 | dragoman translate {bundle}" in result.stderr


def test_tables_are_no_text_of_a_folder_or_of_a_synthetic_corpus(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "text.txt").write_text("a\tb\n", encoding="utf-8")
    (folder / "table.tsv").write_text("a\tb\n", encoding="utf-8")
    assert check_folders(folder, tmp_path / "out", resume=False, force=False) == (["text.txt"], ["table.tsv"])
    with pytest.raises(
        DataError, match=r"table\.tsv must be a text file .*, got a table of 2 columns; save one column"
    ):
        check_input(folder / "table.tsv", tmp_path / "out", resume=False, force=False)
