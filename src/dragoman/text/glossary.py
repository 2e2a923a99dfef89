"""Glossaries: terms with their required translations.

A glossary file is UTF-8 text with one term per line: the source term, a tab and the required translation. A line with
the source term only, or with an empty second column, means that the term must be copied unchanged. The columns of a
file whose name ends in ``.csv`` are separated by commas or semicolons. Blank lines and lines that begin with ``#`` are
ignored, and so are control characters and invisible characters.

Each term is required once, even if it occurs several times in the sentence.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from dragoman.errors import DataError
from dragoman.text.characters import SPACELESS, attaching_class
from dragoman.text.headings import is_heading
from dragoman.text.normalize import Normalizer

__all__ = ["Glossary", "GlossaryTerm", "doubtful_copies", "header_term", "lenient_glossary"]

_clean = Normalizer(form="none")

_SEPARATED = re.compile(r"[,;=|→]")
_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon"}


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term found at ``text[start:end]``: its spelling there and its required translation."""

    source: str
    target: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """Node of a prefix tree of words: following words, and terms that end here by their exact spelling."""

    after: dict[str, _Node] = field(default_factory=dict)
    ends: dict[str, str | None] = field(default_factory=dict)


class Glossary:
    """An immutable set of terms; the time to find them in a text does not depend on their number."""

    def __init__(
        self, terms: Mapping[str, str | None], places: Mapping[str, str] | None = None, *, is_lenient: bool = False
    ) -> None:
        """Take terms that are clean: use `from_file` or `from_dict`. `places` are the locations of source terms.

        In a lenient glossary, terms that a model cannot use are left out; otherwise they are errors.
        """
        self.is_lenient = is_lenient
        self._terms = dict(terms)
        self._places = dict(places or {})

    @classmethod
    def from_dict(cls, terms: Mapping[str, str | None]) -> Self:
        """Make a glossary from source terms and translations; None copies a term unchanged."""
        return cls(terms).normalized(_clean)

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """Read a glossary file. A term with two translations and an invalid line are errors."""
        path = Path(path)
        terms: dict[str, str | None] = {}
        lines: dict[str, int] = {}
        for number, source, target in _rows(path):
            if source in terms and terms[source] != target:
                raise DataError(
                    f"{path}:{number}: a term must have one translation, got {_named(target)} for {source!r} and "
                    f"{_named(terms[source])} in line {lines[source]}; keep one of them"
                )
            terms[source] = target
            lines.setdefault(source, number)
        return cls(terms, {source: f"{path}:{number}: " for source, number in lines.items()})

    def normalized(self, normalize: Callable[[str], str]) -> Self:
        """Return the glossary for texts that were normalized by the same function."""
        normal: dict[str, str | None] = {}
        places: dict[str, str] = {}
        for source, target in self._terms.items():
            place, spelt = self.location(source), normalize(source)
            wanted = None if target is None else normalize(target)
            if self.is_lenient and (not spelt or wanted == "" or spelt in normal):
                continue
            if not spelt or wanted == "":
                raise DataError(
                    f"{place}a term and its translation must hold more than white space and invisible characters, got "
                    f"{source!r} and {target!r}; give no translation for a term that is copied unchanged"
                )
            if normal.setdefault(spelt, wanted) != wanted:
                raise DataError(
                    f"{place}a term must have one translation, got {_named(wanted)} for {source!r} and "
                    f"{_named(normal[spelt])} for another spelling of it; keep one of them"
                )
            places.setdefault(spelt, place)
        return type(self)(normal, places, is_lenient=self.is_lenient)

    def __len__(self) -> int:
        """Return the number of terms."""
        return len(self._terms)

    @property
    def terms(self) -> dict[str, str | None]:
        """Source terms and their translations; None for terms that are copied unchanged."""
        return dict(self._terms)

    @property
    def digest(self) -> str:
        """SHA-256 of the terms in their order; the order decides between terms that differ in case only."""
        return hashlib.sha256(json.dumps(list(self._terms.items())).encode()).hexdigest()

    def location(self, source: str) -> str:
        """Return the location of a source term as a prefix of messages, such as ``terms.tsv:3:``; empty if unknown."""
        return self._places.get(source, "")

    def find_terms(self, text: str) -> list[GlossaryTerm]:
        """Return all occurrences of terms in a text, from left to right.

        Terms match whole words, and any characters in scripts without spaces. The longest of several terms that begin
        at one position is taken; the search continues after it, so terms do not overlap. Of terms that differ in case
        only, the one with the spelling of the text is taken, else the first of the glossary. Any white space matches a
        space.
        """
        spans = [match.span() for match in _cutter().finditer(text)]
        keys = [_key(text[start:end]) for start, end in spans]
        found: list[GlossaryTerm] = []
        place = 0
        while place < len(keys):
            node, following = self._longest(keys, place)
            if node is None:
                place += 1
                continue
            start, end = spans[place][0], spans[following - 1][1]
            source = text[start:end]
            target = node.ends.get(_spelling(source), next(iter(node.ends.values())))
            found.append(GlossaryTerm(source, source if target is None else target, start, end))
            place = following
        return found

    @functools.cached_property
    def _root(self) -> _Node:
        root = _Node()
        for source, target in self._terms.items():
            node = root
            for match in _cutter().finditer(source):
                node = node.after.setdefault(_key(match[0]), _Node())
            node.ends[_spelling(source)] = target
        return root

    def _longest(self, keys: list[str], place: int) -> tuple[_Node | None, int]:
        """Return the node of the longest term that begins at a position, and the position after it."""
        node, best, following = self._root, None, place
        for number in range(place, len(keys)):
            after = node.after.get(keys[number])
            if after is None:
                break
            node = after
            if node.ends:
                best, following = node, number + 1
        return best, following


