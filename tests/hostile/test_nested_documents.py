"""Nested and repeated parts of documents are not copied again and again, neither in memory nor in time."""

import pytest

from dragoman.documents import limits
from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from testkit.growth import doubling
from tests.hostile.untrusted_documents import W, with_body
from tests.unit.documents.office.test_odt import odt_of
from tests.unit.documents.office_files import report
from tests.unit.documents.uppercase_translation import members, packed, translated

LEVELS, LEAVES = 60, 500
LIMIT = 2.5


def nested(before: str, after: str, leaf: str) -> str:
    return before * LEVELS + leaf * LEAVES + after * LEVELS


def docx_of(paragraphs: str) -> bytes:
    return with_body(b"<w:document %b><w:body>%b</w:body></w:document>" % (W, paragraphs.encode()))


def words_in(data: bytes) -> int:
    """Number of segments of the body, which has one word only."""
    return sum(segment.text.lower() == "word" for segment in read_document("a.docx", data).segments)


@pytest.mark.parametrize(
    ("name", "before", "leaf", "after"),
    [
        ("a.xlf", "<trans-unit><source>word ", "<x/>", "</source></trans-unit>"),
        ("a.xlf", "<segment><source>word ", "<ph/>", "</source></segment>"),
        ("a.tmx", "<tu><tuv><seg>word ", "<ph/>", "</seg></tuv></tu>"),
    ],
)
def test_nested_units_do_not_multiply_the_size(name: str, before: str, leaf: str, after: str):
    root = "xliff" if name.endswith("xlf") else "tmx"
    data = f"<{root}>{nested(before, after, leaf)}</{root}>".encode()
    found = translated(name, data)

    assert len(read_document(name, data).segments) == 1
    assert b"WORD" in found
    assert len(found) < 3 * len(data)


_BEGIN, _SEPARATE, _END = (f"<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>" for kind in ("begin", "separate", "end"))
_WORD = "<w:r><w:t>word</w:t></w:r>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"<w:p>{_BEGIN}<w:r><w:instrText>HYPERLINK a</w:instrText></w:r><w:r><w:drawing>",
            f"</w:drawing></w:r>{_SEPARATE}{_WORD}{_END}</w:p>",
        ),
        ("<w:p><w:hyperlink><w:aPr>", f"</w:aPr>{_WORD}</w:hyperlink></w:p>"),
    ],
)
def test_nested_paragraphs_of_word_are_not_copied(before: str, after: str):
    data = docx_of(nested(before, after, "<w:br/>"))

    assert words_in(data) == 1  # those with a paragraph in what would be copied stay unchanged
    found = translated("a.docx", data)
    assert len(members(found)["word/document.xml"]) < 2 * len(members(data)["word/document.xml"])
    assert words_in(found) == 1


def test_long_formats_are_compared_once_per_run():
    def build(size: int) -> bytes:
        properties = f"<w:rPr><w:color w:val='{'a' * 1000 * size}'/></w:rPr>"
        first = f"<w:r>{properties}<w:t>{'word ' * size}</w:t></w:r>"
        return docx_of(f"<w:p>{first}<w:r>{properties}{'<w:t>a</w:t>' * size}</w:r></w:p>")

    made = {size: build(size) for size in (400, 800)}
    assert doubling(lambda size: read_document("a.docx", made[size]), 400, largest=400) <= LIMIT


def test_a_long_paragraph_of_opendocument_is_written_in_linear_time():
    def build(size: int) -> bytes:
        return odt_of(f"<text:p>{'ab ' * size}</text:p>")

    made = {size: build(size) for size in (8000, 16_000)}
    assert doubling(lambda size: translated("a.odt", made[size]), 8000, largest=8000) <= LIMIT


def test_the_tags_of_all_files_of_an_archive_are_counted(monkeypatch: pytest.MonkeyPatch):
    header = next(name for name in members(report()) if "header" in name)
    data = packed(members(docx_of("<w:p/>" * 200)) | {header: b"<w:hdr %b>%b</w:hdr>" % (W, b"<w:p/>" * 200)})
    count = sum(content.count(b"<") for name, content in members(data).items() if name.endswith(".xml"))

    monkeypatch.setattr(limits, "_MAX_ALL_TAGS", count)
    document = read_document("a.docx", data)
    document.write(document.segments, language="de")  # parts that are parsed again count once
    monkeypatch.setattr(limits, "_MAX_ALL_TAGS", 300)
    with pytest.raises(DataError, match="at most 300 tags in all its files, got more"):
        read_document("a.docx", data)
