"""Read TMX translation memories with a streaming XML parser; entity declarations, which may be bombs, are rejected."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from xml.parsers import expat

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.formats.single_file import ChunkBuilder, FileSequence, find_language_columns, normalize_code
from dragoman.data.readers.lines import MOST_BYTES, LineFault, ReadProgress, check_text
from dragoman.data.readers.streams import ByteStream, open_stream, stored_size
from dragoman.data.reason_counts import Example
from dragoman.errors import DataError
from dragoman.text.characters import attaches, is_spaceless

_CODES = {"bpt", "ept", "it", "ph", "ut"}  # contain native codes; other elements within a segment contain text
_ELEMENT_BYTES = 400  # of memory per variant or inline element
_REPEATED = "several variants in one language, the first with text taken"


class TmxUnit(NamedTuple):
    """A translation unit: its line, its texts or its fault, and notes."""

    line: int
    texts: tuple[str, str] | None
    fault: LineFault | None
    tags: str = ""
    repeated: str = ""
    """The languages of its variants, if a language is repeated."""


@dataclass(frozen=True)
class TmxChunk:
    """Some translation units."""

    file: str
    units: list[TmxUnit]
    progress: float

    def read(self, *, max_line_bytes: int) -> ChunkPairs:
        draft = ChunkBuilder(self.file)
        for line, texts, known, tags, repeated in self.units:
            fault = known or next((found for text in texts or () if (found := check_text(text, max_line_bytes))), None)
            if fault or not texts:
                assert fault is not None
                draft.add_fault(line, fault)
                continue
            if tags:
                detail = f"elements left out: {tags}"
                draft.notes.add("inline tags removed", 1, [Example(self.file, line, *texts, detail)])
            if repeated:
                draft.notes.add(_REPEATED, 1, [Example(self.file, line, *texts, repeated)])
            draft.add(line, *texts)
        return draft.finish()


class TmxReader(FileSequence):
    """TMX files, one after the other."""

    def __init__(self, files: Sequence[str], source: str, target: str) -> None:
        super().__init__(files)
        self._languages = source, target

    def chunks(self, rows: int) -> Iterator[TmxChunk]:
        """Parse the files in chunks of translation units."""
        progress = ReadProgress([stored_size(name) for name in self._files])
        for name in self._files:
            with open_stream(name) as stream:
                for units in _parse(stream, self._languages, rows):
                    yield TmxChunk(stream.name, units, progress.share(stream))
                progress.finish(stream)


def _parse(stream: ByteStream, languages: tuple[str, str], rows: int) -> Iterator[list[TmxUnit]]:
    document = _Document(stream.name, languages)
    has_any = False
    while block := stream.read():
        document.feed(block)
        while len(document.units) >= rows or document.characters > MOST_BYTES:
            yield document.take(rows)
            has_any = True
    document.finish()
    if document.units:
        yield document.take(rows)
    elif not has_any:
        raise DataError(f"{stream.name} is a TMX document without translation units")


class _Variant:
    """The text of one language in a unit."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.segments = 0
        self._fragments: list[str] = []
        self._is_parted = False

    def add(self, text: str) -> None:
        """Append text; words on both sides of a removed code are separated by a space."""
        if self._is_parted and _is_word(self._fragments[-1][-1]) and _is_word(text[0]):
            self._fragments.append(" ")
        self._is_parted = False
        self._fragments.append(text)

    def part(self) -> None:
        """Note an element without text."""
        self._is_parted = bool(self._fragments)

    def count(self) -> int:
        """Return the number of text fragments so far."""
        return len(self._fragments)

    def text(self) -> str:
        return "".join(self._fragments)


def _is_word(character: str) -> bool:
    return (character.isalnum() or attaches(character)) and not is_spaceless(character)


