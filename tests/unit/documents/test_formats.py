"""Formats of documents: every suffix has a reader."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from dragoman.api.files.text_files import parse_format
from dragoman.documents.formats import FORMATS, document_formats, document_suffixes, find_format, read_document
from dragoman.errors import DragomanError
from dragoman.markup.tagged_text import TaggedText
from testkit.installed_package import installed_package


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_has_its_reader(suffix: str):
    module, function = FORMATS[suffix].reader.split(":")
    assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_documentation_has_every_format(suffix: str):
    page = Path(__file__).resolve().parents[3] / "docs/documents.md"
    assert f"`{suffix}`" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page",
    [
        b'<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>door</p></body></html>',
        b"<html><head><!--" + b"x" * 2000 + b'--><meta charset="iso-8859-1"></head><body><p>door</p></body></html>',
    ],
)
def test_a_late_charset_of_a_page_is_used(page: bytes):
    written = read_document("a.html", page).write([TaggedText("Tür 你")], language="de")
    assert b"<p>T\xfcr &#20320;</p>" in written


FORMS = """
from dragoman.documents.formats import DocumentFormat
from dragoman.documents.text.text_file import read_txt
fine = DocumentFormat("text/x-lyrics", "some_formats:read_txt")
no_reader = DocumentFormat("text/x-lyrics", "some_formats:read_lrc")
no_format = 3
"""
ENTRIES = {
    "document_formats lrc": "some_formats:fine",
    "document_formats rtx": "nothing_of_this_name:fine",
    "document_formats sub": "some_formats:no_format",
    "document_formats sbv": "some_formats:no_reader",
    "document_formats po": "some_formats:no_format",
}


def test_a_plug_in_adds_a_format_and_a_broken_one_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with installed_package(tmp_path, "some-formats", ENTRIES, FORMS):
        assert {".lrc", ".rtx", ".sub", ".sbv", ".po"} <= {*document_suffixes()}
        assert [segment.text for segment in read_document("a.lrc", b"Hello there").segments] == ["Hello there"]
        assert find_format(".lrc").media_type == "text/x-lyrics"
        assert parse_format(None, "a.lrc").suffix == ".lrc"
        assert {".lrc", ".rtx", ".sub"} & document_formats().keys() == {".lrc"}
        assert [record.getMessage().count("\n") for record in caplog.records] == [0]
        faults = {"rtx": "nothing_of_this_name", "sub": "no DocumentFormat", "sbv": "AttributeError"}
        for name, why in faults.items():
            with pytest.raises(DragomanError, match=rf"{name} \(document_formats\) of some-formats 1\.0 .*{why}"):
                read_document(f"a.{name}", b"Hello there")
        assert document_formats()[".po"] is find_format(".po") is FORMATS[".po"]  # a plug-in does not replace it
