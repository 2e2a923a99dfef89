"""Glossaries: terms whose translation somebody has laid down.

A glossary file is UTF-8 text with one term a line: the source term, a tab, and the translation it must get. A line with
the source term alone says that the term is not translated but kept as it stands in the text. Blank lines and lines that
begin with ``#`` are left out. Control characters and invisible ones do not count.

Each term is required once, however often it stands in the sentence.
"""

from __future__ import annotations

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
from dragoman.text.normalize import Normalizer

__all__ = ["Glossary", "Term"]

_clean = Normalizer(form="none")


@dataclass(frozen=True, slots=True)
class Term:
    """A term that was found in a text, at ``text[start:end]``: how it stands there, and how to translate it."""

    source: str
    target: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """What may follow some words: other words, or the end of terms, each by its exact spelling."""

    after: dict[str, _Node] = field(default_factory=dict)
    ends: dict[str, str | None] = field(default_factory=dict)


class Glossary:
    """Terms, ready to be found in texts in time that does not grow with their number. Never changes once made."""

    def __init__(self, terms: Mapping[str, str | None], places: Mapping[str, str] | None = None) -> None:
        """Take terms that are clean already; `read` and `of` see to that. `places` says where source terms stand."""
        self._terms = dict(terms)
        self._places = dict(places or {})

    @classmethod
    def of(cls, terms: Mapping[str, str | None]) -> Self:
        """Make a glossary of source terms and their translations; None keeps a term as it stands."""
        return cls(terms).normalized(_clean)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a glossary file. The same term with two translations is an error, and so is a line that is no term."""
        path = Path(path)
        terms: dict[str, str | None] = {}
        lines: dict[str, int] = {}
        for number, source, target in _rows(path):
            if source in terms and terms[source] != target:
                raise DataError(
                    f"{path}:{number}: a term must have one translation, got {_named(target)} for {source!r} and "
                    f"{_named(terms[source])} in line {lines[source]}; delete one of them"
                )
            terms[source] = target
            lines.setdefault(source, number)
        return cls(terms, {source: f"{path}:{number}: " for source, number in lines.items()})

    def normalized(self, normalize: Callable[[str], str]) -> Self:
        """Return the terms as they are found in texts that were normalised likewise."""
        normal: dict[str, str | None] = {}
        places: dict[str, str] = {}
        for source, target in self._terms.items():
            place, spelt = self.place(source), normalize(source)
            wanted = None if target is None else normalize(target)
            if not spelt or wanted == "":
                raise DataError(
                    f"{place}a term and its translation must hold more than white space and invisible characters, got "
                    f"{source!r} and {target!r}; give no translation for a term that is kept as it stands"
                )
            if normal.setdefault(spelt, wanted) != wanted:
                raise DataError(
                    f"{place}a term must have one translation, got {_named(wanted)} for {source!r} and "
                    f"{_named(normal[spelt])} for another spelling of it; delete one of them"
                )
            places.setdefault(spelt, place)
        return type(self)(normal, places)

    def __len__(self) -> int:
        """How many terms there are."""
        return len(self._terms)

    @property
    def terms(self) -> dict[str, str | None]:
        """Source terms and their translations, None for those that are kept as they stand."""
        return dict(self._terms)

    @property
    def digest(self) -> str:
        """SHA-256 of the terms in their order, on which depends what is found."""
        return hashlib.sha256(json.dumps(list(self._terms.items())).encode()).hexdigest()

    def place(self, source: str) -> str:
        """Where a source term stands, as messages begin: ``terms.tsv:3: ``; empty where it is not known."""
        return self._places.get(source, "")

    def found_in(self, text: str) -> list[Term]:
        """Return the terms in a text, one for each place where one stands, from left to right.

        Terms are whole words; in scripts without spaces they may stand anywhere. Where several begin at one place the
        longest is taken, and the next is looked for behind it, so no two overlap. Of terms that differ in case only,
        the one that is spelt as in the text is taken, or else the first of the glossary. Any white space stands for a
        space.
        """
        spans = [match.span() for match in _cutter().finditer(text)]
        keys = [_key(text[start:end]) for start, end in spans]
        found: list[Term] = []
        place = 0
        while place < len(keys):
            node, following = self._longest(keys, place)
            if node is None:
                place += 1
                continue
            start, end = spans[place][0], spans[following - 1][1]
            as_it_stands = text[start:end]
            target = node.ends.get(_spelling(as_it_stands), next(iter(node.ends.values())))
            found.append(Term(as_it_stands, as_it_stands if target is None else target, start, end))
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
        """The end of the longest term that begins at a place, and the place behind it."""
        node, best, following = self._root, None, place
        for number in range(place, len(keys)):
            after = node.after.get(keys[number])
            if after is None:
                break
            node = after
            if node.ends:
                best, following = node, number + 1
        return best, following


@functools.cache
def _cutter() -> re.Pattern[str]:
    """Cut text where a term may begin or end: around words, and around each character that is not part of one."""
    marks = attaching_class()
    return re.compile(rf"[{SPACELESS}][{marks}]*|(?:[^\W{SPACELESS}]|[{marks}])+|\s+|.", re.DOTALL)


def _key(cut: str) -> str:
    """What words have in common that count as the same."""
    if cut.isspace():
        return " "
    return cut.casefold() if cut.isascii() else unicodedata.normalize("NFC", cut).casefold()


def _spelling(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(text.split()))


def _named(target: str | None) -> str:
    return "no translation" if target is None else repr(target)


def _rows(path: Path) -> Iterator[tuple[int, str, str | None]]:
    """Yield line number, source term and translation."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} must be a glossary, got an error: {error.strerror}; check its name") from None
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise DataError(f"{path}:{number}: text must be UTF-8, got other bytes; save the file as UTF-8") from None
        if not text.strip() or text.startswith("#"):
            continue
        source, *targets = map(_clean, text.split("\t"))
        if not source or len(targets) > 1 or targets == [""]:
            raise DataError(
                f"{path}:{number}: a line must be a term, or a term, a tab and its translation, got {text[:80]!r}; "
                "mend it, or begin it with # to leave it out"
            )
        yield number, source, targets[0] if targets else None
