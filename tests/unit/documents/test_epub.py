"""EPUB books: only text changes, and the archive stays one that readers open."""

import io
import zipfile

import pytest

from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from tests.unit.documents.samples import EPUB
from tests.unit.documents.uppercase_translation import members, packed, texts, translated

PAGE = "OEBPS/text/a.xhtml"


def stored_first() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as written:
        for name, data in members(EPUB).items():
            method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            written.writestr(name, data, compress_type=method)
    return target.getvalue()


def test_the_media_type_stays_first_and_stored():
    result = translated("a.epub", stored_first())
    assert result[30:58] == b"mimetypeapplication/epub+zip"


def test_links_ids_styles_and_notes_stay():
    before, after = members(EPUB), members(translated("a.epub", EPUB, "pt"))
    expected = before[PAGE].decode()
    for old, new in (("It begins", "IT BEGINS"), ("A word", "A WORD"), ("of&nbsp;it", "OF\u00a0IT")):
        expected = expected.replace(old, new)
    expected = expected.replace("A note", "A NOTE").replace('lang="en"', 'lang="pt"').replace('"en-GB"', '"pt"')
    assert after[PAGE].decode() == expected
    assert {name for name in before if before[name] == after[name]} == {
        "mimetype", "META-INF/container.xml", "OEBPS/a.css",
    }  # fmt: skip
    assert b"<dc:language>pt</dc:language>" in after["OEBPS/a.opf"]
    assert b'src="text/a.xhtml#s"' in after["OEBPS/toc.ncx"]


def test_a_zip_of_the_folder_of_a_book_is_read():
    files = {f"A book/{name}": data for name, data in members(EPUB).items()}
    after = members(translated("a.epub", packed(files), "pt"))
    assert after == {f"A book/{name}": data for name, data in members(translated("a.epub", EPUB, "pt")).items()}
    with pytest.raises(DataError, match="not an EPUB book"):
        read_document("a.epub", packed({f"a/{name}": data for name, data in files.items()}))


def test_the_package_declares_the_language_of_the_translation():
    package = members(EPUB)["OEBPS/a.opf"].decode().replace("<package ", '<package xml:lang="en" ', 1)
    package = package.replace("<dc:title>", '<dc:title xml:lang="en">', 1)
    written = members(translated("a.epub", packed(members(EPUB) | {"OEBPS/a.opf": package.encode()}), "pt"))
    assert written["OEBPS/a.opf"].count(b'xml:lang="pt"') == 2
    assert b'xml:lang="en"' not in written["OEBPS/a.opf"]


@pytest.mark.parametrize("empty", ["<script src='a'/>", "<title/>", "<p/>", "<a id='b'/>", "<td/>", "<svg/>", "<i/>"])
def test_elements_that_end_with_their_start_tag_hide_nothing(empty: str):
    page = members(EPUB)[PAGE].replace(b"<p>A word", f"{empty}<p>A {empty}word".encode())
    found = texts(read_document("a.epub", packed(members(EPUB) | {PAGE: page})))
    assert "of\u00a0it." in " ".join(found)
    assert "A note" in found


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("mimetype", b"application/zip", "not an EPUB book"),
        ("OEBPS/a.opf", b"<package>", "well-formed"),
        ("META-INF/container.xml", b"<container/>", "no package document"),
        (
            "META-INF/encryption.xml",
            b"<encryption><CipherReference URI='OEBPS/text/b%20c.xhtml'/></encryption>",
            "is encrypted",
        ),
        (PAGE, b"<!DOCTYPE html [<!ENTITY a 'b'>]><html><p>&a;</p></html>", "declares entities"),
        (PAGE, b"<p>a</p>" * 150_000, "tags in all its pages"),
    ],
)
def test_a_book_that_cannot_be_kept_is_rejected(name: str, content: bytes, fault: str):
    with pytest.raises(DataError, match=fault):
        read_document("a.epub", packed(members(EPUB) | {name: content}))


def test_obfuscated_fonts_are_no_obstacle():
    fonts = b"<encryption><CipherReference URI='OEBPS/a.ttf'/></encryption>"
    assert read_document("a.epub", packed(members(EPUB) | {"META-INF/encryption.xml": fonts})).segments
