"""PowerPoint presentations."""

import io

import pptx
import pytest

from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.office_files import deck
from tests.unit.documents.uppercase_translation import members, packed, texts, translated, unchanged


def test_slides_tables_groups_and_notes_are_read():
    document = read_document("deck.pptx", deck())
    assert sorted(texts(document)) == sorted(
        ["Our plan", "Grow fast and well", "Our page", "Left", "Right", "In a group second line", "Speak slowly"]
    )
    grow = next(segment for segment in document.segments if segment.text.startswith("Grow"))
    assert grow == TaggedText("Grow fast and well", (TagSpan(5, 9, 0),))


def test_without_a_change_the_file_is_the_same():
    data = deck()
    assert unchanged("deck.pptx", data) == data


def test_a_translation_changes_the_text_and_nothing_else():
    data = deck()
    result = translated("deck.pptx", data)
    before, after = members(data), members(result)
    changed = {name for name in before if before[name] != after[name]}
    assert list(before) == list(after)
    assert changed == {"ppt/slides/slide1.xml", "ppt/slides/slide2.xml", "ppt/notesSlides/notesSlide1.xml"}
    first, second = pptx.Presentation(io.BytesIO(result)).slides
    assert first.shapes.title.text == "OUR PLAN"
    body = first.placeholders[1].text_frame.paragraphs
    assert [(run.text, run.font.bold) for run in body[0].runs] == [("GROW ", None), ("FAST", True), (" AND WELL", None)]
    assert body[1].runs[0].hyperlink.address == "https://example.org/"
    assert first.notes_slide.notes_text_frame.text == "SPEAK SLOWLY"
    table, group = second.shapes
    assert [cell.text for cell in table.table.rows[0].cells] == ["LEFT", "RIGHT"]
    assert group.shapes[0].text_frame.text == "IN A GROUP\vSECOND LINE"


@pytest.mark.parametrize("between", [b"<!-- c -->", b"<?p i?>"])
def test_text_after_a_comment_or_a_field_is_translated(between: bytes):
    entries = members(deck())
    field = b'<a:fld id="{B}" type="slidenum"><a:rPr lang="en"/><a:t>3</a:t></a:fld>'
    text = b"page </a:t></a:r>" + field + b"<a:r><a:t>" + between + b" of" + between + b" all"
    entries["ppt/slides/slide1.xml"] = entries["ppt/slides/slide1.xml"].replace(b"Our plan", text)
    written = translated("deck.pptx", packed(entries))
    (title, *_) = pptx.Presentation(io.BytesIO(written)).slides[0].shapes.title.text_frame.paragraphs
    assert "".join(each.text or "" for each in title._p.iter() if str(each.tag).endswith("}t")) == "PAGE 3 OF ALL"


def test_slides_come_in_the_order_of_their_numbers():
    presentation = pptx.Presentation()
    for number in range(1, 12):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = f"slide {number}"
    target = io.BytesIO()
    presentation.save(target)
    assert texts(read_document("a.pptx", target.getvalue())) == [f"slide {number}" for number in range(1, 12)]
