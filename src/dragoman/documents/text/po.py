"""gettext messages (po): translate untranslated and fuzzy messages and mark them as fuzzy.

Fuzzy marks a translation that has not been reviewed; programs do not show it. The lines of a file are edited in place,
because the library `polib` wraps all lines again when it writes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polib

from dragoman.documents.declared_languages import DeclaredLanguages, parse_declared_code
from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.simple_tags import parse_tags, render_tags
from dragoman.documents.text.text_file import LINE, TextEdits, TextFile, decode_file
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from dragoman.text.characters import has_letters

__all__ = ["read_po"]

_KEYWORD = re.compile(r'\s*(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,2})\])?\s+(".*")\s*$')
_CREDITS = "translator-credits"  # names of people; they are in no language
_MORE = re.compile(r'\s*(".*")\s*$')
_QUOTED = re.compile(r'"(?:[^"\\]++|\\.)*+"')  # possessive: no memory per character
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_PLURALS = re.compile(r"nplurals\s*=\s*(\d+)")
_LANGUAGE = re.compile(r"^Language:.*$", re.MULTILINE)
_NEWLINE = re.compile(r"(\n)")
_MAX_PLURALS = 6
_MAX_TAGS = 100_000
_MAX_ESCAPES = 400_000


@dataclass
class _Entry:
    """A message: its texts by keyword, and the positions of the lines that a translation replaces."""

    start: int
    """Position of its first line."""
    flags: tuple[int, int] | None = None
    """Position of the line of flags, if any."""
    old: list[tuple[int, int]] = field(default_factory=list)
    """Positions of lines with the previous source text (``#|``); a new translation removes them."""
    fragments: dict[str, list[str]] = field(default_factory=dict)
    """Quoted strings by keyword, in order."""
    strings: tuple[int, int] | None = None
    """Position of the lines with translations."""
    keywords: int = 0
    """Position of its first keyword."""
    is_fuzzy: bool = False

    @functools.cached_property
    def texts(self) -> dict[str, str]:
        """Texts by keyword; only of a complete message."""
        return {keyword: "".join(fragments) for keyword, fragments in self.fragments.items()}

    @property
    def is_pending(self) -> bool:
        done = [text for keyword, text in self.texts.items() if keyword.startswith("msgstr")]
        return bool(self.texts.get("msgid")) and self.strings is not None and (self.is_fuzzy or not all(done))

    @property
    def is_translated(self) -> bool:
        """Whether it has a translation that stays; a copy of the source is none."""
        sources = {text.strip() for keyword, text in self.texts.items() if keyword.startswith("msgid")}
        done = {text.strip() for keyword, text in self.texts.items() if keyword.startswith("msgstr")}
        is_message = bool(self.texts.get("msgid")) and self.texts["msgid"] != _CREDITS
        return is_message and not self.is_pending and any(map(has_letters, done - sources))


def read_po(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a gettext file, or a template of one."""
    return _Messages(name, data, limits)


class _Messages:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self.name = name
        self._file: TextFile = decode_file(name, data, limits)
        limits.check("tags", self._file.text.count("<"), _MAX_TAGS)
        limits.check("escapes", self._file.text.count("\\"), _MAX_ESCAPES)
        entries = list(_entries(name, self._file.text))
        if not any("msgid" in entry.texts for entry in entries):
            raise DataError(f"{name} must have messages (msgid, msgstr), got none; check the suffix")
        self._end = "\r\n" if "\r\n" in self._file.text else "\n"
        self._header = next((entry for entry in entries if entry.texts.get("msgid") == "" and entry.strings), None)
        header = self._header.texts.get("msgstr", "") if self._header else ""
        plurals = _PLURALS.search(header)
        self._plurals = min(int(plurals[1][:3]), _MAX_PLURALS) if plurals else 0
        self._entries = [entry for entry in entries if entry.is_pending]
        self._texts = [[_lines_of(text, limits) for text in self._sources(entry)] for entry in self._entries]
        self.segments = tuple(
            part.tagged for texts in self._texts for text in texts for part in text if isinstance(part, InlineText)
        )
        stated = _LANGUAGE.search(header)
        target = parse_declared_code(stated[0].partition(":")[2]) if stated else ""
        done = sum(entry.is_translated for entry in entries)
        self.declared = (DeclaredLanguages("", target, done),) if self.segments else ()

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        changed_segments(self.segments, translated)
        new = iter(translated)
        edits = TextEdits(self._file.text)
        if self._header and self.segments:
            self._write_header(edits, language)
        for entry, texts in zip(self._entries, self._texts, strict=True):
            written = ["".join(_written(part, new) for part in text) for text in texts]
            if any(isinstance(part, InlineText) for text in texts for part in text):
                self._write_entry(edits, entry, written)
        return self._file.encoded(edits.joined())

    def _sources(self, entry: _Entry) -> list[str]:
        return [entry.texts[keyword] for keyword in ("msgid", "msgid_plural") if keyword in entry.texts]

    def _write_header(self, edits: TextEdits, language: str) -> None:
        assert self._header is not None
        assert self._header.strings is not None
        text = self._header.texts["msgstr"]
        line = f"Language: {language}"
        named = _LANGUAGE.sub(lambda _: line, text, count=1) if _LANGUAGE.search(text) else f"{text}{line}\n"
        if named != text:
            edits.replace(*self._header.strings, self._keyword("msgstr", named))

    def _write_entry(self, edits: TextEdits, entry: _Entry, written: Sequence[str]) -> None:
        assert entry.strings is not None
        for lines in entry.old:
            edits.replace(*lines, "")
        if not entry.is_fuzzy:
            if entry.flags is None:
                edits.replace(entry.keywords, entry.keywords, f"#, fuzzy{self._end}")
            else:
                edits.replace(entry.flags[0], entry.flags[0] + 2, "#, fuzzy,")
        if len(written) == 1:
            edits.replace(*entry.strings, self._keyword("msgstr", written[0]))
            return
        count = self._plurals or sum(keyword.startswith("msgstr[") for keyword in entry.texts) or 2
        forms = [written[0] if form == 0 and count > 1 else written[1] for form in range(count)]
        keywords = [self._keyword(f"msgstr[{form}]", text) for form, text in enumerate(forms)]
        edits.replace(*entry.strings, "".join(keywords))

    def _keyword(self, keyword: str, text: str) -> str:
        """Format a keyword and its text, with one line of the file per line of the text."""
        fragments = text.splitlines(keepends=True) if "\n" in text else [text]
        quoted = [f'"{polib.escape(fragment)}"' for fragment in fragments]
        first = quoted if len(quoted) == 1 else ['""', *quoted]
        return f"{keyword} {first[0]}{self._end}" + "".join(f"{line}{self._end}" for line in first[1:])


def _lines_of(text: str, limits: DocumentLimits) -> list[InlineText | str]:
    """Split a message at its line ends, which programs rely on, into translatable texts and other strings."""
    parts: list[InlineText | str] = []
    for line in _NEWLINE.split(text):
        limits.check_paragraph(len(line))
        inline = parse_tags(line, _TAG, limits) if has_letters(line) else None
        if inline is not None and inline.tagged.has_words:
            limits.add(inline.tagged)
            parts.append(inline)
        else:
            parts.append(line)
    return parts


def _written(part: InlineText | str, new: Iterator[TaggedText]) -> str:
    return part if isinstance(part, str) else render_tags(part.tree(next(new)))


def _entries(name: str, text: str) -> Iterator[_Entry]:
    """Yield the messages of a file; obsolete messages are comments."""
    entry: _Entry | None = None
    keyword = ""
    for number, line in enumerate(LINE.finditer(text), 1):
        bare = line[1].strip()
        if not bare or bare.startswith("#"):
            if entry is not None and (not bare or entry.strings is not None):
                yield entry
                entry = None
            if bare:
                entry = entry or _Entry(line.start())
                _add_comment(entry, bare, line)
            continue
        found = _KEYWORD.match(line[1])
        if found and entry is not None and entry.strings is not None and found[1] in ("msgctxt", "msgid"):
            yield entry
            entry = None
        more = None if found else _MORE.match(line[1])
        quoted = found[3] if found else more[1] if more else ""
        entry = entry or (_Entry(line.start()) if found else None)
        if entry is None or not _QUOTED.fullmatch(quoted) or (more and not keyword):
            raise DataError(
                f"{name}:{number} must be a line of a message, got {bare[:60]!r}; fix it, or check the file with msgfmt"
            )
        if found:
            keyword = found[1] + (f"[{found[2]}]" if found[2] is not None else "")
            entry.keywords = entry.keywords if entry.fragments else line.start()
        entry.fragments.setdefault(keyword, []).append(polib.unescape(quoted[1:-1]))
        if keyword.startswith("msgstr"):
            entry.strings = (entry.strings[0] if entry.strings else line.start(), line.end())
    if entry is not None:
        yield entry


def _add_comment(entry: _Entry, bare: str, line: re.Match[str]) -> None:
    if bare.startswith("#,"):
        entry.is_fuzzy = "fuzzy" in re.split(r"[,\s]+", bare[2:])
        entry.flags = (line.start(1), line.end())
    elif bare.startswith("#|"):
        entry.old.append(line.span())
