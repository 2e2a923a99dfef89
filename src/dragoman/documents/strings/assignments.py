"""Files of names and quoted or plain values: Java properties, Apple's ``.strings``, arrays of PHP."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.documents.document import Document
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.strings.document import StringsDocument
from dragoman.documents.strings.scan import ScanInput, StringFormat, StringScan, StringUnit
from dragoman.documents.text.text_file import is_valid
from dragoman.errors import DataError
from dragoman.reporting.number_format import format_count

_BLANK = re.compile(r"(?:[^\S\r\n]*(?:[#!][^\r\n]*)?(?:\r\n|\r|\n))*+[^\S\r\n]*+(?:[#!][^\r\n]*)?+")
_NAME = re.compile(r"(?:[^\\\s=:]|\\(?:\r\n|[\s\S]))++")
_SEPARATOR = re.compile(r"[ \t\f]*+[=:]?+(?:[ \t\f]|\\(?:\r\n|\r|\n))*+")
_VALUE = re.compile(r"(?:[^\\\r\n]|\\(?:\r\n|[\s\S]|\Z))*+")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(?:\r\n|\r|\n)[ \t\f]*|([\s\S]|\Z))")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_MAX_ESCAPES = 1_000_000
_NUMBERED = re.compile(r"\{\d{1,3}[,}]")
_CHOICE = re.compile(r"\{\d{1,3},\s*choice")


def _scan_properties(source: ScanInput) -> StringScan:
    scan = StringScan([])
    text, at = source.text, 0
    source.limits.check("escapes", text.count("\\"), _MAX_ESCAPES)
    choices = 0
    while (blank := _BLANK.match(text, at)) and (at := blank.end()) < len(text):
        name = _NAME.match(text, at)
        separator = _SEPARATOR.match(text, name.end() if name else at)
        value = _VALUE.match(text, separator.end() if separator else at)
        assert separator is not None
        assert value is not None
        at = value.end()
        if name is None and not separator[0]:
            raise source.fault(at, "a name and a value", "fix the line")
        new = _without_escapes(value[0])
        if _CHOICE.search(new):
            choices += 1
            continue
        key = source.flat_key(_without_escapes(name[0] if name else ""))
        scan.units.append(StringUnit(key, value.start(), value.end(), _unquoted(new)))
    if choices:
        scan.notes.append(
            f"{format_count(choices, 'text')} with a choice format ({{0,choice,…}}) left; use ICU plurals"
        )
    elif not scan.units:
        raise DataError(f"{source.name} has no names with values; check the suffix")
    return scan


def _without_escapes(text: str) -> str:
    joined = _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _letter(found[2]), text)
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\u" in text else joined


def _letter(letter: str | None) -> str:
    return _LETTERS.get(letter, letter) if letter else ""


def _unquoted(text: str) -> str:
    """Return a text without the doubled apostrophes of Java's MessageFormat."""
    return text.replace("''", "'") if _NUMBERED.search(text) and "''" in text else text


def _encode_properties(text: str, old: str) -> str:
    before = _without_escapes(old)
    if _NUMBERED.search(before):
        # A single apostrophe would quote the placeholder after it, if MessageFormat reads the text.
        text = text.replace("'", "''" if "''" in before else "'" if "'" in before else "\u2019")
    text = text.replace("\\", "\\\\")
    for letter, character in _LETTERS.items():
        text = text.replace(character, f"\\{letter}")
    return f"\\{text}" if text.startswith(" ") else text


def _java_escapes(text: str) -> str:
    """Return a text in ASCII, as files in ISO 8859-1 have other letters."""
    units = text.encode("utf-16-be", "replace")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 else f"\\u{code:04X}" for code in codes)


def read_properties(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read Java properties in UTF-8 or ISO 8859-1; in the latter and in pure ASCII other letters are escaped."""
    is_utf8 = not data.isascii() and is_valid(data, "utf-8")
    encode = _encode_properties if is_utf8 else lambda text, old: _java_escapes(_encode_properties(text, old))
    form = StringFormat(_scan_properties, encode, encodings=("utf-8", "iso-8859-1"))
    return StringsDocument(name, data, limits, form)


_APPLE_TEXT = r'(?:"(?:[^"\\]++|\\[\s\S])*+"|[\w.$/:-]++)'  # a word may be without quotes
_APPLE = re.compile(
    r"\s++|/\*[\s\S]*?\*/|//[^\r\n]*+"
    rf"|(?P<name>{_APPLE_TEXT})\s*+(?:=\s*+(?P<value>{_APPLE_TEXT})\s*+)?;"
)
_APPLE_ESCAPE = re.compile(r"\\(?:[Uu]([0-9A-Fa-f]{4})|([\s\S]))")


def _scan_apple(source: ScanInput) -> StringScan:
    units: list[StringUnit] = []
    for found in _whole(_APPLE, source, '"name" = "text";'):
        if found["value"]:
            key = source.flat_key(_apple_text(found["name"]))
            units.append(StringUnit(key, *found.span("value"), _apple_text(found["value"])))
    if not units:
        raise DataError(f'{source.name} has no texts ("name" = "text";); check the suffix')
    return StringScan(units)


def _whole(pattern: re.Pattern[str], source: ScanInput, rule: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that must cover the file."""
    at = 0
    while at < len(source.text):
        found = pattern.match(source.text, at)
        if found is None or found.end() == at:
            raise source.fault(at, rule, "fix the line")
        yield found
        at = found.end()


def _apple_text(notation: str) -> str:
    quoted = notation if notation[0] == '"' else f'"{notation}"'
    return _APPLE_ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _letter(found[2]), quoted[1:-1])


