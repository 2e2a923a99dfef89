"""Word documents: translated text, preserved content, and irrelevant markup added by Word."""

import io

import docx
import pytest

from dragoman.documents.formats import read_document
from dragoman.markup.tagged_text import TaggedText, TagSpan
from tests.unit.documents.office_files import report, with_part, word_of
from tests.unit.documents.uppercase_translation import (
    members,
    packed,
    reworded,
    texts,
    translated,
    unchanged,
    uppercased,
)

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def run(text: str, properties: str = "") -> str:
    inside = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{inside}<w:t xml:space="preserve">{text}</w:t></w:r>'


def opened(data: bytes):
    return docx.Document(io.BytesIO(data))


def body(data: bytes) -> bytes:
    return members(data)["word/document.xml"]


def only_segment(data: bytes) -> TaggedText:
    (segment,) = read_document("a.docx", data).segments
    return segment


def test_all_texts_are_read_in_order():
    assert texts(read_document("report.docx", report())) == [
        "Annual report",
        "The very small house costs 5 euros.",
        "First point",
        "Name",
        "In a table in a table",
        "At the bottom",
        "At the top",
    ]


def test_without_a_change_the_file_is_the_same():
    data = report()
    assert unchanged("report.docx", data) == data


def test_a_translation_changes_the_text_and_nothing_else():
    data = report()
    result = translated("report.docx", data)
    before, after = members(data), members(result)
    assert list(before) == list(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"word/document.xml", "word/header1.xml", "word/footer1.xml"}
    document = opened(result)
    assert [paragraph.text for paragraph in document.paragraphs] == [
        "ANNUAL REPORT",
        "THE VERY SMALL HOUSE COSTS 5 EUROS.",
        "FIRST POINT",
        "2024",
    ]
    assert [paragraph.style.name for paragraph in document.paragraphs[:3]] == ["Heading 1", "Normal", "List Bullet"]
    assert [(run.text, run.bold) for run in document.paragraphs[1].runs] == [
        ("THE ", None),
        ("VERY", True),
        (" SMALL HOUSE COSTS 5 EUROS.", None),
    ]
    assert document.tables[0].cell(1, 1).tables[0].cell(0, 0).text == "IN A TABLE IN A TABLE"
    assert document.sections[0].header.paragraphs[0].text == "AT THE TOP"
    assert unchanged("report.docx", result) == result


def test_only_changed_parts_are_written():
    data = report()
    document = read_document("report.docx", data)
    words = [uppercased(each) if each.text == "At the top" else each for each in document.segments]
    before, after = members(data), members(document.write(words, language="de"))
    assert {name for name in before if before[name] != after[name]} == {"word/header1.xml"}


def test_a_document_can_be_written_twice():
    document = read_document("report.docx", report())
    words = [uppercased(segment) for segment in document.segments]
    assert document.write(words, language="de") == document.write(words, language="fr")


def test_runs_cut_within_words_are_one_text_without_tags():
    noise = "<w:proofErr w:type='spellStart'/>"
    data = word_of(
        run("He", "<w:lang w:val='en-US'/>") + noise + run("llo ") + run("wor", "<w:noProof/>")
        + "<w:r w:rsidR='00A1'><w:lastRenderedPageBreak/><w:t>ld</w:t></w:r>"
    )  # fmt: skip
    assert only_segment(data) == TaggedText("Hello world")
    assert opened(translated("a.docx", data)).paragraphs[0].text == "HELLO WORLD"


@pytest.mark.parametrize("between", ["<!-- c -->", "<?p i?>", "<![CDATA[]]>"])
def test_text_after_a_comment_or_an_instruction_is_translated(between: str):
    data = word_of(run(f"one{between} two{between}") + between + run(f"{between}, three four"))
    assert only_segment(data).text == "one two, three four"
    assert opened(translated("a.docx", data)).paragraphs[-1].text == "ONE TWO, THREE FOUR"


