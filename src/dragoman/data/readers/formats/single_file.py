"""Shared code of formats with source and target in one file: blocks, chunks, columns of the two languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl

from dragoman.data.reader_protocol import ChunkPairs
from dragoman.data.readers.lines import (
    DecodedLines,
    LineBlockReader,
    LineFault,
    ReadProgress,
    decode_lines,
    note_suspicious_characters,
    split_lines,
    strip_line_ends,
)
from dragoman.data.readers.shifted_lines import note_shifted_lines
from dragoman.data.readers.streams import open_stream, stored_size
from dragoman.data.reason_counts import Example, Tally
from dragoman.data.token_pairs import SIDES
from dragoman.language_codes import canonical_language

_MAX_LISTED = 20
_NAMED_SIDES = (("source", "target"), ("src", "tgt"), ("src", "trg"), ("text", "translation"))
_TAG = re.compile(r"[a-z]{2,3}(?:-(?P<script>[a-z]{4}))?(?:-(?:[a-z]{2}|[0-9]{3}))?")


class LanguageColumns(NamedTuple):
    """The names of source and target, or the reason and detail if they were not found."""

    names: tuple[str, str] | None
    reason: str = ""
    detail: str = ""


@lru_cache(64)
def find_language_columns(names: tuple[str, ...], languages: tuple[str, str]) -> LanguageColumns:
    """Return the name equal to the code except for case, else the only one of the same language (``en-US`` for ``en``).

    Only a script and a region may follow the primary language: ``en_text`` is not found if there is also ``en_id``.
    Without names of the languages, those of the sides are found, such as source and target.
    """
    exact = [_exact(names, language) for language in languages]
    found: list[str] = []
    for language, own, other in zip(languages, exact, reversed(exact), strict=True):
        near = [own] if own is not None else _near((name for name in names if name != other), language)
        if len(near) > 1:
            return LanguageColumns(None, "ambiguous language", f"{list_names(near)} may each be {language}")
        if not near or not _fits(near[0], language) or near[0] in found:
            if sides := _named_sides(names):
                return LanguageColumns(sides)
            return LanguageColumns(None, "missing language", f"no {language}; there is {list_names(names)}")
        found += near
    source, target = found
    return LanguageColumns((source, target))


def _named_sides(names: Sequence[str]) -> tuple[str, str] | None:
    lower = [name.lower() for name in names]
    for source, target in _NAMED_SIDES:
        if lower.count(source) == lower.count(target) == 1:
            return names[lower.index(source)], names[lower.index(target)]
    return None


def list_names(names: Sequence[str]) -> str:
    """Join names for a message: a file may have many thousands."""
    more = f" and {len(names) - _MAX_LISTED:,} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(names[:_MAX_LISTED]) + more or "nothing at all"


@lru_cache(256)
def normalize_code(name: str) -> str:
    """Return a language code in the form in which codes are compared: canonical, in lower case."""
    return canonical_language(name).lower()


def _exact(names: Iterable[str], language: str) -> str | None:
    same = [name for name in names if normalize_code(name) == normalize_code(language)]
    return language if language in same else next(iter(same), None)


def _near(names: Iterable[str], language: str) -> list[str]:
    """Return all names that begin with the primary language, language codes or not."""
    primary = normalize_code(language).partition("-")[0]
    return [name for name in names if normalize_code(name).partition("-")[0] == primary]


def _fits(name: str, language: str) -> bool:
    """Whether a name is a language code without a different script."""
    tag, wanted = _TAG.fullmatch(normalize_code(name)), _TAG.fullmatch(normalize_code(language))
    if not tag:
        return normalize_code(name) == normalize_code(language)
    scripts = {match["script"] for match in (tag, wanted) if match} - {None}
    return len(scripts) < 2


class FileSequence:
    """Base of readers that read one file after the other."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = list(files)

    def files(self) -> list[str]:
        return list(self._files)


@dataclass(frozen=True)
class FileBlock:
    """Some lines of a file, as bytes."""

    file: str
    data: bytes
    first_line: int
    rows: int
    progress: float
    is_last: bool
    has_crlf: bool = False
    """Whether the first line of the file ends with CR LF, as is usual in CSV."""


def read_blocks(files: Sequence[str], rows: int) -> Iterator[FileBlock]:
    """Read files in blocks of lines, one file after the other."""
    progress = ReadProgress([stored_size(name) for name in files])
    for name in files:
        with open_stream(name) as stream:
            cutter, has_crlf = LineBlockReader(stream), False
            while taken := cutter.fill(rows):
                line, data, share = cutter.line, cutter.take(taken), progress.share(stream)
                has_crlf = data.partition(b"\n")[0].endswith(b"\r") if line == 1 else has_crlf
                yield FileBlock(stream.name, data, line, taken, share, not cutter.fill(1), has_crlf)
            progress.finish(stream)


@dataclass(frozen=True)
class BlockChunk:
    """A block of lines to parse."""

    block: FileBlock

    @property
    def file(self) -> str:
        return self.block.file

    @property
    def progress(self) -> float:
        """Share of the corpus read so far."""
        return self.block.progress

    def texts(self, draft: ChunkBuilder, *, max_line_bytes: int) -> pl.Series:
        """Decode the lines, null if invalid; a blank line at the end of the file is dropped and noted."""
        first = self.block.first_line
        notes_returns = not self.block.has_crlf
        data = strip_line_ends(self.block.data, self.file, first, draft.notes, notes_returns=notes_returns)
        lines = split_lines(data, self.block.rows)
        if self.block.is_last and not lines[-1].strip(b" "):
            lines = lines[:-1]
            draft.notes.add("blank line at the end", 1, [Example(self.file, first + len(lines))])
        decoded = decode_lines(lines, max_line_bytes=max_line_bytes)
        draft.add_decoded(decoded, first)
        return decoded.texts


@dataclass
class ChunkBuilder:
    """Collect the pairs, faults and notes of a chunk."""

    file: str
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    faults: Tally = field(default_factory=Tally)
    notes: Tally = field(default_factory=Tally)

    def add(self, line: int, source: str, target: str) -> None:
        self.lines.append(line)
        self.sources.append(source)
        self.targets.append(target)

    def add_fault(self, line: int, fault: LineFault) -> None:
        self.faults.add(fault.reason, 1, [Example(self.file, line, fault.shown, "", fault.detail)])

    def add_decoded(self, decoded: DecodedLines, first_line: int) -> None:
        """Add the faults found while decoding lines."""
        for row, fault in sorted(decoded.faults.items()):
            self.add_fault(first_line + row, fault)

    def finish(self, frame: pl.DataFrame | None = None) -> ChunkPairs:
        """Return the chunk with notes on suspicious characters and misalignment; `frame` replaces the added pairs."""
        if frame is None:
            texts = dict(zip(SIDES, (self.sources, self.targets), strict=True))
            frame = pl.DataFrame(texts, schema=dict.fromkeys(SIDES, pl.String))
            frame = frame.with_columns(line=pl.Series(np.array(self.lines, dtype=np.uint32)))
        note_suspicious_characters(frame, (self.file, self.file), self.notes)
        note_shifted_lines(frame, self.file, self.notes)
        return ChunkPairs(frame, self.file, frame.height + self.faults.total, self.faults, self.notes)
