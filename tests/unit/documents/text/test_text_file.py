"""Plain-text and HTML documents; the markup package tests the segmentation of HTML."""

import pytest

from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from tests.unit.documents.uppercase_translation import reworded, texts, translated, unchanged

ODD = "\ufeff  First line\r\n\r\n\tsecond\u2028half \r\n123 %\rthird{name}\nhttps://a.org/\nlast"


def test_each_line_is_a_segment_and_its_white_space_stays():
    data = ODD.encode()
    assert texts(read_document("a.txt", data)) == ["First line", "second\u2028half", "third{name}", "last"]
    assert unchanged("a.txt", data) == data
    assert translated("a.TXT", data).decode() == (
        "\ufeff  FIRST LINE\r\n\r\n\tSECOND\u2028HALF \r\n123 %\rTHIRD{name}\nhttps://a.org/\nLAST"
    )


@pytest.mark.parametrize(
    ("data", "fault"), [("käse".encode("latin-1"), "byte 0xe4 at 1"), ("a".encode("utf-16"), "UTF-16")]
)
def test_other_encodings_are_rejected(data: bytes, fault: str):
    with pytest.raises(DataError, match=f"a.txt must be UTF-8, got {fault}"):
        read_document("a.txt", data)


def test_a_page_is_translated():
    data = b"<!doctype html><p class=x>A <b>small</b> house &amp; more<script>no()</script>"
    assert unchanged("a.html", data) == data
    assert texts(read_document("a.htm", data))[0].startswith("A small house & more")
    assert b"<b>SMALL</b> HOUSE &amp; MORE<script>no()</script>" in translated("a.html", data)


def test_a_page_declares_its_new_language():
    data = b'<html class="x" lang="en-GB"><p lang=fr>A house'
    assert unchanged("a.html", data) == data
    assert translated("a.html", data) == b'<html class="x" lang="de"><p lang=fr>A HOUSE'


def test_a_page_keeps_its_charset():
    data = "<meta charset=iso-8859-1><p>Käse “so”".encode("cp1252")
    assert texts(read_document("a.html", data)) == ["Käse “so”"]
    assert reworded("a.html", data, [TaggedText("É 你")]) == b"<meta charset=iso-8859-1><p>\xc9 &#20320;"
    with pytest.raises(DataError, match="got the charset 'utf-7'"):
        read_document("a.html", b"<meta charset=utf-7><p>a")
    with pytest.raises(DataError, match=r"not valid utf-8.* at byte 4"):
        read_document("a.html", b"<p>a\xff")
