"""OpenDocument text documents."""

import functools
import io

import odf.opendocument
import pytest
from odf import style, table, teletype, text
from odf.element import Element

from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.uppercase_translation import members, packed, reworded, texts, translated, unchanged

SPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
    'xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:officeooo="http://openoffice.org/2009/office" xmlns:xlink="http://www.w3.org/1999/xlink"'
)


@functools.cache
def letter() -> bytes:
    """Create a document with a heading, formats, a link, spaces, a note, a list and a nested table."""
    document = odf.opendocument.OpenDocumentText()
    bold = style.Style(name="Bold", family="text")
    bold.addElement(style.TextProperties(fontweight="bold"))
    document.styles.addElement(bold)
    document.text.addElement(text.H(outlinelevel=1, text="A letter"))
    paragraph = text.P(text="The ")
    paragraph.addElement(text.Span(stylename=bold, text="very"))
    paragraph.addText(" small house")
    note = text.Note(noteclass="footnote")
    note.addElement(text.NoteCitation(text="1"))
    note_body = text.NoteBody()
    note_body.addElement(text.P(text="In a note"))
    note.addElement(note_body)
    paragraph.addElement(note)
    paragraph.addText(" stands, ")
    paragraph.addElement(text.A(href="https://example.org/", text="see here"))
    document.text.addElement(paragraph)
    outer = table.Table(name="t")
    outer.addElement(table.TableColumn())
    row, cell = table.TableRow(), table.TableCell()
    inner = table.Table(name="u")
    inner_row, inner_cell = table.TableRow(), table.TableCell()
    inner.addElement(table.TableColumn())
    inner_cell.addElement(text.P(text="In a table in a table"))
    for parent, child in [(inner_row, inner_cell), (inner, inner_row), (cell, inner), (row, cell), (outer, row)]:
        parent.addElement(child)
    document.text.addElement(outer)
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def odt_of(body: str, styles: str = "") -> bytes:
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content {SPACES}>'
        f"<office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return packed({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": content.encode()})


def only(body: str, styles: str = "") -> TaggedText:
    (segment,) = read_document("a.odt", odt_of(body, styles)).segments
    return segment


def content(data: bytes) -> str:
    written = members(data)["content.xml"].decode()
    return written[written.index("<office:text>") + len("<office:text>") : written.index("</office:text>")]


def test_all_texts_are_read():
    assert texts(read_document("letter.odt", letter())) == [
        "A letter",
        "The very small house stands, see here",
        "In a note",
        "In a table in a table",
    ]


def test_without_a_change_the_file_is_the_same():
    data = letter()
    assert unchanged("letter.odt", data) == data


def test_a_translation_changes_the_text_and_nothing_else():
    data = letter()
    result = translated("letter.odt", data)
    before, after = members(data), members(result)
    assert list(before) == list(after)
    assert {name for name in before if before[name] != after[name]} == {"content.xml"}
    document = odf.opendocument.load(io.BytesIO(result))
    (heading,) = document.getElementsByType(text.H)
    assert teletype.extractText(heading) == "A LETTER"
    (span,) = document.getElementsByType(text.Span)
    assert (teletype.extractText(span), span.getAttribute("stylename")) == ("VERY", "Bold")
    (link,) = document.getElementsByType(text.A)
    assert (teletype.extractText(link), link.getAttribute("href")) == ("SEE HERE", "https://example.org/")
    (note,) = document.getElementsByType(text.Note)
    assert teletype.extractText(note) == "1IN A NOTE"
    assert len(document.getElementsByType(table.Table)) == 2
    assert isinstance(note, Element)
    assert unchanged("letter.odt", result) == result


