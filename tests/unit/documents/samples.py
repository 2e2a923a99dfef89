"""A small file of each format of offices, books, subtitles and technical writing, with the texts to translate."""

from tests.unit.documents.uppercase_translation import packed

_SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook(strings: str, cells: str = "", book: str = "", **others: str) -> bytes:
    """Create an xlsx file from XML: shared strings, rows of its sheet, what follows the sheets, other parts."""
    sheet = f"<worksheet {_MAIN}><sheetData>{cells}</sheetData></worksheet>"
    parts = {
        "xl/workbook.xml": ("sheet.main", f"<workbook {_MAIN}><sheets><sheet name='One'/></sheets>{book}</workbook>"),
        "xl/sharedStrings.xml": ("sharedStrings", f"<sst {_MAIN}>{strings}</sst>"),
        "xl/worksheets/sheet1.xml": ("worksheet", sheet),
        **{f"xl/{name}.xml": (name, f"<{name} {_MAIN} {xml}</{name}>") for name, xml in others.items()},
    }
    listed = "".join(
        f'<Override PartName="/{name}" ContentType="{_SHEETS}.{kind}+xml"/>' for name, (kind, _) in parts.items()
    )
    return packed(
        {"[Content_Types].xml": f"<Types>{listed}</Types>".encode()} | {n: x.encode() for n, (_, x) in parts.items()}
    )


_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "presentation")
) + ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'  # fmt: skip