def _encode_apple(text: str, old: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + (text if "\n" in old else text.replace("\n", "\\n")).replace("\t", "\\t").replace("\r", "\\r") + '"'


APPLE = StringFormat(_scan_apple, _encode_apple, encodings=("utf-8", "UTF-16"))


_PHP = re.compile(
    r"(?P<blank>\s++|/\*[\s\S]*?\*/|(?://|#(?!\[))[^\r\n]*+)|(?P<open>\[|\b(?:array|Array|ARRAY)\s*+\()|(?P<close>[\])])"
    r"|(?P<string>'(?:[^'\\]++|\\[\s\S])*+'|\"(?:[^\"\\]++|\\[\s\S])*+\")|(?P<arrow>=>)|(?P<comma>,)"
    r"|(?P<word>[\w\\$:>-]++)|(?P<other>[^\s])"
)
_PHP_START = re.compile(
    r"\s*<\?php\b(?:\s|/\*[\s\S]*?\*/|(?://|#)[^\r\n]*|(?:declare|defined?)\s*\([^;{}]*;|(?:namespace|use)\s[^;{}]*;)*+"
    r"(?:return|\$\w+\s*=)\s*(?=\[|array\s*\()",
    re.IGNORECASE,
)
_MAX_TOKENS = 1_000_000  # names, signs, and the white space between them
_PHP_DOUBLE = re.compile(r"\\([nrt\\\"$])")
_PHP_VARIABLE = re.compile(r"(?<!\\)(?:\\\\)*(?:\$[\w{]|\{\$)|\\(?:[0-7xuvef])")


def _scan_php(source: ScanInput) -> StringScan:
    start = _PHP_START.match(source.text)
    if start is None:
        raise DataError(f"{source.name} must be PHP that returns an array of texts; write its texts to a .txt file")
    units: list[StringUnit] = []
    path: list[str | int] = []
    value: list[re.Match[str]] = []  # tokens since the last comma or arrow
    for count, found in enumerate(_PHP.finditer(source.text, start.end())):
        source.limits.check("tokens", count, _MAX_TOKENS)
        kind = found.lastgroup or ""
        if kind == "other" or (kind == "open" and value) or (kind == "arrow" and len(value) != 1):
            raise source.fault(found.start(), "a text or an array", "write its texts to a .txt file")
        if kind in ("comma", "close") and len(value) == 1 and value[0]["string"]:
            _add_php(source, units, path, value[0])
        if kind == "open":
            path.append(0)
            source.check_depth(len(path))
        elif kind == "arrow":
            path[-1] = _php_text(value[0][0]) if value[0]["string"] else value[0][0]
        elif kind == "comma" and isinstance(path[-1], int):
            path[-1] += 1
        elif kind == "close":
            path.pop()
            value = []
            if not path:
                break
        if kind != "blank":
            value = [] if kind in ("open", "arrow", "comma") else [*value[:1], found]
    if path or not units:
        raise DataError(f"{source.name} must return an array of texts; check it with php -l")
    return StringScan(units)


def _add_php(source: ScanInput, units: list[StringUnit], path: list[str | int], found: re.Match[str]) -> None:
    if not (found[0][0] == '"' and _PHP_VARIABLE.search(found[0])):
        key = source.key([*map(str, path)])
        units.append(StringUnit(key, *found.span(), _php_text(found[0])))


def _php_text(quoted: str) -> str:
    if quoted[0] == "'":
        return re.sub(r"\\([\\'])", r"\1", quoted[1:-1])
    return _PHP_DOUBLE.sub(lambda found: _letter(found[1]), quoted[1:-1])


def _encode_php(text: str, old: str) -> str:
    text = text.replace("\\", "\\\\")
    if old[0] == "'":
        return "'" + text.replace("'", "\\'") + "'"
    text = text.replace('"', '\\"').replace("$", "\\$")
    return '"' + text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


PHP_ARRAY = StringFormat(_scan_php, _encode_php, ",", choices=re.compile(r"\|"), makes_choices=True)