def test_white_space_follows_the_opendocument_rules():
    body = '<text:p>\n  one \n two<text:s text:c="2"/>three<text:tab/>four<text:line-break/>five </text:p>'
    assert only(body) == TaggedText("one two  three four five", (TagSpan(14, 14, 0), TagSpan(19, 19, 1)))
    written = content(translated("a.odt", odt_of(body)))
    assert written == '<text:p>ONE TWO <text:s text:c="1"/>THREE<text:tab/>FOUR<text:line-break/>FIVE </text:p>'


FIELDS = {
    "field": "<text:page-number>3</text:page-number>",
    "empty field": "<text:date/>",
    "note": '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation></text:note>',
    "tab": "<text:tab/>",
    "line break": "<text:line-break/>",
    "comment": "<office:annotation/>",
    "ruby": "<text:ruby><text:ruby-base>x</text:ruby-base></text:ruby>",
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_spaces_around_a_field_stay(field: str):
    data = odt_of(f"<text:p>page {field} of all {field}and <text:span>some {field} more</text:span></text:p>")
    written = content(translated("a.odt", data))
    assert written == f"<text:p>PAGE {field} OF ALL {field}AND <text:span>SOME {field} MORE</text:span></text:p>"


@pytest.mark.parametrize("mark", ['<text:bookmark text:name="b"/>', '<text:change text:change-id="c"/>'])
def test_spaces_around_an_invisible_mark_are_collapsed(mark: str):
    assert only(f"<text:p>one {mark} two</text:p>").text == "one two"
    assert only("<text:p>one<text:soft-page-break/> <!-- c --> two<?p i?>three</text:p>").text == "one twothree"


def test_the_number_of_spaces_is_limited():
    assert len(only('<text:p>a<text:s text:c="99999999"/>b</text:p>').text) == 102
    assert only('<text:p>a<text:s text:c="9999999999999"/>b</text:p>').text == "a b"


def test_spans_without_visible_effect_are_not_tags():
    styles = (
        '<style:style style:name="T1" style:family="text"><style:text-properties officeooo:rsid="001"/></style:style>'
        '<style:style style:name="T2" style:family="text"><style:text-properties fo:color="#f00"/></style:style>'
    )
    body = '<text:p>He<text:span text:style-name="T1">ll</text:span>o <text:span text:style-name="T2">wo</text:span>'
    body += '<text:span text:style-name="T2">rld</text:span></text:p>'
    assert only(body, styles) == TaggedText("Hello world", (TagSpan(6, 11, 0),))


def test_deleted_text_stays():
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes><text:p>here<text:change text:change-id='c1'/> too</text:p>"
    )
    assert only(body).text == "here too"
    written = content(translated("a.odt", odt_of(body)))
    assert "<text:p>gone</text:p>" in written
    assert 'HERE<text:change text:change-id="c1"/> TOO' in written


def test_headers_in_the_styles_are_translated():
    entries = members(odt_of("<text:p>text</text:p>"))
    entries["styles.xml"] = f"<s {SPACES}><style:header><text:p>At the top</text:p></style:header></s>".encode()
    assert texts(read_document("a.odt", packed(entries))) == ["text", "At the top"]
    assert b"AT THE TOP" in members(translated("a.odt", packed(entries)))["styles.xml"]


def test_tags_can_move():
    data = odt_of('<text:p>see <text:a xlink:href="h">our page</text:a><text:tab/>now</text:p>')
    words = TaggedText("jetzt unsere Seite", (TagSpan(5, 5, 1), TagSpan(6, 18, 0)))
    assert content(reworded("a.odt", data, [words])) == (
        '<text:p>jetzt<text:tab/><text:a xlink:href="h">unsere Seite</text:a></text:p>'
    )


def test_an_identifier_that_occurs_twice_is_accepted():
    data = letter()
    parts = members(data)
    content = parts["content.xml"].replace(b"<text:p", b'<text:p xml:id="a"')
    assert content.count(b'xml:id="a"') > 1
    assert texts(read_document("a.odt", packed(parts | {"content.xml": content}))) == texts(
        read_document("a.odt", data)
    )
