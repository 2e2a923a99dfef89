"""Glossaries: terms with their required translations.

A glossary file is UTF-8 text with one term per line: the source term, a tab and the required translation. A line with
the source term only, or with an empty second column, means that the term must be copied unchanged. The columns of a
file whose name ends in ``.csv`` are separated by commas or semicolons. The first line may name the columns. Blank lines
and lines that begin with ``#`` are ignored, and so are control characters and invisible characters. TBX and TMX files
are read as well.

Each term is required once, even if it occurs several times in the sentence.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from dragoman.errors import DataError
from dragoman.text.characters import SPACELESS, attaching_class
from dragoman.text.glossary_files import clean_term, read_terms

_SEPARATED = re.compile(r"[,;=|→]")
_END = "\x1f"  # of a word: white space, which `_key` replaces


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term found at ``text[start:end]``: its spelling there and its required translation."""

    source: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Index:
    """Terms by their folded spelling, in which the end of every word is marked; memory is linear in their length."""

    folded: Sequence[str]
    """Sorted, so that all terms that begin with a term follow it."""
    prefixes: Sequence[int]
    """For each, the place of the longest other term that it begins with; -1 for none."""
    ends: Sequence[Mapping[str, str | None]]
    """For each, its translations by exact spelling."""
    longest: int

    @classmethod
    def build(cls, terms: Mapping[str, str | None]) -> Self:
        ends: dict[str, dict[str, str | None]] = {}
        for source, target in terms.items():
            folded = _END.join([*map(_key, _cutter(is_ascii=source.isascii()).findall(source)), ""])
            ends.setdefault(folded, {})[_spelling(source)] = target
        ordered = sorted(ends)
        prefixes, open_ = [], [-1]
        for place, each in enumerate(ordered):
            while open_[-1] >= 0 and not each.startswith(ordered[open_[-1]]):
                open_.pop()
            prefixes.append(open_[-1])
            open_.append(place)
        return cls(ordered, prefixes, [ends[each] for each in ordered], max(map(len, ordered), default=0))

    def find(self, folded: str, start: int) -> int:
        """Return the place of the longest term at a position of a folded text; -1 for none."""
        text = folded[start : start + self.longest]
        place = bisect_right(self.folded, text) - 1
        while place >= 0 and not text.startswith(self.folded[place]):
            place = self.prefixes[place]
        return place


class Glossary:
    """An immutable set of terms; the time to find them in a text does not depend on their number."""

    def __init__(
        self, terms: Mapping[str, str | None], places: Mapping[str, str] | None = None, *, is_lenient: bool = False
    ) -> None:
        """Take clean terms; in a lenient glossary, terms that a model cannot use are left out instead of errors."""
        self.is_lenient = is_lenient
        self._terms = dict(terms)
        self._places = dict(places or {})

    @classmethod
    def from_dict(cls, terms: Mapping[str, str | None]) -> Self:
        """Make a glossary from source terms and translations; None copies a term unchanged."""
        given: Any = terms
        if not isinstance(given, Mapping) or not all(
            isinstance(source, str) and isinstance(target, str | None) for source, target in given.items()
        ):
            raise DataError('the terms of a glossary must be a dictionary of texts; write {"dog": "Hund"}')
        return cls(terms).normalized(clean_term)

    @classmethod
    def from_file(cls, path: Path | str, *, languages: Sequence[str] = ()) -> Self:
        """Read a file, in which two translations of a term are an error; `languages` select two of several."""
        path = Path(path)
        terms: dict[str, str | None] = {}
        lines: dict[str, int] = {}
        for number, source, target in read_terms(path, languages):
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
        spans = [match.span() for match in _cutter(is_ascii=text.isascii()).finditer(text)]
        keys = [_key(text[start:end]) + _END for start, end in spans]
        folded, starts = "".join(keys), [0, *accumulate(map(len, keys))]
        found: list[GlossaryTerm] = []
        number = 0
        while number < len(keys):
            place = self._index.find(folded, starts[number])
            if place < 0:
                number += 1
                continue
            following = number + self._index.folded[place].count(_END)
            start, end = spans[number][0], spans[following - 1][1]
            source, ends = text[start:end], self._index.ends[place]
            target = ends.get(_spelling(source), next(iter(ends.values())))
            found.append(GlossaryTerm(source, source if target is None else target, start, end))
            number = following
        return found

    @functools.cached_property
    def characters(self) -> int:
        """Number of characters of all terms and translations."""
        return sum(len(source) + len(target or "") for source, target in self._terms.items())

    @functools.cached_property
    def _index(self) -> _Index:
        return _Index.build(self._terms)


def doubtful_copies(glossary: Glossary) -> list[str]:
    """Return the terms copied unchanged although they look like a term and its translation; names are capitalised."""
    return [
        source
        for source, target in glossary.terms.items()
        if target is None
        and (_SEPARATED.search(source) or not all(word[0].isupper() for word in source.split()))
        and len(_SEPARATED.sub(" ", source).split()) > 1
    ]


def lenient_glossary(terms: Mapping[str, str | None]) -> Glossary:
    """Make a glossary in which terms that cannot be used are left out."""
    return Glossary(terms, is_lenient=True).normalized(clean_term)


@functools.cache
def _cutter(*, is_ascii: bool = False) -> re.Pattern[str]:
    """Return a pattern, faster for ASCII, that splits a text around words and single other characters."""
    if is_ascii:
        return re.compile(r"\w+|\s+|.", re.DOTALL)
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
