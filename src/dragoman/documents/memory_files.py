"""Read the units of translation memories from TMX, XLIFF, gettext, TSV and CSV files, and write TMX and TSV files.

TMX is read as a stream, other formats as a whole. Translations that are not reviewed, and those of this tool, are left
out of XLIFF and gettext files.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast
from xml.sax.saxutils import escape, quoteattr

from dragoman.documents.limits import MAX_SEGMENT_CHARACTERS, DocumentLimits
from dragoman.environment import require
from dragoman.errors import ConfigError, DataError
from dragoman.language_codes import is_known_language
from dragoman.text.glossary_files import is_header
from dragoman.version import __version__

_MAX_BYTES = 1 << 30
_MAX_CHARACTERS = 500_000_000
_MAX_LINE = 10_000_000
_TIME = "%Y%m%dT%H%M%SZ"
_CODES = {"bpt", "ept", "it", "ph", "ut"}  # contain codes of other programs, not text
_MAX_UNIT_ELEMENTS = 10_000


@dataclass(frozen=True, slots=True)
class FileUnit:
    """A unit of a file; an empty language is not stated."""

    source_language: str
    target_language: str
    source: str
    target: str
    author: str = ""
    created: int = 0
    """Microseconds since 1970; 0 is not known."""


def read_memory_file(path: Path) -> Iterator[FileUnit]:
    """Yield the units of a file in its order; raises `DataError` for a damaged one."""
    ending = path.suffixes[-2:][0] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    reader = _READERS.get(ending.lower())
    if reader is None:
        raise ConfigError(f"{path} must end in {', '.join(_READERS)} or one of these and .gz; rename or convert it")
    if not path.is_file():
        raise DataError(f"{path} does not exist; check its name")
    with path.open("rb") as file:
        try:
            yield from reader(
                path.name, cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file
            )
        except (EOFError, gzip.BadGzipFile) as error:
            raise DataError(f"{path} is damaged: {error}; get it again") from None


def _read_table(name: str, stream: IO[bytes]) -> Iterator[FileUnit]:
    """Read source and translation in the first two columns, with the languages in a first row that names them."""
    is_csv = ".csv" in name.lower()
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    lines = _lines(name, text)
    rows = csv.reader(lines) if is_csv else (line.rstrip("\r\n").split("\t") for line in lines)
    languages = ("", "")
    try:
        for number, cells in enumerate(rows, 1):
            if number == 1 and is_header(cells):
                codes = [cell.strip() if is_known_language(cell.strip()) else "" for cell in cells[:2]]
                languages = (codes[0], codes[1])
            elif len(cells) >= 2:
                yield FileUnit(*languages, cells[0], cells[1])
            elif any(cells):
                columns = "commas" if is_csv else "tabs"
                raise DataError(f"{name}:{number} must have two columns; separate them by {columns}")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} must be UTF-8, got {error.reason}; save it as UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{name} must be CSV, got: {error}; correct it") from None
    finally:
        text.detach()


def _lines(name: str, text: IO[str]) -> Iterator[str]:
    for number, line in enumerate(iter(lambda: text.readline(_MAX_LINE + 1), ""), 1):
        if len(line) > _MAX_LINE:
            raise DataError(f"{name}:{number} must have {_MAX_LINE:,} characters at most, got more; split it")
        yield line


def _read_tmx(name: str, stream: IO[bytes]) -> Iterator[FileUnit]:
    require("lxml", "serve", "a TMX file")
    from lxml import etree  # noqa: PLC0415 -- an extra

    from dragoman.documents.xml.safe_parser import local_name  # noqa: PLC0415 -- imports lxml

    options: Any = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
    language, is_tmx, size = "", False, 0
    try:
        for event, element in etree.iterparse(stream, events=("start", "end"), collect_ids=False, **options):
            kind = local_name(element)
            if not is_tmx:
                _check_root(name, element, kind)
                is_tmx = True
            size += event == "start"
            if size > _MAX_UNIT_ELEMENTS and kind != "tu":
                raise DataError(
                    f"{name}: a unit must have at most {_MAX_UNIT_ELEMENTS:,} elements, got more; is it TMX?"
                )
            if event == "end" and kind == "header":
                language = element.get("srclang", "")
            elif event == "end" and kind == "tu":
                yield from _tmx_units(element, element.get("srclang") or language)
                size = 0
                parent = element.getparent()
                element.clear()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]
    except etree.XMLSyntaxError as error:
        raise DataError(f"{name} must be well-formed XML, got: {str(error).partition(chr(10))[0]}") from None


def _check_root(name: str, root: Any, kind: str) -> None:
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and any(True for _ in declared.entities()):
        raise DataError(f"{name} declares entities, which is not allowed; save it without")
    if kind != "tmx":
        raise DataError(f"{name} must be TMX, got XML with the root {kind[:40]!r}; check the suffix")


def _tmx_units(unit: Any, source_language: str) -> Iterator[FileUnit]:
    from dragoman.documents.xml.safe_parser import XML_LANG, local_name  # noqa: PLC0415 -- imports lxml

    variants: dict[str, tuple[str, Any]] = {}
    for variant in unit:
        seg = next((each for each in variant if local_name(each) == "seg"), None)
        language = variant.get(XML_LANG) or variant.get("lang") or ""
        if local_name(variant) == "tuv" and seg is not None and language:
            variants.setdefault(language, (_segment_text(seg), variant))
    wanted = source_language.lower()
    first = next((each for each in variants if each.lower() == wanted), None)
    first = first or next((each for each in variants if each.lower().split("-")[0] == wanted.split("-")[0]), None)
    if not variants:
        return
    source = first or next(iter(variants))
    for language, (text, variant) in variants.items():
        if language != source:
            holders = (variant, unit)
            author = next((found for each in holders if (found := each.get("changeid") or each.get("creationid"))), "")
            date = next(
                (found for each in holders if (found := each.get("changedate") or each.get("creationdate"))), ""
            )
            yield FileUnit(source, language, variants[source][0], text, author, _parse_time(date))


def _segment_text(seg: Any) -> str:
    """Return the text of a segment without the codes of other programs."""
    from dragoman.documents.xml.safe_parser import local_name  # noqa: PLC0415 -- imports lxml

    parts = [seg.text or ""]
    for child in seg:
        if local_name(child) and local_name(child) not in _CODES:
            parts.append(_segment_text(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _parse_time(text: str) -> int:
    try:
        return int(datetime.strptime(text, _TIME).replace(tzinfo=UTC).timestamp()) * 1_000_000
    except ValueError:
        return 0


def _read_document(name: str, stream: IO[bytes]) -> Iterator[FileUnit]:
    data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise DataError(f"{name} must have at most {_MAX_BYTES:,} bytes, got more; split it")
    limits = DocumentLimits(name, _MAX_CHARACTERS)
    limits.segments = _MAX_CHARACTERS // MAX_SEGMENT_CHARACTERS * 1000
    if ".po" in name.lower():
        require("polib", "serve", "a gettext file")
        from dragoman.documents.text.po import reviewed_messages  # noqa: PLC0415 -- an extra

        language, pairs = reviewed_messages(name, data, limits)
        yield from (FileUnit("", language, *pair) for pair in pairs)
    else:
        require("lxml", "serve", "an XLIFF file")
        from dragoman.documents.xml.xliff import reviewed_units  # noqa: PLC0415 -- an extra

        yield from (FileUnit(*each) for each in reviewed_units(name, data, limits))


_READERS: dict[str, Callable[[str, IO[bytes]], Iterator[FileUnit]]] = {
    ".tmx": _read_tmx,
    **dict.fromkeys((".tsv", ".tab", ".csv"), _read_table),
    **dict.fromkeys((".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".po"), _read_document),
}
MEMORY_ENDINGS = tuple(_READERS)


def write_memory_file(path: Path, units: Iterable[FileUnit], ending: str) -> int:
    """Write units to a file in the format ``.tmx`` or ``.tsv``; return their number."""
    is_tmx = ending == ".tmx"
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        if is_tmx:
            file.write(_TMX_HEAD.format(version=__version__))
        for unit in units:
            file.write(_tmx_unit(unit) if is_tmx else f"{_cell(unit.source)}\t{_cell(unit.target)}\n")
            count += 1
        if is_tmx:
            file.write("</body>\n</tmx>\n")
    return count


_TMX_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4">
<header creationtool="dragoman" creationtoolversion="{version}" segtype="sentence" o-tmf="dragoman" adminlang="en" \
srclang="*all*" datatype="plaintext"/>
<body>
"""


def _tmx_unit(unit: FileUnit) -> str:
    facts = f" changeid={quoteattr(unit.author)}" if unit.author else ""
    if unit.created:
        facts += f' changedate="{datetime.fromtimestamp(unit.created / 1e6, UTC):{_TIME}}"'
    sides = ((unit.source_language, unit.source, ""), (unit.target_language, unit.target, facts))
    variants = "".join(
        f"<tuv xml:lang={quoteattr(language)}{more}><seg>{escape(_valid(text))}</seg></tuv>"
        for language, text, more in sides
    )
    return f"<tu srclang={quoteattr(unit.source_language)}>{variants}</tu>\n"


def _valid(text: str) -> str:
    require("lxml", "serve", "a TMX file")
    from dragoman.documents.xml.safe_parser import strip_invalid_characters  # noqa: PLC0415 -- imports lxml

    return strip_invalid_characters(text)


def _cell(text: str) -> str:
    return " ".join(text.split())
