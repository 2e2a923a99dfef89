"""Word documents and presentations with the irrelevant markup of real files."""

import functools
import io
from typing import Any

import docx
import pptx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Inches

from tests.unit.documents.uppercase_translation import members, packed

PARTS = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def bytes_of(document: Any) -> bytes:
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def paragraph_xml(inside: str) -> Any:
    return parse_xml(f"<w:p {nsdecls('w', 'r', 'wp', 'a', 'm')}>{inside}</w:p>")


def word_of(*paragraphs: str) -> bytes:
    """Create a document from paragraphs of XML."""
    document = docx.Document()
    for inside in paragraphs:
        document.element.body.insert(-1, paragraph_xml(inside))
    return bytes_of(document)


@functools.cache
def report() -> bytes:
    """Create a document with a heading, formatted text, a list, nested tables, a header and a footer."""
    document = docx.Document()
    document.add_heading("Annual report", 1)
    paragraph = document.add_paragraph("The ")
    paragraph.add_run("very").bold = True
    paragraph.add_run(" small house costs 5 euros.")
    document.add_paragraph("First point", style="List Bullet")
    document.add_paragraph("2024")
    table = document.add_table(2, 2)
    table.cell(0, 0).text = "Name"
    inner = table.cell(1, 1).add_table(1, 1)
    inner.cell(0, 0).text = "In a table in a table"
    section = document.sections[0]
    section.header.paragraphs[0].text = "At the top"
    section.footer.paragraphs[0].text = "At the bottom"
    return bytes_of(document)


def with_part(data: bytes, name: str, kind: str, xml: str) -> bytes:
    """Add a part to a document, such as footnotes or comments."""
    entries = members(data)
    entries[name] = xml.encode()
    override = f'<Override PartName="/{name}" ContentType="{PARTS}.{kind}+xml"/></Types>'
    entries["[Content_Types].xml"] = entries["[Content_Types].xml"].replace(b"</Types>", override.encode())
    return packed(entries)


@functools.cache
def deck() -> bytes:
    """Create two slides with a title, runs, a table, a group, a link and notes."""
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Our plan"
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, is_bold in [("Gr", False), ("ow ", False), ("fast", True), (" and", False), (" well", False)]:
        run = paragraph.add_run()
        run.text = text
        run.font.bold = is_bold or None
    link = slide.placeholders[1].text_frame.add_paragraph().add_run()
    link.text = "Our page"
    link.hyperlink.address = "https://example.org/"
    slide.notes_slide.notes_text_frame.text = "Speak slowly"
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = second.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    table.cell(0, 0).text = "Left"
    table.cell(0, 1).text = "Right"
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(3), Inches(2), Inches(1)).text_frame.text = "In a group\vsecond line"
    return bytes_of(presentation)
