"""Marks of machine translations: a later run recognizes what people changed since, and keeps it.

A mark such as ``dragoman:3f2a9c1b77e0-8d2c01aa93f1`` has a digest of the source and one of each form of the
translation. A form that another author wrote has ``x`` instead if it was reviewed, otherwise ``o``. Each format stores
the mark where other tools keep it. The rules for what may be replaced are the same in all formats and are only here.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dragoman.documents.document import Document
from dragoman.reporting.number_format import format_count

_DIGEST = 6  # bytes: an edit has the digest of the text before it once in 2^48 times
_NAME = "dragoman"
_REVIEWED, _OPEN = "x", "o"
_MARK = re.compile(rf"\b{_NAME}:[0-9a-f]{{12}}(?:-(?:[0-9a-f]{{12}}|[xo])){{1,20}}\b")


def find_mark(text: str) -> str:
    """Return the mark in a text; empty if there is none."""
    found = _MARK.search(text)
    return found[0] if found else ""


@dataclass(frozen=True)
class EarlierTranslation:
    """A translation that a file has, and what may be replaced.

    An empty form may be written. A form of this tool, unchanged since, may be written if its source changed. Other
    forms stay; with `again` they may be written as well unless the translation is reviewed.
    """

    source: str
    forms: tuple[str, ...]
    """One text, or one per plural form; an empty text is no translation."""
    mark: str = ""
    is_reviewed: bool = False
    """Whether a person confirmed it: such a translation stays in any case."""

    def writable(self, *, again: bool = False) -> list[bool]:
        """Return for each form whether a translation may be written."""
        source, digests = self._digests
        is_stale = source != _digest(self.source)
        return [
            not form
            or (not self.is_reviewed and digest != _REVIEWED and (again or (is_stale and _digest(form) == digest)))
            for form, digest in zip(self.forms, digests, strict=True)
        ]

    def new_mark(self, forms: Sequence[str], is_new: Sequence[bool]) -> str:
        """Return the mark of the translation with these forms, of which some are new."""
        digests = []
        for form, new, old in zip(forms, is_new, self._digests[1], strict=True):
            is_reviewed = self.is_reviewed or old == _REVIEWED
            digest = _digest(form)
            digests.append(digest if new else _REVIEWED if is_reviewed else digest if digest == old else _OPEN)
        return f"{_NAME}:{'-'.join([_digest(self.source), *digests])}"

    @property
    def is_own(self) -> bool:
        """Whether this tool wrote all of it and nothing changed since."""
        return [_digest(form) for form in self.forms] == self._digests[1]

    @property
    def _digests(self) -> tuple[str, list[str]]:
        """Digest of the source and of each form in the mark; empty if there is none."""
        source, *forms = self.mark.partition(":")[2].split("-")
        return source, [*forms, *[""] * len(self.forms)][: len(self.forms)]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


@dataclass
class UnreviewedCount:
    """Number of translations that stay although they are not reviewed, by author."""

    own: int = 0
    others: int = 0
    has_marks: bool = True
    """Whether the format has a place for marks, so that the authors are known."""

    def add(self, found: EarlierTranslation, *, again: bool) -> None:
        """Count a translation if it has text, is not reviewed and stays."""
        if not found.is_reviewed and any(found.forms) and not any(found.writable(again=again)):
            self.own += found.is_own
            self.others += not found.is_own


@runtime_checkable
class _CountingDocument(Protocol):
    name: str
    unreviewed: UnreviewedCount


def unreviewed_note(document: Document) -> str:
    """Return a note on the unreviewed translations of a document that stay; empty if there are none."""
    if not isinstance(document, _CountingDocument):
        return ""
    count = document.unreviewed
    authors = (
        ["of anyone"]
        if count.others and not count.has_marks
        else [
            *([f"{count.own:,} of an earlier run"] if count.own else []),
            *([f"{count.others:,} of people or other tools"] if count.others else []),
        ]
    )
    if not authors:
        return ""
    has = "which stays" if count.own + count.others == 1 else "which stay"
    total = format_count(count.own + count.others, "unreviewed translation")
    return f"{document.name} has {total}, {has}: {', '.join(authors)}; --again translates again"
