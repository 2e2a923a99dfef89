"""XML files of strings: Android resources, RESX of .NET, and ``.stringsdict`` of Apple."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman.documents.strings.plurals import CATEGORIES
from dragoman.documents.strings.scan import MAX_KEYS, PluralForm, ScanInput, StringFormat, StringScan, StringUnit
from dragoman.documents.xml.safe_parser import parse_xml, strip_invalid_characters
from dragoman.errors import DataError

_TOKEN = re.compile(
    r"<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<![^>]*>|<(?P<end>/)?(?P<name>[^\s/<>]+)"
    r"(?P<attributes>(?:[^\"'>/]++|\"[^\"]*\"|'[^']*'|/(?!>))*+)(?P<empty>/)?>"
)
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[\]]{0,500}>")
_ENCODING = re.compile(r"\A(<\?xml[^>]{0,100}?)(\s+encoding\s*=\s*[\"']([\w.:-]{0,40})[\"'])")
_PROLOG = 4_000  # characters in which a document type is searched
_ATTRIBUTE = re.compile(r"""([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_INSIDE = re.compile(r"<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|(<[^>]*>)")
_CDATA = re.compile(r"\s*<!\[CDATA\[((?:(?!\]\]>)[\s\S])*)\]\]>\s*")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")


@dataclass
class XmlElement:
    """An element with the positions of its parts."""

    name: str
    attributes: dict[str, tuple[str, int]]
    """Value of each attribute and its position."""
    start: int
    inside: int
    """Position after the start tag."""
    outside: int = 0
    """Position of the end tag."""
    end: int = 0
    children: list[XmlElement] = field(default_factory=list)

    def attribute(self, name: str) -> str:
        return self.attributes[name][0] if name in self.attributes else ""


def parse_elements(source: ScanInput, root: str, fix: str, *, leaves: frozenset[str] = frozenset()) -> XmlElement:
    """Return the root of a well-formed file; elements named in `leaves` have no children."""
    bare = _DOCTYPE.sub("", source.text, count=1) if "<!DOCTYPE" in source.text[:_PROLOG] else source.text
    declared = _ENCODING.match(bare)
    if declared and declared[3].lower() not in ("utf-8", "utf8", "utf-16"):
        raise DataError(f"{source.name} must be UTF-8, got {declared[3]}; save it as UTF-8")
    if declared:
        bare = bare[: declared.start(2)] + bare[declared.end(2) :]
    parse_xml(source.name, bare.encode(), source.limits)
    top = XmlElement("", {}, 0, 0)
    open_ = [top]
    hidden = 0  # open elements inside a leaf
    for found in _TOKEN.finditer(source.text):
        if found["name"] is None:
            continue
        if found["end"]:
            if hidden:
                hidden -= 1
                continue
            element = open_.pop()
            element.outside, element.end = found.start(), found.end()
        elif open_[-1].name in leaves:
            hidden += found["empty"] is None
        else:
            begin = found.start("attributes")
            pairs = _ATTRIBUTE.finditer(found["attributes"]) if "=" in found["attributes"] else ()
            attributes = {
                each[1]: (html.unescape(each[2] or each[3] or ""), begin + each.start(2 if each[2] is not None else 3))
                for each in pairs
            }
            element = XmlElement(found["name"], attributes, found.start(), found.end(), found.end(), found.end())
            open_[-1].children.append(element)
            if not found["empty"]:
                open_.append(element)
    if not top.children or top.children[0].name != root:
        got = top.children[0].name[:40] if top.children else ""
        raise DataError(f"{source.name} must have the root {root}, got {got!r}; {fix}")
    return top.children[0]


def xml_text(raw: str, tidy: Callable[[str], str] = lambda text: text) -> str | None:
    """Return the text of an element with its tags as text; None if tags and escaped tags could be confused.

    `tidy` is applied to what is between the tags.
    """
    if (whole := _CDATA.fullmatch(raw)) is not None:
        return tidy(whole[1])
    parts: list[str] = []
    tags, texts = set(), []
    at = 0
    for found in _INSIDE.finditer(raw):
        if found[2] is None:
            return None  # a comment, or a section among text
        texts.append(tidy(html.unescape(raw[at : found.start()])))
        parts += [texts[-1], found[2]]
        tags.add(found[2])
        at = found.end()
    texts.append(tidy(html.unescape(raw[at:])))
    escaped = {each for text in texts if "<" in text for each in _TAG.findall(text)}
    return None if tags & escaped else "".join([*parts, texts[-1]])


def encode_xml(text: str, old: str, tidy: Callable[[str], str] = lambda text: text) -> str:
    """Return the content of an element; the tags of the old content stay tags."""
    text = strip_invalid_characters(text)
    if (whole := _CDATA.fullmatch(old)) is not None:
        inner = tidy(text).replace("]]>", "]]]]><![CDATA[>")
        return old[: whole.start(1)] + inner + old[whole.end(1) :]
    tags = sorted({found[2] for found in _INSIDE.finditer(old) if found[2]}, key=len, reverse=True)
    parts = re.split("(" + "|".join(map(re.escape, tags)) + ")", text) if tags else [text]
    return "".join(part if place % 2 else html.escape(tidy(part), quote=False) for place, part in enumerate(parts))


_ANDROID_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([\s\S]))")
_ANDROID_LETTERS = {"n": "\n", "t": "\t"}


def _unescaped(text: str) -> str:
    return _ANDROID_ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _ANDROID_LETTERS.get(found[2], found[2]), text
    )


