"""Read glossary files: TSV, CSV, and the exchange formats TBX and TMX, without entities and external files."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from xml.parsers import expat

from dragoman.errors import DataError
from dragoman.language_codes import is_known_language, match_language
from dragoman.text.column_headings import is_heading
from dragoman.text.normalize import Normalizer

clean_term = Normalizer(form="none")

_MAX_BYTES = 64 << 20
_MAX_DEPTH = 100
_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon"}
_CODE = re.compile(r"[A-Za-z]{2}([-_][A-Za-z0-9]{2,8})*")
_SOURCE = re.compile("original|source|src|terms?", re.IGNORECASE)
_TARGET = re.compile("target|tgt|translat(ed|ion)|trg", re.IGNORECASE)
_USUAL = re.compile(
    "column|content|input|output|ref(erence)?|segment|sentences?|side|string|text|value|[12]", re.IGNORECASE
)
_FORMATS = "a glossary must be text (TSV, CSV), TBX or TMX"

_Row = tuple[int, str, str | None]


def read_terms(path: Path, languages: Sequence[str]) -> Iterator[_Row]:
    """Yield line number, source term and translation, of the two `languages` if the file has several."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1).removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        what = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        raise DataError(f"the glossary {path} {what}; check its name") from None
    if len(content) > _MAX_BYTES:
        raise DataError(f"{path} must have at most {_MAX_BYTES:,} bytes, got more; split it")
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise DataError(f"{path}: {_FORMATS}, not a spreadsheet or an archive; save it as CSV")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: text must be UTF-8, got UTF-16; save the file as UTF-8")
    if content.lstrip().startswith(b"<"):
        return _xml_rows(path, content, languages)
    return _rows(path, list(_lines(path, content)), languages)


def _rows(path: Path, lines: Sequence[tuple[int, str]], languages: Sequence[str]) -> Iterator[_Row]:
    if path.suffix.lower() == ".csv":
        separator = ";" if sum(";" in text for _, text in lines) > sum("," in text for _, text in lines) else ","
    else:
        separator = "\t"
        _refuse_commas(path, lines)
    columns: tuple[int, int] | None = None
    for place, (number, text) in enumerate(lines):
        try:
            cells = text.split("\t") if separator == "\t" else next(csv.reader([text], delimiter=separator))
        except csv.Error as error:
            raise DataError(f"{path}:{number}: a line must be a row of CSV, got: {error}; export it again") from None
        if not place and is_header(cells, languages):
            columns = _columns(path, [cell.strip() for cell in cells], languages)
            continue
        if not place and _names_others(cells, languages):
            wanted, named = " and ".join(languages), ", ".join(map(str.strip, cells))
            raise DataError(f"{path}:{number}: the columns must be in {wanted}, got {named}; export these languages")
        if columns is not None:
            cells = [cells[each] if each < len(cells) else "" for each in columns]
        elif len(cells) == 4 and all(_CODE.fullmatch(cell.strip()) for cell in cells[2:]):  # languages of the terms
            cells = cells[:2]
        if len(cells) == 2 and not cells[1].strip():  # a spreadsheet writes a separator before an empty cell
            cells = cells[:1]
        source, *targets = map(clean_term, cells)
        if not source or len(targets) > 1 or targets == [""]:
            raise DataError(
                f"{path}:{number}: a line must be a term, or a term, a {_SEPARATORS[separator]} and its translation, "
                f"got {text[:80]!r}; correct it, begin it with # to ignore it, or name the columns in the first line"
            )
        yield number, source, targets[0] if targets else None


def is_header(cells: Sequence[str], languages: Sequence[str] = ()) -> bool:
    """Whether a first row names columns: at least two, not only by words that are usual terms, such as "text"."""
    named = [cell.strip() for cell in cells]
    codes = _codes(named, languages)
    headings = [cell for cell in named if cell in codes or is_heading(cell)]
    if len({cell.casefold() for cell in headings}) < 2 or all(map(_USUAL.fullmatch, headings)):
        return False
    return headings == named if len(named) == 2 else not set(named[:2]).isdisjoint(headings)


def _names_others(cells: Sequence[str], languages: Sequence[str]) -> bool:
    """Whether a first row names the source language of a model, and a target language that is not the model's."""
    codes = [cell.strip() for cell in cells if _CODE.fullmatch(cell.strip()) and is_known_language(cell.strip())]
    return bool(languages) and len(codes) == len(cells) > 1 and match_language(languages[0], codes) is not None


def _codes(named: Sequence[str], languages: Sequence[str]) -> list[str]:
    """Return the cells that are language codes. Unless the languages are known, one is English: ``it`` is a word."""
    codes = [cell for cell in named if _CODE.fullmatch(cell) and is_known_language(cell)]
    is_header = all(match_language(each, codes) for each in languages or ["en"])
    return codes if is_header and len(codes) > 1 else []


