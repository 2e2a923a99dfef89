"""Inputs that repeat one unit, for every document format: each has made a parser of some project slow."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.documents.office.test_odt import odt_of
from tests.unit.documents.office_files import deck, report
from tests.unit.documents.samples import SAMPLES
from tests.unit.documents.uppercase_translation import members, packed

TEXTS = (
    *(
        "a",
        " ",
        "\n",
        "\r",
        "\t",
        ".",
        ",",
        "a ",
        "a.",
        "a. ",
        "A. B ",
        "a\n",
        "1",
        "1.",
        "1,",
        "-",
        "- ",
        "'",
        '"',
        "«",
    ),
    *(
        "(",
        ")",
        ").",
        "()",
        "[",
        "]",
        "[]",
        "{",
        "}",
        "{}",
        "{{",
        "{{a",
        "{a,",
        "{%",
        "%",
        "%(",
        "%a",
        "%1$",
        "${",
        "a{",
    ),
    *("http://", "http://a", "www.", "www.a)", "a@", "@a.b", "a@b.", "a@b.c)", "://", "a.b.c ", "//", "mailto:"),
    *("<", ">", "<b", "<b>", "</b>", "<b>a", "<b>a</b>", "<b><i></b>", "<a ", "<a x='", '<a b="', "<!--", "-->", "<!-"),
    *("<p>", "<p>a", "<br>", "<br>a", "<svg>", "<svg><a>", "<script>", "<script><!--", "<style>", "<title>", "<code>a"),
    *("<select>", "<a>", "<li>a", "<td>", "<![CDATA[", "<?", "<!a", "&", "&#", "&#1", "&a", "&amp;", "&lt", "</", "< "),
    *("`", "``a", "`a`", "*", "*a", "*a* ", "**", "_", "_a", "~~", "~~a", "\\", "\\*", "!", "![", "[a](", "[a](b) "),
    *("[a]: b\n", "[a\n", "[[a]", "[a][b] ", "# a\n", "> ", "> a\n", ">", "- a\n", "- a\n\n", "  - a\n", "1. a\n"),
    *("* * ", "- - ", "+ a\n", "| a ", "|", "a|b\n-|-\n", "|a|\n", "```\n", "~~~\n", "    a\n", "---\n", "a\n---\n"),
    *(
        "===\n",
        "<div>\n",
        "\u0301",
        "e\u0301",
        "\u0301\u0316",
        "中",
        "中。",
        "ก",
        "\u200d",
        "👩\u200d",
        "ﷺ",
        "\u2028",
        "\xa0",
    ),
    *(
        "{\\i1}",
        "{\\",
        "-a\n",
        "a\n\n",
        "\\n",
        '\\"',
        "é",
        "ß",
        "a-b",
        "a'b",
        "x=",
        "=",
        ";",
        "a;b",
        "|||",
        "\x00",
        "\ufeff",
    ),
)
"""Units of text; those without a letter are followed by one at the end of an input."""

CUE = "1\n00:00:01,000 --> 00:00:02,000\n"
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SLIDE = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'

Build = Callable[[int], bytes]
"""Makes a document with a number of repetitions."""

DOCUMENTS: dict[str, tuple[str, Build]] = {}
"""File name, and a function of the number of units, by a description."""


def _add(name: str, before: str, unit: str, after: str) -> None:
    DOCUMENTS[f"{name}: {unit}"] = (
        name,
        lambda count: (before + "".join(unit.replace("#n", str(n)) for n in range(count)) + after).encode(),
    )


for unit in (CUE + "a\n\n", CUE, CUE + "- a\n- b\n\n", CUE + "<i>a\n", "a\n\n" + CUE):
    _add("a.srt", CUE, unit, "a\n")
for unit in ('msgid "a#n"\nmsgstr ""\n\n', '"a"\n', "# a\n", "#, fuzzy\n", "#| a\n", 'msgstr[1] "a"\n', '"<b>a\\n"\n'):
    _add("a.po", 'msgid "a"\n', unit, 'msgid "z"\nmsgstr ""\n' if "msgstr[" not in unit else "")
for unit in ("<tuv><seg>a</seg></tuv>", "</tu><tu><tuv><seg>a</seg></tuv>", "<tuv/>", "<!-- a -->", "<a/>"):
    _add("a.tmx", "<tmx><body><tu><tuv><seg>a</seg></tuv>", unit, "</tu></body></tmx>")
for unit in ("a<ph/>", "<hi>a</hi>", "<hi>a</hi> ", "a<!-- -->", "&amp;", "{a} ", "<hi b='#n'>a</hi>"):
    _add("b.tmx", "<tmx><body><tu><tuv><seg>a", unit, "</seg></tuv></tu></body></tmx>")
for unit in ("<trans-unit><source>a</source></trans-unit>", "<trans-unit/>", "<group><trans-unit/></group>", "<a/>"):
    _add("a.xlf", "<xliff>", unit, "<trans-unit><source>a</source></trans-unit></xliff>")
for unit in ("a<x/>", "<g>a</g>", "<g>a</g> ", "<mrk mtype='seg'>a</mrk>", "<ph>a</ph>", "<g id='#n'>a</g>"):
    _add("b.xlf", "<xliff><trans-unit><source>a", unit, "</source></trans-unit></xliff>")
    before = "<xliff><trans-unit><source>a</source><seg-source>"
    _add("c.xlf", before, unit, "</seg-source></trans-unit></xliff>")

for unit in ('"a#n": "a b", ', '"a": "a {{b}} c", ', '"a#n_other": "{{count}} a", ', '"": "", ', '"a": {"b": "A"}, '):
    _add("a.json", '{"a": "A b", ', unit, '"z": "a"}')
for unit in ("[", '{"a":', '"', "1,", '{"a": "' + "\\\\"):
    _add("b.json", '{"a": "A b", "b":', unit, "}")
for unit in ('"a#n": "a {n, plural, one {b} other {c}}", ', '"a#n": "\\u00e9 a", '):
    _add("a.arb", '{"@@locale": "en", ', unit, '"z": "a"}')
for unit in (
    "  a#n: a b\n",
    "  a: >\n    a b\n",
    '  a: "b\n    c"\n',
    "  - a\n",
    "  # a\n",
    "  a: a\n    b\n",
    "  b:\n   one: a\n",
):
    _add("a.yaml", "en:\n", unit, "  z: a\n")
for unit in (
    " ",
    "- ",
    "a ",
    "a: ",
    "'",
    '"',
    "\n",
    "&a ",
    "!a ",
    "[",
    "[a, ",
    "a#",
    "a:",
    "\n    ",
    "\n\n    b",
    "''",
    "\t",
):
    _add("b.yaml", "en:\n  a: ", unit, "\n")
    _add("c.yaml", "en:\n  ", unit, "\n")
for unit in (
    "<string name='a#n'>a b</string>",
    "<string name='a'>a<b>c</b></string>",
    "<plurals name='a#n'><item quantity='other'>%d a</item></plurals>",
):
    _add("a.xml", "<resources>", unit, "</resources>")
for unit in ("a<b>c</b>", "a<b>", "&lt;", "<!-- -->", "<![CDATA[a]]>", '\\"', "<xliff:g>", "a "):
    _add("b.xml", "<resources xmlns:xliff='x'><string name='a'>a", unit, "</string></resources>")
_add("a.resx", "<root>", "<data name='a#n'><value>a b</value></data>", "</root>")
for unit in ("<key>a#n</key><dict><key>other</key><string>%d a</string></dict>", "<key>a</key><dict>", "<key/>"):
    _add("a.stringsdict", "<plist><dict>", unit, "</dict></plist>")
for unit in ('"a#n" = "a b";\n', "/* a */", "/*", "//a\n", '"a" ', "a ", '"', "\\", ";"):
    _add("a.strings", '"a" = "b";', unit, "\n")
for unit in ("a#n = a b\n", "# a\n", "a\\\n", "\\", "\n", " ", "a", "{0}'", "\\u00e9", "\\:"):
    _add("a.properties", "a = ", unit, "\nb = c\n")
for unit in ("'a#n' => 'a b', ", "['a', ", "[", "'a' . ", "/*", "// a\n", "'a|b', ", "array(", "'", "a "):
    _add("a.php", "<?php return ['z' => 'a', ", unit, "];")
for unit in (
    "<message><source>a#n</source><translation/></message>",
    "<message numerus='yes'><source>%n a(s)</source><translation><numerusform/></translation></message>",
    "<message/>",
    "<!-- a -->",
):
    _add("a.ts", "<TS><context><name>a</name>", unit, "</context></TS>")
for unit in (
    '"a#n": {}, ',
    '"a#n": {"localizations": {"en": {"stringUnit": {"value": "a b"}}}}, ',
    '"a#n": {"localizations": {"en": {"variations": {"plural": {"other": {"stringUnit": {"value": "%d a"}}}}}}}, ',
):
    _add("a.xcstrings", '{"sourceLanguage": "en", "strings": {', unit, '"z": {}}}')
for unit in ("a#n = a b\n", "a = { $n ->\n [one] a\n *[other] b\n }\n", "# a\n", "a =\n b\n c\n", "\n", "a = { $b }\n"):
    _add("a.ftl", "b = c\n", unit, "")
for unit in (
    "{",
    "}",
    "{ $n -> ",
    "\n [a] b",
    "{ $b } ",
    '"',
    "\n ",
    "\n .a = b",
    "{ $n ->\n [one] { $n }\n *[other] a\n }",
    " ",
):
    _add("b.ftl", "a = a ", unit, "\n")


def _archive(name: str, base: Callable[[], bytes], member: str, before: str, unit: str, after: str) -> None:
    def build(count: int) -> bytes:
        xml = before + "".join(unit.replace("#n", str(n)) for n in range(count)) + after
        return packed(members(base()) | {member: xml.encode()})

    DOCUMENTS[f"{name}: {unit}"] = (name, build)


for unit in (
    "<w:p/>",
    "<w:p><w:r><w:t>a</w:t></w:r></w:p>",
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
):
    _archive("a.docx", report, "word/document.xml", f"<w:document {WORD}><w:body>", unit, "</w:body></w:document>")
for unit in (
    "<w:r><w:t>a</w:t></w:r>",
    "<w:r><w:t>a</w:t><w:tab/></w:r>",
    "<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r><w:r><w:t>b</w:t></w:r>",
    "<w:r><w:rPr><w:sz w:val='#n'/></w:rPr><w:t>a</w:t></w:r>",
    "<w:hyperlink><w:r><w:t>a</w:t></w:r></w:hyperlink>",
    "<w:r><w:fldChar w:fldCharType='begin'/></w:r>",
    "<w:r><w:fldChar w:fldCharType='begin'/><w:t>a</w:t><w:fldChar w:fldCharType='end'/></w:r>",
    "<w:r><w:br/></w:r>",
    "<w:bookmarkStart/>",
    "<w:r><w:drawing/></w:r>",
    "<w:sdt><w:sdtContent><w:r><w:t>a</w:t></w:r></w:sdtContent></w:sdt>",
):
    before = f"<w:document {WORD}><w:body><w:p><w:r><w:t>a</w:t></w:r>"
    _archive("b.docx", report, "word/document.xml", before, unit, "</w:p></w:body></w:document>")
for unit in ("<w:t>a</w:t>", "<w:t>a</w:t><w:br/>", "<w:noBreakHyphen/>"):  # one format of many properties
    properties = "<w:rPr>" + "<w:b/>" * 50 + "</w:rPr>"
    before = f"<w:document {WORD}><w:body><w:p><w:r>{properties}"
    _archive("c.docx", report, "word/document.xml", before, unit, "</w:r></w:p></w:body></w:document>")
for unit in ("a\t", "\t", "a", " "):
    before = f"<p:sld {SLIDE} xmlns:p='p'><a:p><a:r><a:rPr>{'<a:b/>' * 50}</a:rPr><a:t>a"
    _archive("a.pptx", deck, "ppt/slides/slide1.xml", before, unit, "</a:t></a:r></a:p></p:sld>")
for unit in ("<a:r><a:t>a</a:t></a:r>", "<a:br/>", "<a:r><a:rPr b='1'/><a:t>a</a:t></a:r><a:fld/>"):
    before = f"<p:sld {SLIDE} xmlns:p='p'><a:p><a:r><a:t>a</a:t></a:r>"
    _archive("b.pptx", deck, "ppt/slides/slide1.xml", before, unit, "</a:p></p:sld>")


def _slides(count: int) -> bytes:
    entries = members(deck())
    slide = f"<p:sld {SLIDE} xmlns:p='p'><a:p><a:r><a:t>a</a:t></a:r></a:p></p:sld>".encode()
    kind = "application/vnd.openxmlformats-officedocument.presentationml.slide+xml"
    listed = ""
    for number in range(count):
        entries[f"ppt/slides/more{number}.xml"] = slide
        listed += f"<Override PartName='/ppt/slides/more{number}.xml' ContentType='{kind}'/>"
    types = entries["[Content_Types].xml"]
    return packed(entries | {"[Content_Types].xml": types.replace(b"</Types>", listed.encode() + b"</Types>")})


DOCUMENTS["c.pptx: a slide"] = ("c.pptx", _slides)


def _odt(name: str, before: str, unit: str, after: str) -> None:
    def build(count: int) -> bytes:
        return odt_of(before + "".join(unit.replace("#n", str(n)) for n in range(count)) + after)

    DOCUMENTS[f"{name}: {unit}"] = (name, build)


for unit in ("<text:p>a</text:p>", "<text:h/>", "<text:section><text:p>a</text:p></text:section>", "<style:style/>"):
    _odt("a.odt", "", unit, "<text:p>a</text:p>")
for unit in (
    "<text:span>a</text:span>",
    "<text:span>a</text:span> ",
    "<text:span text:style-name='#n'>a</text:span>",
    "<text:s/>",
    "a<text:s text:c='9'/>",
    "<text:line-break/>",
    "<text:tab/>a",
    "<text:a>a</text:a> ",
    "<text:note><text:p>a</text:p></text:note>",
    "<text:bookmark/>",
    "a<!-- -->",
    "  ",
):
    _odt("b.odt", "<text:p>a", unit, "</text:p>")


def _member(name: str, before: str, unit: str, after: str) -> None:
    """Add a shape of a member of a sample archive."""
    file, _, member = name.partition(" ")
    _archive(file, lambda: SAMPLES[file.partition(".")[2]][0], member, before, unit, after)


STRINGS, SHEET = "a.xlsx xl/sharedStrings.xml", "b.xlsx xl/worksheets/sheet1.xml"
MAIN = "xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'"
for unit in ("<si><t>a</t></si>", "<si><r><t>a</t></r></si>", "<si/>", "<a/>"):
    _member(STRINGS, f"<sst {MAIN}>", unit, "</sst>")
for unit in ("<r><t>a</t></r>", "<r><rPr><b/></rPr><t>a</t></r><r><t>b</t></r>", "<t>a\n</t>", "<rPh/>"):
    _member(f"c{STRINGS[1:]}", f"<sst {MAIN}><si>", unit, "</si></sst>")
for unit in (
    "<f>A1</f>",
    '<f>"a"</f>',
    "<f ",
    "<f>",
    "<filter ",
    "<is><t>a</t></is>",
    '<filter val="a#n"/>',
    '<f>"a#n"</f>',
):
    _member(SHEET, f"<worksheet {MAIN}>", unit, "</worksheet>" if unit[-1] == ">" and unit != "<f>" else "")
SPACES = " ".join(
    f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "text", "table")
)
CELL = "<table:table-cell office:value-type='string'><text:p>a</text:p></table:table-cell>"
for suffix in ("ods", "odp"):
    for unit in (CELL, "<table:table-cell table:formula='\"a#n\"'/>", "<text:p>a</text:p>", "<table:table-row/>"):
        _member(f"a.{suffix} content.xml", f"<x {SPACES}>", unit, "<text:p>a</text:p></x>")
for unit in ("<p>a</p>", "<br/>a", "<a id='x'/>a", "<i>a</i> ", "<td>a", "&amp;", "a "):
    _member("a.epub OEBPS/text/a.xhtml", "<html><body><p>", unit, "</p></body></html>")
for unit in ("<text>a</text>", "<a/>"):
    _member("b.epub OEBPS/toc.ncx", "<ncx>", unit, "</ncx>")
NOTEBOOK = '{"nbformat": 4, "cells": ['
CODE = '{"cell_type": "code", "source": "a"}'
for unit in ('{"cell_type": "markdown", "source": "# a *b*"},', f"{CODE},", "[],", "{},", "1.5,", '"a",', '["a"],'):
    _add("a.ipynb", NOTEBOOK, unit, f"{CODE}]}}")
for unit in ('"a\\n",', '"",', '"*a* ",', '"- a\\n",'):
    _add("b.ipynb", f'{NOTEBOOK}{{"cell_type": "markdown", "source": [', unit, '"a"]}]}')
VTT_CUE = "00:01.000 --> 00:02.000\n"
for unit in (
    f"{VTT_CUE}a\n\n",
    f"{VTT_CUE}a b,\n\n",
    VTT_CUE,
    f"{VTT_CUE}<v a>b\n<v c>d\n\n",
    "NOTE a\n\n",
    "<c>",
    "&amp;",
):
    _add("a.vtt", f"WEBVTT\n\n{VTT_CUE}", unit, "a\n")
ASS_HEAD = "[Events]\nFormat: Start, Text\nDialogue: 0,"
for unit in ("a\nDialogue: 0,", "a,\nDialogue: 0,", "a\\N", "{\\i1}a", "\\h", "{", "a\nFormat: a, b, Text\n"):
    _add("a.ass", ASS_HEAD, unit, "a\n")
SENTENCE = "<mrk mtype='seg' mid='#n'>a</mrk>"
for unit in (SENTENCE, "<x/>"):
    body = f"<xliff><trans-unit><source>a</source><seg-source>{SENTENCE.replace('#n', '0')}"
    _add("a.sdlxliff", body, unit, "</seg-source></trans-unit></xliff>")
_add(
    "b.sdlxliff",
    "<xliff><trans-unit><source>a</source><seg-defs>",
    "<seg id='#n'/>",
    "</seg-defs></trans-unit></xliff>",
)
UNIT = (
    f"<trans-unit><source>a</source><seg-source>{SENTENCE}</seg-source><seg-defs><seg id='#n'/></seg-defs></trans-unit>"
)
_add("c.sdlxliff", "<xliff>", UNIT, "</xliff>")
for unit in ("{a", "{", "<A b={c}>", "<A", "import a\n", "{a}\n", "<A>\n", "</A>", "{{a}", "<A b={\n"):
    _add("a.mdx", "a ", unit, "\n\na\n")
    _add("b.mdx", "", unit, "\n\na\n")