@pytest.mark.parametrize("between", ["<!-- c -->", "<?p i?>"])
def test_a_comment_or_an_instruction_in_a_run_stays(between: str):
    data = word_of(f"<w:r>{between}<w:t>one</w:t>{between}<w:t> two</w:t></w:r>")
    result = translated("a.docx", data)
    assert opened(result).paragraphs[-1].text == "ONE TWO"
    assert members(result)["word/document.xml"].count(between.encode()) == 2


def test_white_space_at_the_ends_is_unchanged():
    data = word_of(run("  ", "<w:u w:val='single'/>") + "<w:r><w:tab/></w:r>" + run(" a house ") + run("   "))
    assert only_segment(data) == TaggedText("a house")
    written = opened(translated("a.docx", data)).paragraphs[0]
    assert [(each.text, each.underline) for each in written.runs] == [
        ("  ", True),
        ("\t", None),
        (" ", None),
        ("A HOUSE", None),
        (" ", None),
        ("   ", None),
    ]


def test_the_base_format_of_a_paragraph_is_not_a_tag():
    data = word_of(run("Note: ", "<w:b/>") + run("everything else is ", "<w:i/>") + run("slanted", "<w:i/>"))
    assert only_segment(data) == TaggedText("Note: everything else is slanted", (TagSpan(0, 6, 0),))


def test_bold_in_a_link():
    inside = run("see ") + (
        '<w:hyperlink r:id="rId9" w:history="1">'
        + run("our ", '<w:rStyle w:val="Hyperlink"/>')
        + run("new", '<w:rStyle w:val="Hyperlink"/><w:b/>')
        + run(" page", '<w:rStyle w:val="Hyperlink"/>')
        + "</w:hyperlink>"
    ) + run(" today")  # fmt: skip
    data = word_of(inside)
    assert only_segment(data) == TaggedText("see our new page today", (TagSpan(4, 16, 0), TagSpan(8, 11, 1, 1)))
    words = TaggedText("heute: unsere neue Seite", (TagSpan(7, 24, 0), TagSpan(14, 18, 1, 1)))
    written = opened(reworded("a.docx", data, [words])).paragraphs[0]
    assert written.text == "heute: unsere neue Seite"
    (link,) = written.hyperlinks
    assert link._hyperlink.rId == "rId9"
    assert [(each.text, each.bold, each.style.name) for each in link.runs] == [
        ("unsere ", None, "Default Paragraph Font"),
        ("neue", True, "Default Paragraph Font"),
        (" Seite", None, "Default Paragraph Font"),
    ]
    assert [each.text for each in written.runs] == ["heute: "]
    assert body(reworded("a.docx", data, [words])).count(b"Hyperlink") == 3


def test_tabs_breaks_and_references_are_empty_tags():
    data = word_of(
        "<w:r><w:tab/><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>three</w:t>"
        '<w:footnoteReference w:id="2"/><w:t xml:space="preserve"> four</w:t></w:r>'
    )
    assert only_segment(data) == TaggedText(
        "one two three four", (TagSpan(3, 3, 0), TagSpan(7, 7, 1), TagSpan(13, 13, 2))
    )
    assert opened(translated("a.docx", data)).paragraphs[0].text == "\tONE\tTWO\nTHREE FOUR"
    lost = body(reworded("a.docx", data, [TaggedText("eins zwei")]))
    assert lost.count(b"<w:tab/>") == 2
    assert lost.count(b"footnoteReference") == 1
    twice = body(reworded("a.docx", data, [TaggedText("eins zwei", (TagSpan(4, 4, 2), TagSpan(6, 6, 2)))]))
    assert twice.count(b"footnoteReference") == 1


def test_fields_are_unchanged_except_the_text_of_links():
    def field(code: str, shown: str) -> str:
        parts = ["<w:fldChar w:fldCharType='begin'/>", f"<w:instrText> {code} </w:instrText>"]
        parts += ["<w:fldChar w:fldCharType='separate'/>", f"<w:t>{shown}</w:t>", "<w:fldChar w:fldCharType='end'/>"]
        return "".join(f"<w:r>{part}</w:r>" for part in parts)

    data = word_of(
        run("page ") + field("PAGE", "seven") + run(" of ") + field('HYPERLINK "https://a.org/"', "our book")
        + "<w:fldSimple w:instr='TITLE'><w:r><w:t>title</w:t></w:r></w:fldSimple>"
    )  # fmt: skip
    assert only_segment(data) == TaggedText("page  of our book", (TagSpan(5, 5, 0), TagSpan(9, 17, 1)))
    written = body(translated("a.docx", data)).decode()
    assert all(part in written for part in ("PAGE", "seven", "OUR BOOK", "https://a.org/", "title"))
    assert written.count("fldChar ") == 6
    assert written.index("separate") < written.index("seven") < written.index('"end"')