def _columns(path: Path, named: Sequence[str], languages: Sequence[str]) -> tuple[int, int]:
    """Return the columns of the terms and of their translations."""
    codes = _codes(named, languages)
    if len(languages) == 2 and codes:
        return named.index(match_language(languages[0], codes) or ""), named.index(
            match_language(languages[1], codes) or ""
        )
    if len(named) == 2:
        return 0, 1
    sources, targets = ([at for at, cell in enumerate(named) if kind.fullmatch(cell)] for kind in (_SOURCE, _TARGET))
    headings = [at for at, cell in enumerate(named) if is_heading(cell)]
    if len(headings) == 2 and not (sources or targets):  # English, Portuguese, Note
        return headings[0], headings[1]
    if len(sources) != 1 or len(targets) != 1:
        wanted = " and ".join(languages) or "source and target"
        raise DataError(
            f"{path}:1: the first line must name one column for terms and one for translations ({wanted}), got "
            f"{', '.join(named)[:200]}; name them source and target"
        )
    return sources[0], targets[0]


def _lines(path: Path, content: bytes) -> Iterator[tuple[int, str]]:
    """Yield the number and text of all lines that are not blank and no comment."""
    for number, line in enumerate(content.split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise DataError(f"{path}:{number}: text must be UTF-8; save the file as UTF-8") from None
        if text.strip() and not text.startswith("#"):
            yield number, text


def _refuse_commas(path: Path, lines: Sequence[tuple[int, str]]) -> None:
    """Raise `DataError` if the columns are separated by commas or semicolons instead of tabs."""
    if any("\t" in text for _, text in lines):
        return
    for separator in (",", ";"):
        if lines and all(text.count(separator) == 1 for _, text in lines):
            number, text = lines[0]
            raise DataError(
                f"{path}:{number}: a term and its translation must be separated by a tab, got "
                f"{_SEPARATORS[separator]}s in all lines, as in {text[:80]!r}; write tabs, or name the file "
                f"{path.with_suffix('.csv').name}"
            )


@dataclass
class _Entry:
    """A concept: its terms, each with its language."""

    line: int
    terms: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class _XmlReader:
    """Collect the terms of TBX (``martif``, ``tbx``) or TMX while expat parses the file."""

    path: Path
    parser: expat.XMLParserType
    entries: list[_Entry] = field(default_factory=list)
    source: str = ""
    _open: list[str] = field(default_factory=list)
    _language: str = ""
    _texts: list[str] = field(default_factory=list)
    _terms: list[str] = field(default_factory=list)  # of one language, or one section of it
    _is_deprecated: bool = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if not self._open and name not in ("martif", "tbx", "tmx"):
            raise DataError(f"{self.path}: {_FORMATS}, got XML with the root <{tag[:40]}>; export it as one of these")
        self._open.append(name)
        if len(self._open) > _MAX_DEPTH:
            raise DataError(f"{self.path} must have at most {_MAX_DEPTH} nested elements, got more; export it again")
        if name in ("termEntry", "conceptEntry", "tu"):
            self.entries.append(_Entry(self.parser.CurrentLineNumber))
        elif name in ("langSet", "langSec", "tuv"):
            self._language = attributes.get("xml:lang", attributes.get("lang", ""))
        elif name == "header":
            self.source = attributes.get("srclang", "")
        if name in ("term", "seg", "termNote"):
            self._texts = []

    def data(self, text: str) -> None:
        if self._open and self._open[-1] in ("term", "seg", "hi", "termNote"):
            self._texts.append(text)

    def end(self, tag: str) -> None:
        name = self._open.pop()
        text = clean_term("".join(self._texts))
        if name in ("term", "seg") and text:
            self._terms.append(text)
        elif name == "termNote":
            self._is_deprecated = self._is_deprecated or text.startswith(("deprecated", "superseded"))
        elif name in ("tig", "ntig", "termSec", "langSet", "langSec", "tuv"):
            if self.entries and not self._is_deprecated:
                self.entries[-1].terms += [(self._language, term) for term in self._terms]
            self._terms, self._is_deprecated = [], False


def _xml_rows(path: Path, content: bytes, languages: Sequence[str]) -> Iterator[_Row]:
    parser = expat.ParserCreate()
    reader = _XmlReader(path, parser)

    def refuse(*_: object) -> None:
        raise DataError(f"{path} declares entities, which is not allowed; export it without")

    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.data, refuse
    try:
        parser.Parse(content, True)
    except (LookupError, ValueError):  # of the decoder; errors of ours are others
        raise DataError(f"{path} is neither UTF-8 nor UTF-16; save the file as UTF-8") from None
    except expat.ExpatError as error:
        raise DataError(f"{path} must be well-formed XML, got: {error}; export it again") from None
    offered = list(dict.fromkeys(language for entry in reader.entries for language, _ in entry.terms if language))
    source, target = _pair(path, offered, reader.source, languages)
    for entry in reader.entries:
        targets = [term for language, term in entry.terms if language == target]
        for (language, term), translation in product(entry.terms, targets[:1]):
            if language == source:
                yield entry.line, term, translation


def _pair(path: Path, offered: Sequence[str], source: str, languages: Sequence[str]) -> tuple[str, str]:
    """Return the languages of the file to use as source and target."""
    if languages:
        found = [match_language(each, offered) for each in languages]
    else:
        first = match_language(source, offered) if source else None
        found = [first, *(each for each in offered if each != first)] if first else list(offered)
    if len(found) != 2 or found[0] is None or found[1] is None:
        wanted = " and ".join(languages) or "two languages"
        fix = "export them" if languages else "give the languages"
        got = f"has terms in {', '.join(offered)[:200]} only" if offered else "has no terms"
        raise DataError(f"{path} {got}, but must have them in {wanted}; {fix}")
    return found[0], found[1]
