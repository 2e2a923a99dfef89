"""Paragraphs of WordprocessingML, the language of docx."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from lxml import etree

from dragoman.documents.runs import Atom, Group, Item, Opaque, Run, RunWriter, Wrap, properties_key
from dragoman.documents.safe_xml import XML_SPACE, local_name, plain_xml_text

__all__ = ["is_kept", "make_run", "paragraph_group", "paragraphs"]

_STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"

_WRAPPERS = {"hyperlink", "smartTag", "customXml", "ins", "moveTo", "dir", "bdo", "sdt"}
_BREAKING = {"br", "cr", "ptab", "tab"}
_NOISE = {"proofErr", "lastRenderedPageBreak", "softHyphen"}
_CHOSEN = {"dropDownList", "comboBox", "date", "checkbox", "picture", "docPartObj", "equation"}
"""Controls whose text is chosen from a list or made by Word."""
_DEEPEST = 30  # links in insertions in links: what is deeper is left as it is
_HYPHEN = "\N{NON-BREAKING HYPHEN}"


def paragraphs(root: Any) -> Iterator[Any]:
    """All paragraphs of a part, those in tables and text boxes among them."""
    yield from root.iter(f"{{{_MAIN}}}p", f"{{{_STRICT}}}p")


def is_kept(child: Any) -> str:
    """The properties of a paragraph stay its first child."""
    return "first" if local_name(child) == "pPr" else ""


def paragraph_group(paragraph: Any) -> Group:
    """What a paragraph holds."""
    return Group.of(_items([child for child in paragraph if local_name(child) != "pPr"]))


def make_run(content: str | Any, properties: Any) -> Any:
    """A run with a text or an element in it."""
    sample = properties if properties is not None else None if isinstance(content, str) else content
    space = etree.QName(sample).namespace if sample is not None else _MAIN
    space = space if space in (_MAIN, _STRICT) else _MAIN
    run = etree.Element(f"{{{space}}}r", nsmap={"w": space})
    if properties is not None:
        run.append(_bare(properties))
    if isinstance(content, str):
        text = etree.SubElement(run, f"{{{space}}}t")
        text.text = plain_xml_text(content)
        if content != content.strip() or "  " in content:
            text.set(XML_SPACE, "preserve")
    else:
        run.append(content)
    return run


def _bare(properties: Any) -> Any:
    copy = deepcopy(properties)
    copy.tail = None
    return copy


def _does_not_show(element: Any, attribute: str | None) -> bool:
    return attribute is None and local_name(element) in {"lang", "noProof", "rPrChange", "webHidden"}


def _atoms(children: list[Any]) -> Iterator[Run | Atom]:
    """The children of a paragraph, those of its runs one by one."""
    for child in children:
        if local_name(child) != "r":
            if local_name(child) not in _NOISE:
                yield Atom(child)
            continue
        properties = next((part for part in child if local_name(part) == "rPr"), None)
        key = properties_key(properties, _does_not_show)
        for part in child:
            name = local_name(part)
            if name == "t":
                yield Run(part.text or "", key, properties)
            elif name == "noBreakHyphen":
                yield Run(_HYPHEN, key, properties)
            elif name != "rPr" and name not in _NOISE:
                yield Atom(part, is_in_run=True, properties=properties, key=key)


def _items(children: list[Any], depth: int = 0) -> list[Item]:
    atoms = list(_atoms(children))
    ends = _field_ends(atoms)
    items: list[Item] = []
    place = 0
    while place < len(atoms):
        atom = atoms[place]
        end = ends.get(place)
        if isinstance(atom, Run):
            items.append(atom)
        elif end is not None:
            items.append(_field(atoms[place:end], depth))
            place = end
            continue
        elif _is_field_part(atom):
            items.append(Opaque([atom], is_half=True))
        else:
            items.append(_item(atom, depth))
        place += 1
    return items


def _item(atom: Atom, depth: int) -> Item:
    element = atom.element
    if local_name(element) not in _WRAPPERS or atom.is_in_run or depth > _DEEPEST:
        return Opaque([atom], breaks=atom.is_in_run and local_name(element) in _BREAKING)
    content = element
    if local_name(element) == "sdt":
        named = {local_name(part): part for part in element}
        content = named.get("sdtContent")
        settings = named.get("sdtPr")
        if content is None or (settings is not None and any(local_name(part) in _CHOSEN for part in settings)):
            return Opaque([atom])
    group = Group.of(_items([part for part in content if not local_name(part).endswith("Pr")], depth + 1))
    return Wrap(group, lambda inside: [_around(element, inside)]) if group.items else Opaque([atom])


def _around(element: Any, inside: list[Any]) -> Any:
    """A copy of what holds runs (its properties too), around others."""
    made = etree.Element(element.tag, attrib=dict(element.attrib), nsmap=element.nsmap)
    holder = made
    for part in element:
        if local_name(part).endswith("Pr"):
            made.append(_bare(part))
        elif local_name(part) == "sdtContent":
            holder = etree.SubElement(made, part.tag)
    holder.extend(inside)
    return made


def _field_kind(atom: Run | Atom) -> str:
    if isinstance(atom, Run) or not atom.is_in_run or local_name(atom.element) != "fldChar":
        return ""
    return next((value for name, value in atom.element.items() if name.endswith("}fldCharType")), "")


def _is_field_part(atom: Atom) -> bool:
    return atom.is_in_run and local_name(atom.element) in {"fldChar", "instrText"}


def _field_ends(atoms: list[Run | Atom]) -> dict[int, int]:
    """By where a field begins: where it is over. One that ends in another paragraph, and any in it, is left out."""
    ends: dict[int, int] = {}
    open_: list[int] = []
    for place, atom in enumerate(atoms):
        kind = _field_kind(atom)
        if kind == "begin":
            open_.append(place)
        elif kind == "end" and open_:
            ends[open_.pop()] = place + 1
    return ends


def _field(atoms: list[Run | Atom], depth: int) -> Item:
    """A field as it is; but the text of a link is text."""
    kinds = [_field_kind(atom) for atom in atoms]
    code = "".join(
        atom.element.text or "" for atom in atoms if isinstance(atom, Atom) and local_name(atom.element) == "instrText"
    )
    if code.split()[:1] == ["HYPERLINK"] and kinds.count("begin") == 1 and "separate" in kinds:
        shown = kinds.index("separate") + 1
        group = Group.of([atom if isinstance(atom, Run) else _item(atom, depth) for atom in atoms[shown:-1]])
        if group.items:
            before, after = _opaque(atoms[:shown]), _opaque(atoms[-1:])
            writer = RunWriter(make_run)
            return Wrap(
                group,
                lambda inside: [
                    *writer.elements(before, copied=True), *inside, *writer.elements(after, copied=True)
                ],
            )  # fmt: skip
    return _opaque(atoms)


def _opaque(atoms: list[Run | Atom]) -> Opaque:
    return Opaque(
        [
            Atom(make_run(atom.text, atom.properties)) if isinstance(atom, Run) else atom
            for atom in atoms
        ]
    )  # fmt: skip
