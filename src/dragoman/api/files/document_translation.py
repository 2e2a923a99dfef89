"""Translate a document and keep its layout."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragoman.api.translation.markup import EMPTY, translate_markup
from dragoman.api.translation.text_translator import TextTranslator
from dragoman.api.translation.translation import damage_flag
from dragoman.documents.document import (
    Document,
    check_declared_target,
    declaration_notes,
    reader_notes,
    select_target,
)
from dragoman.documents.formats import MAX_BYTES, read_document
from dragoman.documents.translation_marks import unreviewed_note
from dragoman.errors import DataError
from dragoman.evaluation.quality_flags import LEFT_FLAGS, text_flags
from dragoman.markup.tagged_text import TaggedText
from dragoman.reporting.number_format import format_count
from dragoman.text.other_language import MIN_NOTE_SAMPLE, NOTE_SAMPLE, language_note

_TEXTS = 64  # per call: enough for full batches, few enough to report progress
_UNKNOWN = "und"


@dataclass(frozen=True)
class FlaggedTexts:
    """Number of texts with a flag, the number of the first, from 1, and its detail."""

    count: int
    first: int
    detail: str


@dataclass(frozen=True)
class DocumentTranslation:
    """A translated document, and what became of its texts."""

    data: bytes
    texts: int
    """Number of texts to translate."""
    left: Counter[str] = field(default_factory=Counter)
    """Number of texts that are unchanged in the output, by reason: ``placeholders`` that could not be kept, …"""
    flagged: dict[str, FlaggedTexts] = field(default_factory=dict)
    """Texts by quality flag; those of `LEFT_FLAGS` always, others on request."""

    @property
    def summary(self) -> str:
        """One line: ``412 texts: 409 translated, 3 left (2 placeholders, 1 no letters)``."""
        if not self.texts:
            return "no text to translate"
        left = self.left.total()
        why = ", ".join(f"{count:,} {reason}" for reason, count in self.left.most_common())
        return f"{format_count(self.texts, 'text')}: {self.texts - left:,} translated" + (
            f", {left:,} left ({why})" if left else ""
        )


def read_bytes(path: Path) -> bytes:
    """Read a document; raise `DataError` before reading if it is too large."""
    if (size := path.stat().st_size) > MAX_BYTES:
        raise DataError(f"{path} must have at most {MAX_BYTES:,} bytes, got {size:,}; split it")
    return path.read_bytes()


def document_notes(document: Document, languages: tuple[str, str]) -> list[str]:
    """Return notes on a document: texts and translations that stay, and languages that are not the model's.

    Languages are those that it declares, and that of its first texts.
    """
    sample = [segment.text for segment in document.segments[:NOTE_SAMPLE]]
    if len(sample) < MIN_NOTE_SAMPLE:  # a heading alone is rarely certain
        sample = [" ".join(sample)]
    found = language_note(sample, languages[0], name="texts")
    return [
        *declaration_notes(document, *languages),
        *filter(None, (found, unreviewed_note(document))),
        *reader_notes(document),
    ]


def translate_document(
    translator: TextTranslator,
    name: str,
    data: bytes,
    tell: Callable[[int, int], None] = lambda done, total: None,
    *,
    again: bool = False,
    flags: frozenset[str] = frozenset(),
) -> DocumentTranslation:
    """Translate a document; the suffix of `name` determines its format.

    Translations in the file stay; with `again`, those that are not reviewed are replaced. `flags` are names of
    `TEXT_FLAGS` to report. `tell` receives the number of texts done and their total. Raise `DataError` if the document
    cannot be read, or declares another target language and has translations, which would stay.
    """
    return translate_parsed(translator, read_document(name, data, again=again), tell, flags)


def translate_parsed(
    translator: TextTranslator,
    document: Document,
    tell: Callable[[int, int], None],
    flags: frozenset[str] = frozenset(),
) -> DocumentTranslation:
    """Translate a document that is read already, as `translate_document` does."""
    language = translator.languages[1]
    check_declared_target(document, language)
    select_target(document, language or _UNKNOWN)
    segments = document.segments
    translated: list[TaggedText] = []
    damaged: dict[int, str] = {}
    for start in range(0, len(segments), _TEXTS):
        tell(start, len(segments))
        found = translate_markup(translator, segments[start : start + _TEXTS])
        translated += found.texts
        damaged |= {start + place: detail for place, detail in found.damaged.items()}
    tell(len(segments), len(segments))
    data = document.write(translated, language=language or _UNKNOWN)
    wordless = sum(not segment.has_words for segment in segments)
    reasons = Counter(detail if detail == EMPTY else damage_flag(detail) for detail in damaged.values())
    left = reasons + Counter({"no letters": wordless})
    flagged = _flagged(segments, translated, damaged, flags, translator.languages[0])
    return DocumentTranslation(data, len(segments), left, flagged)


def _flagged(
    segments: Sequence[TaggedText],
    translated: Sequence[TaggedText],
    damaged: dict[int, str],
    flags: frozenset[str],
    language: str,
) -> dict[str, FlaggedTexts]:
    """Return the texts by flag: those that are left, which the guard finds, and what the texts alone show."""
    found: dict[str, dict[int, str]] = {}
    for place, detail in damaged.items():
        found.setdefault(damage_flag(detail), {})[place] = detail
    if flags - LEFT_FLAGS:
        for place, (old, new) in enumerate(zip(segments, translated, strict=True)):
            if place not in damaged and old.has_words:
                for flag in text_flags(old.text, new.text, language):
                    if flag.name != "placeholders":
                        found.setdefault(flag.name, {})[place] = flag.detail
    return {
        name: FlaggedTexts(len(texts), min(texts) + 1, texts[min(texts)])
        for name, texts in found.items()
        if name in flags | LEFT_FLAGS
    }
