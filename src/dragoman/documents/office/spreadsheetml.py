"""Read and write texts of SpreadsheetML, the format of xlsx: shared strings, texts in cells, and comments."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lxml import etree

from dragoman.documents.limits import MAX_SEGMENT_CHARACTERS
from dragoman.documents.office.runs import OpaqueItem, RunElement, RunGroup, RunItem, TextRun, properties_key
from dragoman.documents.xml.safe_parser import XML_SPACE, local_name, own_text, strip_invalid_characters

_STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_TEXTS = ("si", "is", "text")  # shared, in a cell, of a comment
_BREAKS = re.compile(r"((?:_x[0-9A-Fa-f]{4}_|[\t\n\v\r])+)")
"""Line ends in a cell, and control characters in the notation of the format."""
_BEFORE_CALCULATION = {
    "fileVersion", "fileSharing", "workbookPr", "workbookProtection", "bookViews", "sheets", "functionGroups",
    "externalReferences", "definedNames", "AlternateContent", "revisionPtr",
}  # fmt: skip


def paragraphs(root: Any) -> Iterator[Any]:
    """Yield all texts of a part."""
    yield from root.iter(*(f"{{{space}}}{name}" for space in (_MAIN, _STRICT) for name in _TEXTS))


def fixed_position(_child: Any) -> str:
    """Return "": nothing but the text stays. The readings of Japanese words (`rPh`) are those of the old text."""
    return ""


def paragraph_group(paragraph: Any) -> RunGroup:
    """Return the runs of a text."""
    items: list[RunItem] = []
    length = 0
    for child in paragraph:
        parts = child if local_name(child) == "r" else [child]
        text = "".join(own_text(part) for part in parts if local_name(part) == "t")
        length += len(text)
        properties = next((part for part in child if local_name(part) == "rPr"), None)
        key = properties_key(properties, lambda *_: False)
        for place, fragment in enumerate(_BREAKS.split(text) if length <= MAX_SEGMENT_CHARACTERS else [text]):
            if place % 2:
                items.append(OpaqueItem([RunElement(fragment, properties=properties)], breaks=True))
            elif fragment:
                items.append(TextRun(fragment, key, properties))
    return RunGroup.from_items(items)


def make_run(content: str | Any, properties: Any) -> Any:
    """Create a run that contains a text."""
    space = _MAIN if properties is None else etree.QName(properties).namespace
    run = etree.Element(f"{{{space}}}r", nsmap={None: space})
    if properties is not None:
        run.append(deepcopy(properties))
        run[0].tail = None
    text = etree.SubElement(run, f"{{{space}}}t")
    text.text = strip_invalid_characters(str(content))
    text.set(XML_SPACE, "preserve")
    return run


def finish(paragraph: Any) -> None:
    """Write a text without formats as one element, as usual; other runs get the namespace of the text."""
    space = etree.QName(paragraph).namespace
    runs = list(paragraph)
    if all(len(run) == 1 for run in runs):
        text = etree.Element(f"{{{space}}}t", {XML_SPACE: "preserve"})
        text.text = "".join(run[0].text or "" for run in runs)
        paragraph[:] = [text]
    elif space != _MAIN:
        for element in paragraph.iter(f"{{{_MAIN}}}*"):
            element.tag = f"{{{space}}}{local_name(element)}"


def request_calculation(workbook: Any) -> None:
    """Have the program calculate all formulas when it opens the file: results that are stored have the old texts."""
    space = etree.QName(workbook).namespace
    found = workbook.find(f"{{{space}}}calcPr")
    if found is None:
        found = etree.Element(f"{{{space}}}calcPr")
        before = [place for place, child in enumerate(workbook) if local_name(child) in _BEFORE_CALCULATION]
        workbook.insert(max(before, default=-1) + 1, found)
    found.set("fullCalcOnLoad", "1")