def doubtful_copies(glossary: Glossary) -> list[str]:
    """Return the terms that are copied unchanged although they look like a term and its translation.

    Several words that all begin with a capital are a name.
    """
    return [
        source
        for source, target in glossary.terms.items()
        if target is None
        and (_SEPARATED.search(source) or not all(word[0].isupper() for word in source.split()))
        and len(_SEPARATED.sub(" ", source).split()) > 1
    ]


def header_term(glossary: Glossary) -> str:
    """Return the first term if it and its translation look like names of columns; otherwise nothing."""
    for source, target in glossary.terms.items():
        return source if target is not None and is_heading(source) and is_heading(target) else ""
    return ""


def lenient_glossary(terms: Mapping[str, str | None]) -> Glossary:
    """Make a glossary in which terms that cannot be used are left out."""
    return Glossary(terms, is_lenient=True).normalized(_clean)


@functools.cache
def _cutter() -> re.Pattern[str]:
    """Return a pattern that splits a text where a term may begin or end: around words and single other characters."""
    marks = attaching_class()
    return re.compile(rf"[{SPACELESS}][{marks}]*|(?:[^\W{SPACELESS}]|[{marks}])+|\s+|.", re.DOTALL)


def _key(cut: str) -> str:
    """Return the form in which words are compared."""
    if cut.isspace():
        return " "
    return cut.casefold() if cut.isascii() else unicodedata.normalize("NFC", cut).casefold()


def _spelling(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _named(target: str | None) -> str:
    return "no translation" if target is None else repr(target)


def _rows(path: Path) -> Iterator[tuple[int, str, str | None]]:
    """Yield line number, source term and translation."""
    lines = list(_lines(path))
    if path.suffix.lower() == ".csv":
        separator = ";" if sum(";" in text for _, text in lines) > sum("," in text for _, text in lines) else ","
    else:
        separator = "\t"
        _refuse_commas(path, lines)
    for number, text in lines:
        cells = text.split("\t") if separator == "\t" else _cells(text, separator)
        if len(cells) == 2 and not cells[1].strip():  # a spreadsheet writes a separator before an empty cell
            cells = cells[:1]
        source, *targets = map(_clean, cells)
        if not source or len(targets) > 1 or targets == [""]:
            raise DataError(
                f"{path}:{number}: a line must be a term, or a term, a {_SEPARATORS[separator]} and its translation, "
                f"got {text[:80]!r}; correct it, or begin it with # to ignore it"
            )
        yield number, source, targets[0] if targets else None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of all lines that are not blank and no comment."""
    try:
        content = path.read_bytes()
    except OSError as error:
        got = "a path that does not exist" if isinstance(error, FileNotFoundError) else f"an error: {error.strerror}"
        raise DataError(f"{path} must be a glossary, got {got}; check its name") from None
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise DataError(f"{path}:{number}: text must be UTF-8, got other bytes; save the file as UTF-8") from None
        if text.strip() and not text.startswith("#"):
            yield number, text


def _refuse_commas(path: Path, lines: list[tuple[int, str]]) -> None:
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


def _cells(text: str, separator: str) -> list[str]:
    """Return the cells of a line of CSV."""
    return next(csv.reader([text], delimiter=separator))
