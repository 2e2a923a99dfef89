"""Files of packages in small: a file of each kind is read or refused, and a reader that loses text is found."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.file_corpus import files_of, outcome
from benchmarks.placeholders import FORMATS
from dragoman.documents import formats
from dragoman.errors import DataError

TEXT = "The red house is near the town.\n"
FILES = {
    **{f"a{suffix}": (form.write("The red house"), "read") for suffix, form in FORMATS.items() if suffix != ".txt"},
    "a.txt": (TEXT.encode() * 3, "text"),
    "README": (TEXT.encode() * 3, "text"),
    "data.txt": (b'{"open": "Open", "close": "Close"}\n', "text with a note"),
    "package.json": (b'{"name": "open", "version": "1.0"}\n', "refused"),
    "b.json": (b'{"open": "Open"}\n', "read"),
    "b.ts": (b"export const a = {\n  open: 'Open',\n};\n", "refused"),
    "a.cat": (b'PUBLIC "-//ISO 8879:1986//ENTITIES Added Latin 1//EN" "iso-lat1.ent"\n' * 3, "refused"),
    "paths.cat": (b"CATALOG /usr/share/sgml/dtd/catalog\nCATALOG /usr/share/xml/svg/catalog\n", "refused"),
    "a.sub": (b"{1}{25}Hello\n", "refused"),
    "a.vtt": (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n", "read"),
    "a.mxliff": (b'<xliff version="1.2"></xliff>', "refused"),
    "a.png": (b"\x89PNG\r\n\x1a\n\0\0", "refused"),
    "broken.po": (b"<p>Hello</p>", "refused"),
}


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_read_or_refused(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(FILES[name][0])
    assert [found for _, found in files_of(tmp_path, 4)] == [path]
    assert outcome(path)[0] == FILES[name][1]


def _write_without_text(document: Any, *_: Any, **__: Any) -> bytes:
    return b"\n"


def _refuse_without_a_way(*_: Any) -> str:
    raise DataError("It does not work")


def test_faults_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.md"
    path.write_bytes(FILES["a.md"][0])
    read = formats.read_document("a.md", FILES["a.md"][0])
    monkeypatch.setattr(type(read), "write", _write_without_text)
    assert outcome(path) == ("wrong", "other bytes without a change of text")
    monkeypatch.setattr("benchmarks.file_corpus._document", _refuse_without_a_way)
    assert outcome(path) == ("wrong", "It does not work")