def test_spaces_around_a_field_stay():
    field = '<w:fldSimple w:instr="PAGE"><w:r><w:t>3</w:t></w:r></w:fldSimple>'
    code = "".join(f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    inside = [run("page "), field, run(" of "), code, run(" all")]
    paragraph = opened(translated("a.docx", word_of("".join(inside)))).paragraphs[-1]
    shown = [each.text or "|" for each in paragraph._p.iter() if str(each.tag).endswith(("}t", "}fldChar"))]
    assert shown == ["PAGE ", "3", " OF ", "|", "|", "|", " ALL"]


def test_a_field_over_several_paragraphs_keeps_its_ends():
    begin = "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>TOC</w:instrText></w:r>"
    end = "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
    data = word_of(begin + run("Chapter one"), run("Chapter two") + end, run("left ") + end + run("alone"))
    assert texts(read_document("a.docx", data)) == ["Chapter one", "Chapter two"]
    written = body(translated("a.docx", data)).decode()
    assert written.index("begin") < written.index("TOC") < written.index("CHAPTER ONE")
    assert written.index("CHAPTER TWO") < written.index('"end"') < written.index("left ")


def test_deleted_text_stays_and_inserted_text_is_translated():
    data = word_of(
        run("a ") + '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del>'
        + '<w:ins w:id="2">' + run("new") + "</w:ins>" + run(" house")
    )  # fmt: skip
    assert only_segment(data).text == "a new house"
    written = body(translated("a.docx", data)).decode()
    assert "<w:delText>old</w:delText>" in written
    assert '<w:ins w:id="2"><w:r><w:t>NEW</w:t></w:r></w:ins>' in written


def test_text_boxes_are_read_and_stay_in_their_paragraph():
    box = (
        '<w:r><w:pict xmlns:v="urn:schemas-microsoft-com:vml"><v:textbox><w:txbxContent><w:p>'
        + run("in the box") + "</w:p></w:txbxContent></v:textbox></w:pict></w:r>"
    )  # fmt: skip
    data = word_of(run("before ") + box + run("after"))
    assert texts(read_document("a.docx", data)) == ["before after", "in the box"]
    written = body(translated("a.docx", data)).decode()
    places = [written.index(some) for some in ("BEFORE", "<v:textbox>", "IN THE BOX", "</v:textbox>", "AFTER")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("part", "kind", "root", "item"),
    [("footnotes", "footnotes", "footnotes", "footnote"), ("comments", "comments", "comments", "comment")],
)
def test_notes_and_comments(part: str, kind: str, root: str, item: str):
    xml = f'<w:{root} {W}><w:{item} w:id="2"><w:p>{run("a remark")}</w:p></w:{item}></w:{root}>'
    data = with_part(report(), f"word/{part}.xml", kind, xml)
    assert "a remark" in texts(read_document("a.docx", data))
    assert b"A REMARK" in members(translated("a.docx", data))[f"word/{part}.xml"]


def test_macros_are_copied():
    entries = members(report()) | {"word/vbaProject.bin": b"\xd0\xcf\x11\xe0 not to be run"}
    assert members(translated("a.docx", packed(entries)))["word/vbaProject.bin"] == entries["word/vbaProject.bin"]


def test_invalid_xml_characters_are_removed():
    written = reworded("a.docx", word_of(run("a house")), [TaggedText("ein\x00 <Haus>\x1b & \ufffe")])
    assert opened(written).paragraphs[0].text == "ein <Haus> & "


def test_a_missing_translation_is_an_error():
    with pytest.raises(ValueError, match="translated must have 7 items"):
        read_document("a.docx", report()).write([], language="de")
