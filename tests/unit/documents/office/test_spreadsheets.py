"""Spreadsheets: numbers, formulas and codes stay, and so do the texts with which formulas compare cells."""

import pytest
from lxml import etree

from dragoman.documents.document import reader_notes
from dragoman.documents.formats import read_document
from dragoman.documents.limits import DocumentLimits, DocumentTooLargeError
from dragoman.documents.office.referred_texts import ReferredTexts
from tests.unit.documents.samples import ODS, XLSX, workbook
from tests.unit.documents.uppercase_translation import members, packed, texts, translated, unchanged

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ('IF(A1="Yes",1,2)', "yes"),
        ('COUNTIF(A:A,"He said ""no""")', 'He said "no"'),
        ('"Open,Closed"', "Closed"),
    ],
)
def test_the_texts_of_a_formula_stay(formula: str, text: str):
    referred = ReferredTexts(DocumentLimits("a.xlsx"))
    assert not referred.stays(text)
    referred.add_formula(formula)
    assert referred.stays(text)
    assert referred.kept == 1


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ('NOT(ISERROR(SEARCH("done",A1)))', "Not Done yet"),
        ('COUNTIF(A:A,"Done*")', "Done today"),
        ('LEFT(A1,LEN("Done"))="Done"', "done?"),
        ('contains-text("Done")', "All done"),
    ],
)
def test_texts_that_have_a_part_of_a_condition_stay(formula: str, text: str):
    referred = ReferredTexts(DocumentLimits("a.xlsx"))
    referred.add_formula(formula)
    assert referred.stays(text)
    assert not referred.stays("To do")


@pytest.mark.parametrize("code", ["SKU-0042", "Q1", "x86", "ISO9001", "2024-Q1", "EN-PT"])
def test_codes_stay(code: str):
    assert ReferredTexts(DocumentLimits("a.xlsx")).stays(code)


@pytest.mark.parametrize("text", ["Chapter1", "Yes", "House 7", "well-known", "OK", "3rd floor", "50kilos"])
def test_words_are_translated(text: str):
    assert not ReferredTexts(DocumentLimits("a.xlsx")).stays(text)


def test_numbers_formulas_and_formats_of_a_workbook_stay():
    before, after = members(XLSX), members(translated("a.xlsx", XLSX))
    sheet = "xl/worksheets/sheet1.xml"
    cell = b"<is><t>Text in a cell</t></is>"
    expected = before[sheet].replace(cell, b'<is><t xml:space="preserve">TEXT IN A CELL</t></is>')
    assert etree.canonicalize(after[sheet].decode()) == etree.canonicalize(expected.decode())
    strings = etree.fromstring(after["xl/sharedStrings.xml"])
    assert ["".join(each.itertext()) for each in strings] == [
        "NAME OF THE PRODUCT", "SKU-0042", "Yes", "ONE\nOR TWO LINES", "THIS IS VERY BOLD",
    ]  # fmt: skip
    assert [child.tag for child in strings[4][1]] == [f"{MAIN}rPr", f"{MAIN}t"]
    assert strings.find(f".//{MAIN}phoneticPr") is None, "a reading of the old text"


def test_formulas_are_calculated_again_when_the_file_is_opened():
    book = etree.fromstring(members(translated("a.xlsx", XLSX))["xl/workbook.xml"])
    assert [(each.tag.removeprefix(MAIN), dict(each.attrib)) for each in book][1:] == [
        ("definedNames", {}),
        ("calcPr", {"fullCalcOnLoad": "1"}),
    ]


def test_the_headings_of_a_table_and_the_values_of_a_filter_stay():
    table = ' name="T"><autoFilter><filter val="Open"/></autoFilter><tableColumn id="1" name="Full name"/>'
    data = workbook("<si><t>Full name</t></si><si><t>open</t></si><si><t>A house</t></si>", table=table)
    document = read_document("a.xlsx", data)
    assert texts(document) == ["A house"]
    assert reader_notes(document) == [
        "a.xlsx: 2 texts of the spreadsheet stay: formulas, filters or tables refer to them"
    ]


def test_a_text_of_an_opendocument_cell_has_no_second_copy():
    content = members(translated("a.ods", ODS))["content.xml"].decode()
    assert "<text:p>A NAME</text:p>" in content
    assert "string-value" not in content
    assert "<text:p>5 euros</text:p>" in content


def test_a_text_in_the_condition_of_a_format_stays():
    calc = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"
    condition = f'<c:condition xmlns:c="{calc}" c:value="=&quot;A name&quot;"/></table:table>'
    parts = members(ODS)
    content = parts["content.xml"].decode()
    assert "A name" in texts(read_document("a.ods", ODS))
    data = packed(parts | {"content.xml": content.replace("</table:table>", condition, 1).encode()})
    assert "A name" not in texts(read_document("a.ods", data))


@pytest.mark.parametrize("part", ["content.xml", "styles.xml"])
def test_a_text_of_which_a_style_depends_stays(part: str):
    parts = members(ODS)
    style = "urn:oasis:names:tc:opendocument:xmlns:style:1.0"
    rule = f'<style:map xmlns:style="{style}" style:condition="cell-content()=&quot;A name&quot;"/>'
    if part == "styles.xml":
        office = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
        parts[part] = f'<office:document-styles xmlns:office="{office}">{rule}</office:document-styles>'.encode()
    else:
        content = parts[part].decode()
        parts[part] = content.replace("</table:table>", f"{rule}</table:table>", 1).encode()
    after = translated("a.ods", packed(parts))
    assert b">A name<" in members(after)["content.xml"]


def test_a_strict_workbook_keeps_its_namespace():
    strict = "http://purl.oclc.org/ooxml/spreadsheetml/main"
    parts = "<si><r><t>one </t></r><r><rPr><b/></rPr><t>two</t></r></si>"
    data = workbook(parts)
    entries = {name: xml.replace(MAIN[1:-1].encode(), strict.encode()) for name, xml in members(data).items()}
    strings = members(translated("a.xlsx", packed(entries)))["xl/sharedStrings.xml"]
    assert MAIN[1:-1].encode() not in b"".join(f"{each.tag}".encode() for each in etree.fromstring(strings).iter())
    assert unchanged("a.xlsx", packed(entries)) == packed(entries)


def test_different_formulas_are_limited_and_equal_ones_count_once():
    equal = "".join(['<f>A1="a"</f>'] * 100_001)
    assert texts(read_document("a.xlsx", workbook("<si><t>b c</t></si>", equal))) == ["b c"]
    different = "".join(f'<f>A1="{number}"</f>' for number in range(100_001))
    with pytest.raises(DocumentTooLargeError, match="at most 100,000 formulas"):
        read_document("a.xlsx", workbook("<si><t>b c</t></si>", different))
