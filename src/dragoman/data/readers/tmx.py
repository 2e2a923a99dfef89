"""TMX, the exchange format of translation memories: XML, parsed as a stream.

No entity may be declared, so none can grow without bound or fetch a file; nothing outside the document is ever read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

from dragoman.config.corpora import OnBadLine
from dragoman.data.chunk import Lines
from dragoman.data.readers.cut import MOST_BYTES, Progress
from dragoman.data.readers.decode import Fault, check_text
from dragoman.data.readers.languages import pick_language
from dragoman.data.readers.onefile import Draft
from dragoman.data.readers.streams import ByteStream, open_stream, stored_size
from dragoman.data.tally import Example
from dragoman.errors import DataError

__all__ = ["TmxChunk", "TmxReader", "Unit"]

_CODES = {"bpt", "ept", "it", "ph", "ut"}  # hold another format's markup; other elements within a segment hold text
_REPEATED = "several variants in one language, the first taken"


class Unit(NamedTuple):
    """A translation unit: its line, its two texts if it has them, else the languages it has; and what was noted."""

    line: int
    texts: tuple[str, str] | None
    languages: str
    tags: str
    is_repeated: bool


@dataclass(frozen=True)
class TmxChunk:
    """Some translation units."""

    file: str
    units: list[Unit]
    languages: tuple[str, str]
    progress: float

    def read(self, *, on_bad_line: OnBadLine, max_line_bytes: int) -> Lines:
        """Check each unit."""
        draft = Draft(self.file)
        for unit in self.units:
            if unit.texts is None:
                detail = f"not both of {' and '.join(self.languages)}; there is {unit.languages or 'no variant at all'}"
                draft.add_fault(unit.line, Fault("missing language", detail, ""))
                continue
            fault = next((found for text in unit.texts if (found := check_text(text, max_line_bytes))), None)
            if fault:
                draft.add_fault(unit.line, fault)
                continue
            if unit.tags:
                detail = f"elements left out: {unit.tags}"
                draft.notes.add("inline tags removed", 1, [Example(self.file, unit.line, *unit.texts, detail)])
            if unit.is_repeated:
                draft.notes.add(_REPEATED, 1, [Example(self.file, unit.line, *unit.texts, unit.languages)])
            draft.add(unit.line, *unit.texts)
        return draft.finish()


class TmxReader:
    """TMX files, one after the other."""

    def __init__(self, files: Sequence[str], source: str, target: str) -> None:
        self._files = list(files)
        self._languages = source, target

    def files(self) -> list[str]:
        """The files."""
        return list(self._files)

    def chunks(self, rows: int) -> Iterator[TmxChunk]:
        """Parse the files, so many translation units at a time."""
        progress = Progress([stored_size(name) for name in self._files])
        for name in self._files:
            with open_stream(name) as stream:
                for units in _parse(stream, self._languages, rows):
                    yield TmxChunk(stream.name, units, self._languages, progress.share(stream))
                progress.finish(stream)


def _parse(stream: ByteStream, languages: tuple[str, str], rows: int) -> Iterator[list[Unit]]:
    document = _Document(stream.name, languages)
    units: list[Unit] = document.units
    has_any = False
    while piece := stream.read():
        document.feed(piece)
        while len(units) >= rows:
            yield units[:rows]
            del units[:rows]
            has_any = True
    document.finish()
    if units:
        yield units
    elif not has_any:
        raise DataError(f"{stream.name} must hold translation units, got a TMX document without any")


@dataclass
class _Variant:
    language: str
    text: list[str] = field(default_factory=list)
    has_segment: bool = False


class _Document:
    """What the parser is in the middle of."""

    def __init__(self, name: str, languages: tuple[str, str]) -> None:
        self.units: list[Unit] = []
        self._name = name
        self._languages = languages
        self._fed = 0
        self._has_root = False
        self._line = 0
        self._variants: list[_Variant] = []
        self._tags: dict[str, None] = {}
        self._held = 0  # characters of the unit so far
        self._is_segment = False
        self._codes = 0  # how deep within codes
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_unknown_entity

    def feed(self, data: bytes) -> None:
        self._fed += len(data)
        self._parse(data, is_final=False)
        if self._fed - self._parser.CurrentByteIndex > MOST_BYTES:
            self._refuse_size()

    def finish(self) -> None:
        self._parse(b"", is_final=True)

    def _parse(self, data: bytes, *, is_final: bool) -> None:
        try:
            self._parser.Parse(data, is_final)
        except expat.ExpatError as error:
            place = f"{self._name}:{error.lineno}"
            said = expat.ErrorString(error.code)
            raise DataError(
                f"{place} must be well-formed XML, got a fault at column {error.offset + 1}: {said}"
            ) from error
        except (LookupError, ValueError) as error:
            raise DataError(f"{self._name} must be in an encoding that XML readers know, got: {error}") from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._has_root and name.lower() != "tmx":
            raise DataError(f"{self._name} must be a TMX document, got one that begins with <{name}>")
        self._has_root = True
        if self._is_segment:
            self._tags[name] = None
            self._codes += name in _CODES or self._codes > 0
        elif name == "tu":
            self._line = self._parser.CurrentLineNumber
            self._variants, self._tags, self._held = [], {}, 0
        elif name == "tuv":
            self._variants.append(_Variant(attributes.get("xml:lang") or attributes.get("lang") or ""))
        elif name == "seg" and self._variants:
            self._is_segment = self._variants[-1].has_segment = True

    def _end(self, name: str) -> None:
        if self._is_segment and name != "seg":
            self._codes = max(0, self._codes - 1)
        elif name == "seg":
            self._is_segment = False
        elif name == "tu":
            self.units.append(self._unit())
            self._variants = []

    def _characters(self, data: str) -> None:
        if self._is_segment and not self._codes:
            self._variants[-1].text.append(data)
            self._held += len(data)
            if self._held > MOST_BYTES:
                self._refuse_size()

    def _unit(self) -> Unit:
        texts: dict[str, str] = {}
        for variant in self._variants:
            if variant.has_segment:
                texts.setdefault(variant.language, "".join(variant.text))
        found = [pick_language(texts, language) for language in self._languages]
        names = ", ".join(variant.language or "?" for variant in self._variants)
        tags = ", ".join(self._tags)
        source, target = found
        if source is None or target is None:
            return Unit(self._line, None, names, tags, False)
        spoken = [variant.language for variant in self._variants]
        is_repeated = any(
            sum(pick_language([name], code) is not None for name in spoken) > 1 for code in self._languages
        )
        return Unit(self._line, (texts[source], texts[target]), names, tags, is_repeated)

    def _refuse_entity(self, name: str, *_: object) -> None:
        place = f"{self._name}:{self._parser.CurrentLineNumber}"
        raise DataError(f"{place} must declare no entities, got {name}; replace it by the text it stands for")

    def _refuse_unknown_entity(self, name: str, *_: object) -> None:
        place = f"{self._name}:{self._parser.CurrentLineNumber}"
        raise DataError(f"{place} must use XML's own entities only, got &{name};; write the character itself")

    def _refuse_size(self) -> None:
        place = f"{self._name}:{self._parser.CurrentLineNumber}"
        raise DataError(
            f"{place} must be a translation unit, got more than {MOST_BYTES >> 20} MiB in one; is it a TMX file?"
        )
