"""Fluent (``.ftl``): messages and attributes; each variant of a selection is a text. Terms stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from dragoman.documents.strings.plurals import CATEGORIES
from dragoman.documents.strings.scan import PluralForm, ScanInput, StringFormat, StringScan, StringUnit
from dragoman.errors import DataError

_ATTRIBUTE = re.compile(r"^ +\.([A-Za-z][\w-]*)[ ]*=[ ]*", re.MULTILINE)
_LINE = re.compile(r"(?P<comment>#{1,3}(?: [^\n]*)?)?(?P<blank>[ \r]*)(?:\n|\Z)|(?P<entry>[-A-Za-z][\w-]*[ ]*=)")
_SIGN = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[{}]|->')
_VARIANT = re.compile(r"\n[ \r\n]*+\*?(\[ *+([A-Za-z0-9][\w.-]{0,100}) *+\]) *+")
_SELECT = re.compile(r"\{\s*(?:\$[\w-]+|NUMBER\(\s*\$[^{}()]*\))\s*->")
_MAX_SIGNS = 400_000


def _scan_fluent(source: ScanInput) -> StringScan:
    text = source.text
    source.limits.check("braces", text.count("{") + text.count("}") + text.count('"'), _MAX_SIGNS)
    units: list[StringUnit] = []
    entries: list[tuple[str, int, int]] = []  # name, start and end of what it contains
    at = 0
    while at < len(text):
        found = _LINE.match(text, at)
        if found is None:
            raise source.fault(at, "a message, a term or a comment", "fix the line")
        at = found.end()
        if found["entry"]:
            begin = found.start()
            at = _entry_end(text, at)
            entries.append((found["entry"][:-1].strip(), begin + len(found["entry"]), at))
    for name, start, end in entries:
        if not name.startswith("-"):
            units += _patterns(source, name, start, end)
    if not entries:
        raise DataError(f"{source.name} has no messages (name = text); check the suffix")
    return StringScan(units)


def _entry_end(text: str, at: int) -> int:
    """Return the end of an entry: the next line that is neither indented, nor blank, nor the end of a placeable."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if text[end + 1 : end + 2] not in (" ", "\n", "\r", "}"):
            return end + 1
        at = end + 1


def _patterns(source: ScanInput, name: str, start: int, end: int) -> Iterator[StringUnit]:
    starts = [(name, start, start)]
    starts += [(f"{name}.{each[1]}", each.start(), each.end()) for each in _ATTRIBUTE.finditer(source.text, start, end)]
    for (key, _, begin), following in zip(starts, [*starts[1:], None], strict=True):
        yield from _pattern(source, key, begin, end if following is None else following[1], 0)


def _pattern(source: ScanInput, key: str, start: int, end: int, depth: int) -> Iterator[StringUnit]:
    """Yield the texts of a pattern: itself, or the variants of the selection that it consists of."""
    text = source.text
    source.check_depth(depth)
    source.limits.check("characters in a key", len(key), 2_000)
    while start < end and text[start] in " \r\n":
        start += 1
    while start < end and text[end - 1] in " \r\n":
        end -= 1
    found = list(_SIGN.finditer(text, start, end))
    depths = accumulate((each[0] == "{") - (each[0] == "}") for each in found)
    arrows = [(depth, each.end()) for depth, each in zip(depths, found, strict=True) if each[0] == "->"]
    arrow = next((place for depth, place in arrows if depth == 1), 0)
    if start == end or not _is_balanced(found):
        return
    if arrows and not arrow:
        return  # a selection inside of another placeable
    if not arrow:
        yield StringUnit(source.flat_key(key), start, end, _joined(text[start:end]))
        return
    if text[start] != "{" or not _is_one_placeable(found, end):
        return  # text around a selection: its parts are no sentences
    variants = list(_variants(text, found, arrow, end - 1))
    names = {name for name, _, _, _ in variants}
    is_plural = _SELECT.match(text, start) is not None and "other" in names
    is_plural = is_plural and all(each in CATEGORIES or each.isdecimal() for each in names)
    for name, bracket, begin, finish in variants:
        for unit in _pattern(source, f"{key}.{name}", begin, finish, depth + 1):
            form = None
            if is_plural and name in CATEGORIES and unit.key == f"{key}.{name}" and depth == 0:
                form = PluralForm(key, name, bracket, unit.end, text.index(name, bracket), is_certain=True)
            yield unit._replace(form=form)


def _is_balanced(found: list[re.Match[str]]) -> bool:
    depth = 0
    for each in found:
        depth += (each[0] == "{") - (each[0] == "}")
        if depth < 0:
            return False
    return depth == 0


def _is_one_placeable(found: list[re.Match[str]], end: int) -> bool:
    """Whether the first brace is closed by the last character."""
    depth = 0
    for each in found:
        depth += (each[0] == "{") - (each[0] == "}")
        if not depth and each[0] == "}":
            return each.end() == end
    return False


def _variants(text: str, found: list[re.Match[str]], arrow: int, end: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield the name of each variant, the position of its bracket, and the span of its pattern."""
    starts: list[re.Match[str]] = []
    inside = [each for each in found if each.start() >= arrow and each.end() <= end and each[0] in "{}"]
    holes = [arrow]
    depth = 0
    for each in inside:
        if each[0] == "{" and not depth:
            holes.append(each.start())
        depth += (each[0] == "{") - (each[0] == "}")
        if not depth:
            holes.append(each.end())
    holes.append(end)
    for begin, finish in zip(holes[::2], holes[1::2], strict=True):
        starts += _VARIANT.finditer(text, begin, finish)
    for each, following in zip(starts, [*starts, None][1:], strict=True):
        yield each[2], each.start(1), each.end(), end if following is None else following.start()


def _joined(raw: str) -> str:
    """Return a pattern without the line ends and indents of the file; blank lines separate paragraphs."""
    return re.sub(r"(?<![ \r])[ \r]*+\n[ \r]*((?:\n[ \r]*)*)", lambda found: "\n\n" if found[1] else " ", raw)


def _encode_fluent(text: str, old: str) -> str:
    """Return a pattern in which no line starts as a variant or an attribute does."""
    lines = re.split(r"\n+", text.strip())
    marked = [f'{{"{line[0]}"}}{line[1:]}' if line[:1] in ("[", "*", ".") else line for line in lines]
    return "\n\n    ".join(lines[:1] + marked[1:] if old[:1] == text.strip()[:1] else marked)


FTL = StringFormat(_scan_fluent, _encode_fluent, keeps_braces=True)