class _Document:
    """State of the parser."""

    def __init__(self, name: str, languages: tuple[str, str]) -> None:
        self.units: list[TmxUnit] = []
        self.characters = 0  # of the units
        self._name = name
        self._languages = languages
        self._fed = 0
        self._path: list[str] = []  # the elements that are open
        self._line = 0
        self._variants: list[_Variant] = []
        self._tags: dict[str, None] = {}
        self._held = 0  # characters of the unit so far
        self._is_segment = False
        self._codes = 0  # how deep within codes
        self._inline: list[int] = []  # how much text there was when each element within the segment began
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_unknown_entity

    def take(self, rows: int) -> list[TmxUnit]:
        """Return the first units; the size of the rest is small and counts as 0."""
        taken, self.units, self.characters = self.units[:rows], self.units[rows:], 0
        return taken

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
            reason = expat.ErrorString(error.code)
            raise DataError(f"{place} is not well-formed XML at column {error.offset + 1}: {reason}") from error
        except (LookupError, ValueError) as error:
            raise DataError(f"{self._name} must be in an encoding that XML parsers support, got: {error}") from error

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = _local(name)
        if not self._path and local != "tmx":
            raise DataError(f"{self._name} must be a TMX document, got <{name}> as its first element")
        parent = self._path[-1] if self._path else ""
        self._path.append(local)
        if self._is_segment:
            self._start_inline(local)
        elif local == "tu":
            self._line = self._parser.CurrentLineNumber
            self._variants, self._tags, self._held = [], {}, 0
        elif parent == "body":
            fault = LineFault("unknown element", f"<{name}> among the translation units, which are <tu>", "")
            self.units.append(TmxUnit(self._parser.CurrentLineNumber, None, fault))
        elif local == "tuv":
            self._variants.append(_Variant(_language(attributes)))
            self._hold(_ELEMENT_BYTES)
        elif local == "seg" and self._variants:
            self._is_segment = True
            self._codes, self._inline = 0, []
            self._variants[-1].segments += 1

    def _start_inline(self, local: str) -> None:
        self._tags[local] = None
        self._hold(_ELEMENT_BYTES)
        self._codes += local in _CODES or self._codes > 0
        self._inline.append(self._variants[-1].count())
        self._variants[-1].segments += local == "seg"  # one within the other

    def _end(self, _: str) -> None:
        local = self._path.pop()
        if self._is_segment and self._inline:
            self._codes = max(0, self._codes - 1)
            if self._inline.pop() == self._variants[-1].count():
                self._variants[-1].part()
        elif local == "seg":
            self._is_segment = False
        elif local == "tu":
            self.units.append(self._unit())
            self.characters += self._held
            self._variants = []

    def _characters(self, data: str) -> None:
        if self._is_segment and not self._codes:
            self._variants[-1].add(data)
            self._hold(len(data))

    def _hold(self, size: int) -> None:
        """Count what the unit takes in memory."""
        self._held += size
        if self._held > MOST_BYTES:
            self._refuse_size()

    def _unit(self) -> TmxUnit:
        spoken = [variant for variant in self._variants if variant.segments]
        texts: dict[str, str] = {}
        for variant in spoken:
            name = normalize_code(variant.language)
            if not texts.get(name, "").strip():
                texts[name] = variant.text()
        choice = find_language_columns(tuple(name for name in texts if texts[name].strip()), self._languages)
        if choice.names is None:  # a side may be empty; cleaning drops such pairs
            choice = find_language_columns(tuple(texts), self._languages)
        if choice.names is None:
            remedy = "; name one of them in data.source or data.target" if choice.reason == "ambiguous language" else ""
            return TmxUnit(self._line, None, LineFault(choice.reason, choice.detail + remedy, ""))
        source, target = choice.names
        used = [variant for variant in spoken if normalize_code(variant.language) in choice.names]
        several = [variant.language for variant in used if variant.segments > 1]
        if several:
            fault = LineFault("several segments", f"more than one <seg> in a variant in {several[0]}", texts[source])
            return TmxUnit(self._line, None, fault)
        repeated = ", ".join(variant.language for variant in self._variants) if len(used) > 2 else ""
        return TmxUnit(self._line, (texts[source], texts[target]), None, ", ".join(self._tags), repeated)

    def _refuse_entity(self, name: str, *_: object) -> None:
        place = f"{self._name}:{self._parser.CurrentLineNumber}"
        raise DataError(f"{place} must declare no entities, got {name}; replace it by its text")

    def _refuse_unknown_entity(self, name: str, *_: object) -> None:
        place = f"{self._name}:{self._parser.CurrentLineNumber}"
        raise DataError(f"{place} must use XML's own entities only, got &{name};; write the character itself")

    def _refuse_size(self) -> None:
        place = f"{self._name}:{self._parser.CurrentLineNumber}"
        raise DataError(
            f"{place} must be a translation unit, got more than {MOST_BYTES >> 20} MiB in one; is it a TMX file?"
        )


@lru_cache(256)
def _local(name: str) -> str:
    """Return the name of an element in lower case and without its namespace prefix."""
    return name.rpartition(":")[2].lower()


def _language(attributes: dict[str, str]) -> str:
    found = {name.lower(): value for name, value in attributes.items() if _local(name) == "lang"}
    return found.get("xml:lang") or next(iter(found.values()), "")
