"""JSON files of strings: i18next and similar nested files, Chrome's ``messages.json``, and ARB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

from dragoman.documents.limits import DocumentLimits
from dragoman.documents.strings.plurals import is_locale
from dragoman.documents.strings.scan import PluralForm, ScanInput, StringFormat, StringScan, StringUnit
from dragoman.errors import DataError

_TOKEN = re.compile(r'\s*+("(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++)')
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+\\u")
_MAX_TOKENS = 400_000
_FORM = re.compile(r"(.+?)(_ordinal)?_(zero|one|two|few|many|other)")
_SETTINGS = (
    {"openapi"}, {"swagger"}, {"dependencies"}, {"devDependencies"}, {"peerDependencies"}, {"compilerOptions"},
    {"lockfileVersion"}, {"manifest_version"}, {"@context"}, {"jsonrpc"}, {"nbformat"}, {"name", "version"},
    {"apiVersion", "kind"}, {"extends"}, {"$defs"}, {"type", "properties"}, {"type", "features"}, {"scripts"},
    {"browserslist"}, {"repository"}, {"plugins"}, {"presets"}, {"rules"}, {"files", "include"}, {"packages"},
)  # fmt: skip
"""Names that only files of settings and data have on the first level."""
_RECORD = frozenset({
    "uuid", "guid", "email", "date", "birthday", "created_at", "timestamp", "sku", "isbn", "phone", "zip", "lat",
    "latitude", "city", "price",
})  # fmt: skip
"""Names of which each record of data has one; texts of a program are in lists with others, such as questions."""
_MIN_TEXTS = 5  # for each number or logical value, in a file that is not named by its language
_CHROME = frozenset({"message", "description", "placeholders"})
_NOTE = re.compile(r"[@$_/]|comment")
"""Start of names of notes and settings of the file."""
_LOOKS_TECHNICAL = re.compile(r"[\w./:@#\\^~*-]*")
"""A text without a space is no prose: a path, a version, a code; a word is one only with a capital letter."""
_WORD = re.compile(r"[^\W\d_a-z][^\W\d_]*[.!?:…]*")
_FIX = "write its texts to a .txt file, one per line, or use a .po file"


class JsonValue(NamedTuple):
    """A value that is no object and no list: its names, the position of the last name, and its span."""

    path: tuple[str, ...]
    name: int
    start: int
    end: int


def parse_json(name: str, text: str, limits: DocumentLimits) -> dict[str, Any]:
    """Parse a file whose value must be an object."""
    limits.check("values", text.count('"') // 2 + text.count(",") + text.count("[") + text.count("{"), _MAX_TOKENS)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} must be JSON, got: {error}; check it with python -m json.tool") from None
    if not isinstance(value, dict):
        raise DataError(f"{name} must be an object of names and texts, got {type(value).__name__}; {_FIX}")
    return value


def scan_values(source: ScanInput) -> Iterator[JsonValue]:
    """Yield the values of a valid file."""
    path: list[str | int] = []
    names = [0]
    is_name = False
    for token in _TOKEN.finditer(source.text):
        sign = token[1]
        if sign in "{[":
            path.append("" if sign == "{" else 0)
            names.append(0)
            is_name = sign == "{"
            source.check_depth(len(path))
        elif sign in "}]":
            path.pop()
            names.pop()
        elif sign == ",":
            if is_name := isinstance(path[-1], str):
                continue
            path[-1] = int(path[-1]) + 1
        elif sign == ":":
            is_name = False
        elif is_name:
            path[-1], names[-1] = json.loads(sign), token.start(1)
            source.limits.check("characters in a key", sum(len(str(part)) for part in path), 2_000)
        else:
            yield JsonValue(tuple(map(str, path)), names[-1], *token.span(1))


def encode_json(text: str, old: str) -> str:
    """Return a string in the style of another: with escapes for other letters and slashes if that has them."""
    new = json.dumps(text, ensure_ascii=old.isascii() and _ESCAPE.search(old) is not None)
    return new.replace("/", "\\/") if "\\/" in old else new


def _scan_texts(source: ScanInput) -> StringScan:
    content = parse_json(source.name, source.text, source.limits)
    if "@@locale" in content:
        return _scan_arb(source)
    objects = [each for each in content.values() if isinstance(each, dict)]
    if objects and len(objects) == len(content) and all(map(_is_chrome, objects)):
        return StringScan(list(_units(source, lambda path: path[:1] if path[1:] == ("message",) else ())))
    if not source.limits.is_target:
        _check_kind(source, content)
    found = StringScan(list(_units(source, lambda path: () if any(map(_NOTE.match, path[:1])) else path)))
    others = _others(content)
    prose = sum(bool(" " in each.text.strip() or _WORD.fullmatch(each.text.strip())) for each in found.units)
    technical = sum(bool(each.text and _LOOKS_TECHNICAL.fullmatch(each.text)) for each in found.units) - prose
    if not source.limits.is_target and (not prose or technical > 2 * prose):
        raise DataError(f"{source.name} has values that look like codes, not like texts of a program; {_FIX}")
    is_named = is_locale(PurePath(source.name).stem.rpartition(".")[2])
    if not source.limits.is_target and (1 if is_named else _MIN_TEXTS) * len(others) > prose:
        raise DataError(
            f"{source.name} must have texts only, got {others[0]}, as settings have; name it by its language "
            f"(en.json), or {_FIX}"
        )
    return found


def _others(content: dict[str, Any]) -> list[str]:
    """Return the numbers and logical values, with their names."""
    found: list[str] = []
    pending: list[tuple[str, Any]] = [(name, each) for name, each in content.items() if not _NOTE.match(name)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{name}.{key}"[:80], each) for key, each in value.items()]
        elif isinstance(value, list):
            pending += [(name, each) for each in value]
        elif isinstance(value, int | float):
            found.append(f"{json.dumps(value)} for {name}")
    return found[::-1]


def _has_records(value: Any) -> bool:
    """Whether a value is a list of objects, each with a name that records of data have, or has one."""
    if isinstance(value, dict):
        return any(map(_has_records, value.values()))
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return False
    return (len(value) > 1 and all(each.keys() & _RECORD for each in value)) or any(map(_has_records, value))


def _is_chrome(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("message"), str) and entry.keys() <= _CHROME


def _check_kind(source: ScanInput, content: dict[str, Any]) -> None:
    known = next((names for names in _SETTINGS if names <= content.keys()), None)
    schema = content.get("$schema")
    if _has_records(content):
        raise DataError(f"{source.name} has records of data, not texts of a program; {_FIX}")
    if known is not None or (isinstance(schema, str) and "inlang" not in schema):
        shown = " and ".join(sorted(known or {"$schema"}))
        raise DataError(f"{source.name} has {shown} and is a file of settings or data, not of texts; {_FIX}")


def _units(source: ScanInput, key_of: Any) -> Iterator[StringUnit]:
    for value in scan_values(source):
        notation = source.text[value.start : value.end]
        key = key_of(value.path)
        if not key:
            continue
        if notation[0] != '"':
            continue
        text = json.loads(notation)
        form = _FORM.fullmatch(key[-1]) if source.text[value.name] == '"' else None
        if "\\" in source.text[value.name : value.start]:
            form = None  # an escaped name: positions in it differ
        joined = source.key(key)
        group = None
        if form is not None:
            place = value.name + 1 + form.start(3)
            base = source.key([*key[:-1], form[1] + (form[2] or "")])
            group = PluralForm(base, form[3], value.name, value.end, place, bool(form[2]))
        yield StringUnit(joined, value.start, value.end, text, group)


def _scan_arb(source: ScanInput) -> StringScan:
    parse_json(source.name, source.text, source.limits)
    found = StringScan([])
    for value in scan_values(source):
        is_text = source.text[value.start] == '"'
        if value.path == ("@@locale",) and is_text:
            found.language = value.start + 1, value.end - 1
        elif len(value.path) == 1 and is_text and not value.path[0].startswith("@"):
            key = source.key(value.path)
            found.units.append(
                StringUnit(key, value.start, value.end, json.loads(source.text[value.start : value.end]))
            )
    return found


JSON = StringFormat(_scan_texts, encode_json, ",", choices=re.compile(r" \| "))
ARB = StringFormat(_scan_arb, encode_json, ",")