def _android_text(raw: str) -> str | None:
    """Return the text of a resource; None for the name of another one, and for quotes around a part."""
    inner = raw.strip()
    if inner.startswith(("@", "?")):
        return None
    if _is_quoted(inner):
        return xml_text(inner[1:-1], _unescaped)
    if re.search(r'(?<!\\)"', re.sub(r"<[^>]*>", "", raw)) and not _CDATA.fullmatch(raw):
        return None
    return xml_text(raw, lambda text: _unescaped(re.sub(r"(?<!\s)\s*[\r\n]\s*", " ", text)))


def _is_quoted(inner: str) -> bool:
    return len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in re.sub(r"\\.|<[^>]*>", "", inner[1:-1])


def _encode_android(text: str, old: str) -> str:
    inner = (found[1] if (found := _CDATA.fullmatch(old)) else old).strip()
    letters = r'\\"' if _is_quoted(inner) else r"\\'" if found else r"\\'\""

    def escaped(part: str) -> str:
        return re.sub(f"([{letters}])", r"\\\1", part).replace("\n", "\\n").replace("\t", "\\t")

    new = encode_xml(text, old, escaped)
    if inner.startswith("\\u0020"):  # other spaces at an end are dropped
        new = "\\u0020" + new.lstrip(" ")
    if inner.endswith("\\u0020"):
        new = new.rstrip(" ") + "\\u0020"
    return f'"{new}"' if _is_quoted(inner) else re.sub(r"^(?=[@?])", r"\\", new)


def _scan_android(source: ScanInput) -> StringScan:
    fix = "only XML of Android is read; convert it to .po or .xliff"
    source.limits.check("texts", source.text.count("</item>") + source.text.count("</string>"), MAX_KEYS)
    root = parse_elements(source, "resources", fix, leaves=frozenset({"string", "item"}))
    scan = StringScan([])

    def add(element: XmlElement, key: str, form: PluralForm | None = None) -> None:
        text = _android_text(source.text[element.inside : element.outside])
        if text is not None:
            scan.units.append(StringUnit(key, element.inside, element.outside, text, form))

    for each in root.children:
        key = source.flat_key(each.attribute("name"))
        if each.attribute("translatable") == "false":
            continue
        if each.name == "string":
            add(each, key)
        for place, item in enumerate(each.children):
            category, at = item.attributes.get("quantity", ("", 0))
            if each.name == "string-array":
                add(item, f"{key}.{place}")
            elif each.name == "plurals" and category in CATEGORIES:
                add(item, f"{key}.{category}", PluralForm(key, category, item.start, item.end, at, is_certain=True))
    return scan


def _scan_resx(source: ScanInput) -> StringScan:
    fix = "only resources of .NET have this suffix"
    scan = StringScan([])
    for data in parse_elements(source, "root", fix, leaves=frozenset({"value", "comment"})).children:
        key = data.attribute("name")
        if data.name != "data" or {"type", "mimetype"} & data.attributes.keys() or key.startswith(">>"):
            continue
        for each in data.children:
            text = xml_text(source.text[each.inside : each.outside]) if each.name == "value" else None
            if text is not None:
                key = source.flat_key(key)
                scan.units.append(StringUnit(key, each.inside, each.outside, text))
    return scan


def _scan_stringsdict(source: ScanInput) -> StringScan:
    root = parse_elements(source, "plist", "only property lists of Apple are read", leaves=frozenset({"string", "key"}))
    scan = StringScan([])
    for each in root.children:
        _scan_dict(source, each, (), scan)
    return scan


def _scan_dict(source: ScanInput, element: XmlElement, path: tuple[str, ...], scan: StringScan) -> None:
    """Add the plural forms and the formats of a dictionary: each name is followed by its value."""
    pairs = list(zip(element.children[::2], element.children[1::2], strict=False))
    for name, value in pairs:
        source.check_depth(len(path))
        named = source.text[name.inside : name.outside]
        if value.name == "dict":
            _scan_dict(source, value, (*path, named), scan)
        elif value.name == "string" and (named in CATEGORIES or named in _DICT_TEXTS):
            text = xml_text(source.text[value.inside : value.outside])
            group = source.key(path)
            is_form = named in CATEGORIES
            form = PluralForm(group, named, name.start, value.end, name.inside, is_certain=True) if is_form else None
            if text is not None:
                scan.units.append(StringUnit(f"{group}.{named}", value.inside, value.outside, text, form))


_DICT_TEXTS = ("NSStringLocalizedFormatKey",)


_UTF = ("utf-8", "UTF-16")
ANDROID = StringFormat(_scan_android, _encode_android, encodings=_UTF, needs_texts=True)
RESX = StringFormat(_scan_resx, encode_xml, encodings=_UTF, needs_texts=True)
STRINGSDICT = StringFormat(_scan_stringsdict, encode_xml, encodings=_UTF, needs_texts=True)
