"""A document that was read: its segments, and the languages that it declares."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dragoman.errors import DataError
from dragoman.language_codes import is_known_language, match_rank
from dragoman.markup.tagged_text import TaggedText
from dragoman.reporting.number_format import format_count

_CODE = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_MAX_NOTES = 4  # a file may declare languages for many parts
_UNSPECIFIED = {"mul", "und", "zxx"}  # codes of ISO 639-2 that name no language


class Document(Protocol):
    """A parsed file that can be written with translations."""

    @property
    def segments(self) -> tuple[TaggedText, ...]:
        """Texts to translate, in file order; each is a paragraph, a heading, a table cell or a line."""
        ...

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        """Return the file with one translation per segment; `language` is the code of the target language.

        If a translation equals its segment, that part of the file stays unchanged. In a file with translations, a copy
        of the source is a translation (a name, for instance); the segment itself, the same object, is none, and its
        unit gets no translation.
        """
        ...


@runtime_checkable
class _SelectingDocument(Protocol):
    def select(self, language: str) -> None: ...


def select_target(document: Document, language: str) -> None:
    """Leave out the segments of a file of several languages that have a translation to this one."""
    if isinstance(document, _SelectingDocument):
        document.select(language)


@runtime_checkable
class _NotedDocument(Protocol):
    name: str
    notes: Sequence[str]


def reader_notes(document: Document) -> list[str]:
    """Return what the reader of a document found that its user should know, such as texts that must stay."""
    return [f"{document.name}: {note}" for note in document.notes] if isinstance(document, _NotedDocument) else []


def changed_segments(segments: Sequence[TaggedText], translated: Sequence[TaggedText]) -> list[TaggedText | None]:
    """Return the translations, with None for each that equals its segment."""
    if len(segments) != len(translated):
        raise ValueError(f"translated must have {len(segments)} items, one per segment, got {len(translated)}")
    return [None if new == old else new for old, new in zip(segments, translated, strict=True)]


@dataclass(frozen=True)
class DeclaredLanguages:
    """Languages of a document, or of one of the files in it, that has texts to translate; empty if not declared."""

    source: str = ""
    target: str = ""
    translations: int = 0
    """Number of its texts that have a translation already, which is not changed."""


@runtime_checkable
class _DeclaringDocument(Protocol):
    name: str
    declared: tuple[DeclaredLanguages, ...]


def parse_declared_code(text: str) -> str:
    """Return the language code of a declaration; empty if it is no code of a language.

    What gettext may append, an encoding or a variant such as ``@latin``, is left out.
    """
    code = re.split(r"[.@]", text.strip(), maxsplit=1)[0]
    found = _CODE.fullmatch(code)
    is_language = found and is_known_language(found[1]) and found[1].lower() not in _UNSPECIFIED
    return code if is_language else ""


def target_tag(declared: str, language: str, *, separator: str = "-") -> str:
    """Return the tag that a file declares after a translation to `language`: its own, unless it names another language.

    A file for ``pt-BR`` keeps its tag if a model translates to ``pt``. `separator` joins the parts of a new tag.
    """
    code = parse_declared_code(declared)
    is_other = not code or _is_other(code, parse_declared_code(language))
    return language.replace("-", separator) if is_other else declared.strip()


def check_declared_target(document: Document, target: str) -> None:
    """Raise `DataError` if a document declares another target language and has translations, which would stay."""
    if not isinstance(document, _DeclaringDocument):
        return
    for part in document.declared:
        if part.translations and _is_other(part.target, target):
            raise DataError(
                f"{document.name} must be translated to {part.target}, the target language that it declares, got "
                f"{target} and {format_count(part.translations, 'translation')} in the file, which would stay; "
                "translate a file without translations, or correct the declared language"
            )


def declaration_notes(document: Document, source: str, target: str) -> list[str]:
    """Return notes on languages that a document declares and that are not those of the model."""
    if not isinstance(document, _DeclaringDocument):
        return []
    notes = []
    for part in document.declared:
        if _is_other(part.source, source):
            notes.append(
                f"{document.name} declares {part.source} as its source language; the model translates from {source}"
            )
        if _is_other(part.target, target) and not part.translations:
            notes.append(
                f"{document.name} declares {part.target} as its target language; the model translates to {target}, "
                f"and the output declares {target}"
            )
    return [*dict.fromkeys(notes)][:_MAX_NOTES]


def _is_other(declared: str, language: str) -> bool:
    """Whether two languages or their scripts differ; regions may differ, and a language may be unknown (empty)."""
    return bool(declared and language) and match_rank(declared, language) is None