def opendocument(kind: str, body: str) -> bytes:
    """Create an OpenDocument file from the XML of its body."""
    inside = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    content = f"<office:document-content {_ODF}>{inside}</office:document-content>"
    return packed({"mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(), "content.xml": content.encode()})


XLSX = workbook(
    "<si><t>Name of the product</t></si><si><t>SKU-0042</t></si><si><t>Yes</t></si><si><t>One\nor two lines</t></si>"
    "<si><r><t xml:space='preserve'>This is </t></r><r><rPr><b/></rPr><t>very bold</t></r><phoneticPr/></si>",
    "<row><c r='A1' t='s'><v>0</v></c><c r='B1'><v>12.5</v></c><c r='C1' t='s'><v>2</v></c>"
    "<c r='D1' t='str'><f>IF(C1=&quot;yes&quot;,&quot;Sold&quot;,A1)</f><v>Sold</v></c>"
    "<c r='E1' t='inlineStr'><is><t>Text in a cell</t></is></c></row>",
    "<definedNames/>",
    comments="><commentList><comment ref='A1'><text><r><t>Check this name</t></r></text></comment></commentList>",
)
ODS = opendocument(
    "spreadsheet",
    "<table:table table:name='One'><table:table-row>"
    "<table:table-cell office:value-type='string' office:string-value='A name'>"
    "<text:p>A name</text:p></table:table-cell>"
    "<table:table-cell office:value-type='float' office:value='5'><text:p>5 euros</text:p></table:table-cell>"
    "<table:table-cell office:value-type='string'><text:p>Yes</text:p></table:table-cell>"
    "<table:table-cell office:value-type='string' table:formula='of:=IF([.C1]=&quot;yes&quot;;&quot;Sold&quot;;[.A1])'>"
    "<text:p>Sold</text:p></table:table-cell></table:table-row></table:table>",
)
ODP = opendocument(
    "presentation",
    "<draw:page draw:name='page1'><draw:frame><draw:text-box><text:p>Our <text:span>plan</text:span></text:p>"
    "</draw:text-box></draw:frame><presentation:notes><text:p>Speak slowly</text:p></presentation:notes></draw:page>",
)
_PAGE = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" '
    'lang="en-GB"><head><title/><script src="a.js"/><style>p { color: red }</style></head><body>%s</body></html>\n'
)
EPUB = packed(
    {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": b"<container><rootfiles><rootfile full-path='OEBPS/a.opf'/></rootfiles></container>",
        "OEBPS/a.opf": b"<package xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata><dc:title>A book</dc:title>"
        b"<dc:language>en</dc:language></metadata><manifest>"
        b"<item id='t' href='toc.ncx' media-type='application/x-dtbncx+xml'/>"
        b"<item id='two' href='text/b%20c.xhtml' media-type='application/xhtml+xml'/>"
        b"<item id='one' href='text/a.xhtml' media-type='application/xhtml+xml'/>"
        b"<item id='css' href='a.css' media-type='text/css'/></manifest>"
        b"<spine><itemref idref='one'/><itemref idref='two'/></spine></package>",
        "OEBPS/toc.ncx": b"<ncx><navMap><navPoint id='n'><navLabel><text>First part</text></navLabel>"
        b"<content src='text/a.xhtml#s'/></navPoint></navMap></ncx>",
        "OEBPS/a.css": b"p { color: blue }",
        "OEBPS/text/b c.xhtml": (_PAGE % "<p>The <i>end</i>.</p>").encode(),
        "OEBPS/text/a.xhtml": (
            _PAGE % "<h1 id='s'><a id='x'/>It begins</h1><p>A word<a href='#n1'>1</a> of&nbsp;it.</p>"
            "<aside id='n1'><p>A note</p></aside>"
        ).encode(),
    }
)
VTT = b"""WEBVTT - A film

STYLE
::cue { color: red }

NOTE A note stays.

intro
00:01.000 --> 00:02.500 line:0 position:20%
<v Anna>Where is the
little house</v>

00:03.000 --> 00:04.000
of my <i>friend</i> &amp; me?

01:00:05.000 --> 01:00:06.000
<v Bob>Here it is.
<v Anna>Thank <00:05.500>you!
"""
ASS = b"""[Script Info]
Title: A film
[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,,A comment
Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\an8}Where, my friend,\\Nis the house
Dialogue: 0,0:00:02.00,0:00:03.00,Default,,0,0,0,,that you {\\i1}found{\\i0}?
Dialogue: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{\\p1}m 0 0 l 100 0{\\p0}
"""
_XLIFF = (
    '\ufeff<?xml version="1.0" encoding="utf-8"?><xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" '
    'xmlns:%s><file source-language="en-GB" target-language="pt-BR"><body>%s</body></file></xliff>'
)
_TRADOS = """<trans-unit id="a"><source>One. Two. Three.</source><seg-source><g id="1">
<mrk mtype="seg" mid="1">One.</mrk></g> <mrk mtype="seg" mid="2">Two <x id="9"/>things.</mrk>
<mrk mtype="seg" mid="3">Three.</mrk></seg-source>
<sdl:seg-defs><sdl:seg id="1" locked="true"/><sdl:seg id="2" percent="80"/><sdl:seg id="3"/></sdl:seg-defs>
</trans-unit><trans-unit id="b"><source>Four. Five.</source><seg-source><mrk mtype="seg" mid="4">Four.</mrk>
<mrk mtype="seg" mid="5">Five.</mrk></seg-source><target><mrk mtype="seg" mid="4">Quatro.</mrk>
<mrk mtype="seg" mid="5"/></target><sdl:seg-defs><sdl:seg id="4" conf="Translated" origin="interactive"/>
<sdl:seg id="5"/></sdl:seg-defs></trans-unit>
<trans-unit id="c" translate="no"><source>Structure</source></trans-unit>"""
_MEMOQ = """<trans-unit id="1" mq:status="NotStarted"><source>A <bpt id="1" ctype="bold">{}</bpt>very\
<ept id="1">{}</ept> small house</source><target xml:space="preserve"></target></trans-unit>
<trans-unit id="2" mq:status="NotStarted" mq:locked="locked"><source>Locked</source><target/></trans-unit>
<trans-unit id="3" mq:status="ManuallyConfirmed"><source>Done</source><target>Feito</target></trans-unit>"""
SDLXLIFF = (_XLIFF % ('sdl="http://sdl.com/FileTypes/SdlXliff/1.0"', _TRADOS)).encode()
MQXLIFF = (_XLIFF % ('mq="MQXliff"', _MEMOQ)).encode()
IPYNB = b"""{
 "cells": [
  {"cell_type": "markdown", "metadata": {}, "source": [
    "# A heading\\n",
    "\\n",
    "Text with `code` and\\n",
    "$x_1$ in *it*."
  ]},
  {"cell_type": "code", "execution_count": 1, "metadata": {},
   "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"text/plain": ["1.50"]}}],
   "source": ["print('Hello there')"]},
  {"cell_type": "markdown", "source": "Only \\u00e9 text", "metadata": {"a": 1.0e-5}},
  {"cell_type": "raw", "metadata": {}, "source": "Raw text"}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 4
}
"""
MDX = b"""---
title: "A page: one"
slug: /page
sidebar_label: Short name
---
import Tabs from '@theme/Tabs';
export const words = ['not this',
  'nor this'];

# Hello, {props.name}!

<Tabs
  items={[{label: 'x'}]}>
    The first <b>tab</b> has a <Badge kind={'new'} /> here.
</Tabs>

{/* A comment
stays */}
"""

RST = b"""\
A title
=======

- A *small* word for `the docs <https://example.org>`__ and ``code``::

    not_prose()

.. note:: Take care
"""
TEX = rb"""\section{A title}\label{a}
A \emph{small} word in~\cite{b}, not in $a$.
\begin{verbatim}
not prose
\end{verbatim}
"""

SAMPLES: dict[str, tuple[bytes, list[str]]] = {
    "xlsx": (
        XLSX,
        ["Check this name", "Name of the product", "One or two lines", "This is very bold", "Text in a cell"],
    ),
    "ods": (ODS, ["A name"]),
    "epub": (EPUB, ["A book", "It begins", "A word1 of\u00a0it.", "A note", "The end.", "First part"]),
    "vtt": (VTT, ["Where is the little house of my friend &amp; me?", "Here it is.", "Thank you!"]),
    "ass": (ASS, ["Where, my friend, is the house that you found?"]),
    "sdlxliff": (SDLXLIFF, ["Two things.", "Three.", "Five."]),
    "mqxliff": (MQXLIFF, ["A very small house"]),
    "ipynb": (IPYNB, ["A heading", "Text with `code` and $x_1$ in it.", "Only \u00e9 text"]),
    "mdx": (
        MDX,
        [
            "A page: one",
            "Short name",
            "Hello, {props.name}!",
            "The first tab has a <Badge kind={'new'} /> here.",
        ],
    ),
    "odp": (ODP, ["Our plan", "Speak slowly"]),
    "rst": (RST, ["A title", "A small word for the docs and ``code``:", "Take care"]),
    "tex": (TEX, ["A title", "A small word in~\\cite{b}, not in $a$."]),
}
"""Content and texts by ending."""
