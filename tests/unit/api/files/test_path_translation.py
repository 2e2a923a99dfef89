"""`Translator.translate_file`: documents and text files, the same bytes as the command line writes."""

import gzip
import re
from pathlib import Path

import pytest

from dragoman.api.files.file_translation import default_output
from dragoman.api.translation.translator import Translator
from dragoman.errors import DragomanError
from dragoman.text import Tokenizer
from tests.unit.api.table_engine import table_translator

TABLE = {"the house is small": "das Haus ist klein", "a house": "ein Haus"}


@pytest.fixture(scope="module")
def translator(tokenizers: dict[str, Tokenizer]) -> Translator:
    return table_translator(TABLE, tokenizers=tokenizers)[0]


def test_a_document_keeps_its_layout(tmp_path: Path, translator: Translator):
    page = tmp_path / "page.html"
    page.write_text('<html lang="en"><p>the <b>house</b> is small</p></html>')
    written = translator.translate_file(page)
    assert written == tmp_path / "page.de.html"
    assert written.read_text() == '<html lang="de"><p>das <b>Haus</b> ist klein</p></html>'


@pytest.mark.parametrize("name", ["text.txt", "text", "text.en", "text.txt.gz"])
def test_a_text_file_is_translated_line_by_line(name: str, tmp_path: Path, translator: Translator):
    source = tmp_path / name
    pack, unpack = (gzip.compress, gzip.decompress) if name.endswith(".gz") else (bytes, bytes)
    source.write_bytes(pack(b"a house\n\n1 2\r\nthe house is small"))
    written = translator.translate_file(str(source), tmp_path / f"out-{name}")
    assert unpack(written.read_bytes()) == b"ein Haus\n\n1 2\ndas Haus ist klein\n"


def test_an_existing_file_is_not_overwritten(tmp_path: Path, translator: Translator):
    source, output = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("a house\n")
    output.write_text("of a person")
    with pytest.raises(DragomanError, match=r"b\.txt already exists; name another file, or pass force=True"):
        translator.translate_file(source, output)
    assert output.read_text() == "of a person"
    for same in (source, tmp_path / "." / "a.txt"):
        with pytest.raises(DragomanError, match="is the input; give the output"):
            translator.translate_file(source, same, force=True)
    assert source.read_text() == "a house\n"
    translator.translate_file(source, output, force=True)
    assert output.read_text() == "ein Haus\n"


@pytest.mark.parametrize(("name", "output"), [("a.html", "a.docx"), ("a.html", "a.txt"), ("a.txt", "b.docx")])
def test_an_output_with_the_name_of_another_format_is_refused(
    name: str, output: str, tmp_path: Path, translator: Translator
):
    (tmp_path / name).write_text("<p>a house</p>\n" if name.endswith("html") else "a house\n")
    with pytest.raises(DragomanError, match=f"must (not )?end in .*, got {output}; rename it"):
        translator.translate_file(tmp_path / name, tmp_path / output)
    assert not (tmp_path / output).exists()


@pytest.mark.parametrize("name", ["a.toml", "a.ini", "a.mxliff", "a.pdf", "a.sub", "table.csv"])
def test_what_the_command_line_refuses_is_refused(name: str, tmp_path: Path, translator: Translator):
    source = tmp_path / name
    source.write_text("{1}{25}a\n" if name == "a.sub" else "a house,a house\nthe house,a house\n")
    with pytest.raises(DragomanError) as raised:
        translator.translate_file(source)
    assert "--" not in str(raised.value)
    if name != "table.csv":
        assert re.search(r'one of \..*\.docx, .*read_as="text"', str(raised.value))
    assert [*tmp_path.iterdir()] == [source]
    assert translator.translate_file(source, read_as="text").is_file()


def test_the_format_can_be_named(tmp_path: Path, translator: Translator):
    source = tmp_path / "page.txt"
    source.write_text("<html><p>the <b>house</b> is small</p></html>")
    with pytest.warns(UserWarning, match='looks like HTML.*read_as="html" keeps its tags'):
        translator.translate_file(source)
    written = translator.translate_file(source, read_as="html", force=True)
    assert written.read_text() == "<html><p>das <b>Haus</b> ist klein</p></html>"
    with pytest.raises(DragomanError, match=r"^read_as must be one of text, "):
        translator.translate_file(source, read_as="rtf")


def test_an_error_leaves_no_file(tmp_path: Path, translator: Translator):
    source = tmp_path / "a.txt"
    source.write_bytes(b"a house\n\xff\n")
    with pytest.raises(DragomanError, match="UTF-8"):
        translator.translate_file(source)
    for path, message in ((tmp_path / "none.txt", "does not exist"), (tmp_path, "is no file; check the path")):
        with pytest.raises(DragomanError, match=message):
            translator.translate_file(path)
    with pytest.raises(DragomanError, match="must be in an existing folder"):
        translator.translate_file(source, tmp_path / "none" / "b.txt")
    assert [*tmp_path.iterdir()] == [source]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.docx", "a.pt.docx"),
        ("a.en.docx", "a.pt.docx"),
        ("news.en", "news.pt"),
        ("news", "news.pt"),
        ("news.en.gz", "news.pt.gz"),
        ("a.b.txt.gz", "a.b.pt.txt.gz"),
    ],
)
def test_the_output_is_named_by_its_language(name: str, expected: str):
    assert default_output(Path("x") / name, ("en", "pt")) == Path("x") / expected
