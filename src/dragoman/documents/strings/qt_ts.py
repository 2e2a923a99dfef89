"""Qt Linguist (``.ts``): messages without a translation get one, which stays ``unfinished`` until it is reviewed."""

from __future__ import annotations

import hashlib
import html
import re

from dragoman.documents.document import DeclaredLanguages, Document, parse_declared_code
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.strings.document import StringsDocument
from dragoman.documents.strings.scan import BETWEEN_FORMS, MAX_KEY, ScanInput, StringFormat, StringScan, StringUnit
from dragoman.documents.strings.xml_strings import XmlElement, encode_xml, parse_elements, xml_text
from dragoman.documents.translation_marks import EarlierTranslation
from dragoman.errors import DataError

_LEAVES = frozenset(
    {"source", "comment", "extracomment", "translatorcomment", "oldsource", "oldcomment", "numerusform", "name"}
)
_START = re.compile(r"<translation((?:[^\"'>/]|\"[^\"]*\"|'[^']*')*)/?>")
_TYPE = re.compile(r"\s+type\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_CONTENT = re.compile(r"\s*<(numerusform|lengthvariant)\b")
_GAP = re.compile(r"\A[^>]*>(\s*)<numerusform")
_MAX_PART = 80  # characters of a source in a key


def _scan(source: ScanInput, *, again: bool) -> StringScan:
    root = parse_elements(source, "TS", "only translations of Qt have this suffix here; convert it", leaves=_LEAVES)
    language, position = root.attributes.get("language", ("", 0))
    scan = StringScan([], (position, position + len(language)) if language else None)
    scan.unreviewed.has_marks = False
    done = 0
    for context in root.children:
        name = next((_inside(source, each) for each in context.children if each.name == "name"), "")
        for message in context.children:
            if message.name == "message":
                done += _add_message(source, scan, name, message, again=again)
    if scan.units:
        codes = [parse_declared_code(root.attribute(each)) for each in ("sourcelanguage", "language")]
        scan.declared = (DeclaredLanguages(codes[0], codes[1], done),)
    elif not done:
        raise DataError(f"{source.name} has no messages; check the file")
    return scan


def _inside(source: ScanInput, element: XmlElement) -> str:
    return source.text[element.inside : element.outside]


def _add_message(source: ScanInput, scan: StringScan, context: str, message: XmlElement, *, again: bool) -> bool:
    """Add a message that may be translated; return whether it has a translation that stays."""
    parts = {each.name: each for each in message.children}
    translation = parts.get("translation")
    if "source" not in parts or translation is None or translation.attribute("type") in ("vanished", "obsolete"):
        return False
    raw = _inside(source, parts["source"])
    text = xml_text(raw)
    written = html.unescape(re.sub(r"<[^>]*>", "", _inside(source, translation))).strip()
    earlier = EarlierTranslation(raw, (written,), "", translation.attribute("type") != "unfinished" and bool(written))
    scan.unreviewed.add(earlier, again=again)
    is_plain = all(each.name == "numerusform" for each in translation.children)
    if not any(earlier.writable(again=again)) or text is None or not is_plain:
        return bool(written)
    note = _inside(source, parts["comment"]) if "comment" in parts else ""
    digest = hashlib.blake2b(f"{raw}\0{note}".encode(), digest_size=4).hexdigest()
    named = message.attribute("id") or f"{text[:_MAX_PART]} {digest}"
    key = source.key([context[: MAX_KEY // 2], named])
    is_numerus = message.attribute("numerus") == "yes"
    scan.units.append(StringUnit(key, translation.start, translation.end, text, None, is_numerus))
    source.limits.check("paragraphs", len(scan.units), source.limits.segments)
    return False


def _encode_ts(text: str, old: str) -> str:
    """Return the element of a translation, as one that has to be reviewed."""
    start = _START.match(old)
    assert start is not None
    attributes = _TYPE.sub("", start[1].rstrip())
    content = encode_xml(text, "")
    if BETWEEN_FORMS in text or _CONTENT.match(old, start.end()):
        gap = found[1] if (found := _GAP.match(old)) else ""
        forms = [f"<numerusform>{encode_xml(each, '')}</numerusform>" for each in text.split(BETWEEN_FORMS)]
        tail = re.search(r"\s*(?=</translation)", old)
        content = gap + gap.join(forms) + (tail[0] if tail else "")
    return f'<translation{attributes} type="unfinished">{content}</translation>'


def read_ts(name: str, data: bytes, limits: DocumentLimits, *, again: bool = False) -> Document:
    """Read a file of Qt Linguist; with `again`, unfinished translations are made again."""
    form = StringFormat(lambda source: _scan(source, again=again), _encode_ts, is_bilingual=True)
    return StringsDocument(name, data, limits, form)
