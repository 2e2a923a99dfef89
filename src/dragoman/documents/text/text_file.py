"""Decode text files as strict UTF-8; plain-text documents, in which each line is one segment."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.limits import DocumentLimits
from dragoman.errors import DataError
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText
from dragoman.text.characters import has_letters

LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
"""A line and its line end. Other separators, such as U+2028, do not end a line."""

_BOM = "\ufeff"
_OTHER_ENCODINGS = {b"\xff\xfe\0\0": "UTF-32", b"\0\0\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

_GAP = re.compile(r"(?<=\S) (?=\S)")

# Lines take less time than the paragraphs of other formats.
_MAX_LINES = 200_000
_MAX_SEGMENTS = 100_000


@dataclass(frozen=True)
class TextFile:
    """The text of a file, and whether the file starts with a byte-order mark."""

    text: str
    has_bom: bool
    encoding: str = "utf-8"

    def encoded(self, text: str) -> bytes:
        """Encode another text as the content of this file."""
        return ((_BOM if self.has_bom else "") + text).encode(self.encoding, "replace")


def decode_file(
    name: str, data: bytes, limits: DocumentLimits, *, lines: int = 100_000, encodings: tuple[str, ...] = ("utf-8",)
) -> TextFile:
    """Decode a file; raise `DataError` if it is not UTF-8, is not text, or has too many lines.

    The `encodings` are tried in order; UTF-16 is one only with a byte-order mark.
    """
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            if encoding in encodings:
                codec = "utf-16-le" if mark[0] == 0xFF else "utf-16-be"
                return _checked(name, TextFile(_decoded(name, data[2:], codec), True, codec), limits, lines)
            raise DataError(f"{name} must be UTF-8, got {encoding}; convert it: iconv -f {encoding} -t UTF-8")
    for codec in encodings[1:]:
        if codec != "UTF-16" and not is_valid(data, encodings[0]):
            return _checked(name, TextFile(_decoded(name, data, codec), False, codec), limits, lines)
    text = _decoded(name, data, encodings[0])
    return _checked(name, TextFile(text.removeprefix(_BOM), text.startswith(_BOM)), limits, lines)


def is_valid(data: bytes, codec: str) -> bool:
    """Whether bytes can be decoded."""
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(name: str, data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name} must be {codec.upper()}, got byte {data[error.start]:#04x} at {error.start:,}; save it as UTF-8"
        ) from None


def _checked(name: str, file: TextFile, limits: DocumentLimits, lines: int) -> TextFile:
    text = file.text
    if (place := text.find("\0")) >= 0:
        raise DataError(f"{name} has a zero byte at character {place:,}; check whether it is a binary file")
    limits.check("lines", text.count("\n") + text.count("\r"), lines)
    return file


def one_line(text: str) -> str:
    """Return a translation with spaces for line ends, which would be syntax of the file; positions stay."""
    return text.replace("\r", " ").replace("\n", " ")


class TextEdits:
    """Replacements in a text; the rest stays unchanged."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._changes: list[tuple[int, int, int, str]] = []

    def replace(self, start: int, end: int, new: str) -> None:
        """Replace ``text[start:end]``; ranges must not overlap. Texts inserted at one position keep their order."""
        self._changes.append((start, end, len(self._changes), new))

    @property
    def is_changed(self) -> bool:
        return bool(self._changes)

    def joined(self) -> str:
        fragments: list[str] = []
        done = 0
        for start, end, _, new in sorted(self._changes):
            fragments += [self._text[done:start], new]
            done = end
        return "".join([*fragments, self._text[done:]])


def balanced_breaks(
    text: str,
    lines: int,
    kept: Sequence[tuple[int, int]] = (),
    never: Collection[int] = (),
    gap: re.Pattern[str] = _GAP,
) -> list[int]:
    """Return the positions of the spaces at which to break a text into `lines` lines, or fewer if it has fewer words.

    Each break is the space, or the match of `gap`, nearest to the end of a line of equal length, outside the `kept`
    spans and the positions in `never`.
    """
    starts = [start for start, _ in kept]
    gaps = [found.start() for found in gap.finditer(text)]
    gaps = [place for place in gaps if place not in never and not _is_in(place, starts, kept)]
    breaks = min(lines - 1, len(gaps))
    chosen: list[int] = []
    first = 0  # first gap that is still free
    for left in range(breaks, 0, -1):  # breaks still to be placed, including this one
        begin = chosen[-1] + 1 if chosen else 0
        ideal = begin + (len(text) - begin) / (left + 1)
        last = len(gaps) - left
        place = min(max(bisect_left(gaps, ideal), first), last)
        if place > first and ideal - gaps[place - 1] <= abs(gaps[place] - ideal):
            place -= 1
        chosen.append(gaps[place])
        first = place + 1
    return chosen


def _is_in(place: int, starts: Sequence[int], kept: Sequence[tuple[int, int]]) -> bool:
    before = bisect_right(starts, place) - 1
    return before >= 0 and place < kept[before][1]


def read_txt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a plain-text file."""
    limits.segments = _MAX_SEGMENTS
    return _PlainText(name, data, limits)


class _PlainText:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._file = decode_file(name, data, limits, lines=_MAX_LINES)
        self._starts: list[int] = []
        segments: list[TaggedText] = []
        for line in LINE.finditer(self._file.text):
            if not has_letters(line[1]):
                continue
            limits.check_paragraph(len(line[1]))
            bare = line[1].strip()
            segment = TaggedText(bare, kept=find_placeholders(bare))
            if segment.has_words:
                segments.append(limits.add(segment))
                self._starts.append(line.start(1) + line[1].find(bare))
        self.segments = tuple(segments)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        changes = changed_segments(self.segments, translated)
        for start, segment, tagged in zip(self._starts, self.segments, changes, strict=True):
            if tagged is not None:
                edits.replace(start, start + len(segment.text), one_line(tagged.text))
        return self._file.encoded(edits.joined())
