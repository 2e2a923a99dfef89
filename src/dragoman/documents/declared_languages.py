"""Languages that a document declares, compared with those of its translation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dragoman.documents.document import Document
from dragoman.errors import DataError
from dragoman.language_codes import is_known_language, is_same_language, primary_language
from dragoman.reporting.number_format import format_count

__all__ = ["DeclaredLanguages", "check_declared_target", "declaration_notes", "parse_declared_code"]

_CODE = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8}){0,4}")
_MAX_NOTES = 4  # a file may declare languages for many parts
_UNSPECIFIED = {"mul", "und", "zxx"}  # codes of ISO 639-2 that name no language


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
                "which the output declares"
            )
    return [*dict.fromkeys(notes)][:_MAX_NOTES]


def _is_other(declared: str, language: str) -> bool:
    """Whether two languages differ; regions and scripts may differ, and a language may be unknown (empty)."""
    if not declared or not language:
        return False
    # Only the first subtag is looked up: the cache of `primary_language` has no limit, and clients write declarations.
    one, other = (primary_language(re.split("[-_]", code, maxsplit=1)[0].lower()) for code in (declared, language))
    return not is_same_language(one, other)
