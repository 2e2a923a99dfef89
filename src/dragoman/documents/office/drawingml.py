"""Read and write paragraphs of DrawingML, the text format of slides and shapes."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lxml import etree

from dragoman.documents.limits import MAX_SEGMENT_CHARACTERS
from dragoman.documents.office.runs import OpaqueItem, RunElement, RunGroup, RunItem, TextRun, properties_key
from dragoman.documents.xml.safe_parser import local_name, own_text, strip_invalid_characters

_STRICT = "http://purl.oclc.org/ooxml/drawingml/main"
_MAIN = "http://schemas.openxmlformats.org/drawingml/2006/main"
_ENDS = {"pPr": "first", "endParaRPr": "last"}
_INVISIBLE = {"lang", "altLang", "dirty", "err", "smtClean", "smtId", "noProof", "bmk"}
_TABS = re.compile(r"([\t\v]+)")


def paragraphs(root: Any) -> Iterator[Any]:
    """Yield all paragraphs of a part, including those in tables and groups."""
    yield from root.iter(f"{{{_MAIN}}}p", f"{{{_STRICT}}}p")


def fixed_position(child: Any) -> str:
    """Return "first" for the properties of a paragraph, "last" for those of its end, "" for other children."""
    return _ENDS.get(local_name(child), "")


def paragraph_group(paragraph: Any) -> RunGroup:
    """Return the runs of a paragraph."""
    items: list[RunItem] = []
    length = 0
    for child in paragraph:
        if local_name(child) == "r":
            text = "".join(own_text(part) for part in child if local_name(part) == "t")
            length += len(text)
            items.extend(_run_items(child, text, is_split=length <= MAX_SEGMENT_CHARACTERS))
        elif not fixed_position(child):
            items.append(OpaqueItem([RunElement(child)], breaks=local_name(child) == "br"))
    return RunGroup.from_items(items)


def _run_items(run: Any, text: str, *, is_split: bool) -> Iterator[RunItem]:
    """Yield the text of a run, split at tabs. A paragraph that is too long is not split: it will be rejected."""
    properties = next((part for part in run if local_name(part) == "rPr"), None)
    key = properties_key(properties, lambda _, attribute: attribute in _INVISIBLE)
    for place, fragment in enumerate(_TABS.split(text) if is_split else [text]):
        if place % 2:
            tabs = fragment if properties is not None else make_run(fragment, None, like=run)
            yield OpaqueItem([RunElement(tabs, properties=properties)], breaks=True)
        elif fragment:
            yield TextRun(fragment, key, properties)


def make_run(content: str | Any, properties: Any, like: Any = None) -> Any:
    """Create a run that contains a text."""
    sample = like if like is not None else properties
    space = _STRICT if sample is not None and etree.QName(sample).namespace == _STRICT else _MAIN
    run = etree.Element(f"{{{space}}}r", nsmap={"a": space})
    if properties is not None:
        copy = deepcopy(properties)
        copy.tail = None
        run.append(copy)
    etree.SubElement(run, f"{{{space}}}t").text = strip_invalid_characters(str(content))
    return run
