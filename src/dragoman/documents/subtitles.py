"""srt: the text of each cue is translated; numbers, times and blank lines stay as they are.

The library `srt` numbers cues anew, and changes line ends and blank lines, when it writes what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.document import Document, paired
from dragoman.documents.inline import Inline
from dragoman.documents.line_breaks import balanced_breaks
from dragoman.documents.tagged_text import read_tagged, written_tagged
from dragoman.documents.text_file import LINE, Splices, decoded
from dragoman.errors import DataError
from dragoman.markup.marked import Marked

__all__ = ["read_srt"]

_TIMES = re.compile(r"\s*\d+:\d\d:\d\d[,.]\d{1,3}\s*-->\s*\d+:\d\d:\d\d[,.]\d{1,3}")
_NUMBER = re.compile(r"\s*\d+\s*$")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")
_SPEAKER = re.compile(r"(?:</?[A-Za-z][^<>]*>|\{\\[^{}]*\})*\s*[-\u2010-\u2015]")
_DASH = re.compile(r"(?:\{\\[^{}]*\})*\s*[-\u2010-\u2015]\s*")
"""What stands before a speaker's words, and stays."""


@dataclass(frozen=True)
class _Text:
    """A sentence of a cue over one or more lines."""

    start: int
    end: int
    ends: tuple[str, ...]
    """The line ends within it."""
    inline: Inline


def read_srt(name: str, data: bytes) -> Document:
    """A file of subtitles."""
    return _Subtitles(name, data)


class _Subtitles:
    def __init__(self, name: str, data: bytes) -> None:
        self._file = decoded(name, data)
        cues = list(_cues(self._file.text))
        if not cues:
            raise DataError(f"{name} must hold subtitles (00:00:01,000 --> 00:00:02,000), got none; check the suffix")
        self._texts = [text for lines in cues for text in _texts(lines) if text.inline.marked.has_words]
        self.segments = tuple(text.inline.marked for text in self._texts)

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        splices = Splices(self._file.text)
        for text, marked in zip(self._texts, paired(self.segments, translated), strict=True):
            if marked is not None:
                splices.replace(text.start, text.end, _written(text, marked))
        return self._file.encoded(splices.joined())


def _cues(text: str) -> Iterator[list[re.Match[str]]]:
    """The lines of text of each cue. A blank line ends a cue only if another cue, or nothing, comes after it."""
    lines = list(LINE.finditer(text))
    times = [place for place, line in enumerate(lines) if _TIMES.match(line[1])]
    for place, following in zip(times, [*times, None][1:], strict=True):
        end = len(lines) if following is None else following
        if following is not None and end - 1 > place and _NUMBER.match(lines[end - 1][1]):
            end -= 1
        yield [line for line in lines[place + 1 : end] if line[1].strip()]


def _texts(lines: Sequence[re.Match[str]]) -> Iterator[_Text]:
    """The sentences of a cue: one over all its lines; but where each line is a speaker's, one each."""
    if len(lines) > 1 and all(_SPEAKER.match(line[1]) for line in lines):
        for line in lines:
            yield from _texts([line])
        return
    if lines:
        dash = _DASH.match(lines[0][1])
        said = dash.end() if dash else 0
        joined = " ".join([lines[0][1][said:].strip(), *(line[1].strip() for line in lines[1:])])
        ends = tuple(line[2] for line in lines[:-1])
        yield _Text(lines[0].start(1) + said, lines[-1].end(1), ends, read_tagged(joined, _TAG))


def _written(text: _Text, marked: Marked) -> str:
    breaks = balanced_breaks(marked.text, len(text.ends) + 1, marked.kept)
    letters = list(marked.text)
    for place in breaks:
        letters[place] = "\n"
    broken = Marked("".join(letters), marked.spans, marked.kept)
    written = written_tagged(text.inline.tree(broken)).split("\n")
    ends = (*text.ends[: len(written) - 1], "")
    return "".join(line + end for line, end in zip(written, ends, strict=True))
