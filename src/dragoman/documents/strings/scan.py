"""What the scanner of a format finds: the strings of a file with their positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.documents.document import DeclaredLanguages, Document
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.translation_marks import UnreviewedCount
from dragoman.errors import DataError

MAX_KEY = 2_000
"""Maximum length of a key in characters: each string of a nested file has the names of all levels above it."""
_MAX_DEPTH = 40
BETWEEN_FORMS = "\x1e"
"""Separates the plural forms in the text of a string that has all of them."""
MAX_KEYS = 60_000  # of strings and plural forms


class PluralForm(NamedTuple):
    """A string that is one plural form of several."""

    group: str
    """Key of the message without its form."""
    category: str
    start: int
    end: int
    """Span of the whole member, the name of the category and the string."""
    name: int
    """Position of the name of the category."""
    is_ordinal: bool = False
    is_certain: bool = False
    """Whether the file states that it is one; a name that ends in ``_other`` may mean something else."""


class StringUnit(NamedTuple):
    """A string: its key, the span of its notation, and its text."""

    key: str
    start: int
    end: int
    text: str
    form: PluralForm | None = None
    is_numerus: bool = False
    """Whether the notation has all plural forms of the language, as gettext numbers them."""


@dataclass
class StringScan:
    """The strings of a file, in order, and the span of the language that it declares."""

    units: list[StringUnit]
    language: tuple[int, int] | None = None
    declared: tuple[DeclaredLanguages, ...] = ()
    """Languages of a file with source texts and translations."""
    unreviewed: UnreviewedCount = field(default_factory=UnreviewedCount)
    """Translations that stay although they are not reviewed."""
    notes: list[str] = field(default_factory=list)
    """What the user of the file should know."""


@dataclass
class ScanInput:
    """A file for a scanner; `keys` counts the keys so far."""

    name: str
    text: str
    limits: DocumentLimits
    keys: int = 0

    def key(self, parts: Sequence[str]) -> str:
        """Return the key of nested names; a full stop in a name is escaped."""
        key = ".".join(parts)
        if key.count(".") >= len(parts) or "\\" in key:
            key = ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in parts)
        self.keys += 1
        if len(key) > MAX_KEY or self.keys > MAX_KEYS:
            self.limits.check("characters in a key", len(key), MAX_KEY)
            self.limits.check("texts", self.keys, MAX_KEYS)
        return key

    def flat_key(self, name: str) -> str:
        """Return the key of a name in a format without nested names: full stops are part of it."""
        return self.key([name]).replace("\\.", ".")

    def check_depth(self, depth: int) -> None:
        """Raise an error for more levels of names than are read."""
        self.limits.check("levels", depth, _MAX_DEPTH)

    def fault(self, position: int, rule: str, fix: str) -> DataError:
        """Return the error for a place that is not what a format requires."""
        line = self.text.count("\n", 0, position) + 1
        got = " ".join(self.text[position : position + 40].split())
        return DataError(f"{self.name}:{line} must be {rule}, got {got!r}; {fix}")


@dataclass(frozen=True)
class StringFormat:
    """How a format is read and written."""

    scan: Callable[[ScanInput], StringScan]
    encode: Callable[[str, str], str]
    """Returns the notation of a text, given the notation that it replaces."""
    separator: str = ""
    """Text between two members, in addition to white space."""
    encodings: tuple[str, ...] = ("utf-8",)
    choices: re.Pattern[str] | None = None
    """What separates the plural forms that are in one string, if any."""
    keeps_braces: bool = False
    """Whether braces in texts are syntax, so that a translation must have the same number of them."""
    is_bilingual: bool = False
    """Whether a string is written where its translation belongs, so that a copy of the source is one."""
    makes_choices: bool = False
    """Whether two forms in one string become those of the target language."""
    needs_count: bool = False
    """Whether they do so only with the placeholder of a count."""
    needs_texts: bool = False
    """Whether a file without texts is refused."""

    def __call__(self, name: str, data: bytes, limits: DocumentLimits) -> Document:
        """Read a file: a format is the reader of its files."""
        from dragoman.documents.strings.document import StringsDocument  # noqa: PLC0415 -- it imports this module

        return StringsDocument(name, data, limits, self)
