"""SubRip subtitles (srt): translate the text of each cue; numbers, times and blank lines stay unchanged.

The library `srt` is not used: it renumbers cues and changes line ends and blank lines when it writes a file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.simple_tags import parse_tags, render_tags
from dragoman.documents.text.text_file import LINE, TextEdits, balanced_breaks, decode_file, one_line
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText

_MAX_TAGS = 100_000
_TIMES = re.compile(r"\s*\d+:\d\d:\d\d[,.]\d{1,3}\s*-->\s*\d+:\d\d:\d\d[,.]\d{1,3}")
_NUMBER = re.compile(r"\s*\d+\s*$")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")
_SPEAKER = re.compile(r"(?:</?[A-Za-z][^<>]*>|\{\\[^{}]*\})*+\s*[-\u2010-\u2015]")
_DASH = re.compile(r"(?:\{\\[^{}]*\})*\s*(?:--?|[\u2010-\u2015])\s*")
"""Dash before a speaker's words, or two before the rest of a sentence; it is copied."""


@dataclass(frozen=True)
class _Text:
    """A sentence of a cue over one or more lines."""

    start: int
    end: int
    ends: tuple[str, ...]
    """Line ends inside the sentence."""
    inline: InlineText


def read_srt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a SubRip file."""
    return _Subtitles(name, data, limits)


class _Subtitles:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits) -> None:
        self._file = decode_file(name, data, limits)
        limits.check("tags", self._file.text.count("<") + self._file.text.count("{\\"), _MAX_TAGS)
        cues = list(_cues(self._file.text))
        if not cues:
            raise DataError(f"{name} has no subtitles (00:00:01,000 --> 00:00:02,000); check the suffix")
        self._texts: list[_Text] = []
        for lines in cues:
            limits.check_paragraph(sum(len(line[1]) for line in lines))
            for text in _texts(lines, limits):
                if text.inline.tagged.has_words:
                    limits.add(text.inline.tagged)
                    self._texts.append(text)
        self.segments = tuple(text.inline.tagged for text in self._texts)

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        for text, tagged in zip(self._texts, changed_segments(self.segments, translated), strict=True):
            if tagged is not None:
                edits.replace(text.start, text.end, _written(text, tagged))
        return self._file.encoded(edits.joined())


def _cues(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the text lines of each cue. A blank line ends a cue only before another cue or at the end of the file."""
    lines = list(LINE.finditer(text))
    times = [place for place, line in enumerate(lines) if _TIMES.match(line[1])]
    for place, following in zip(times, [*times, None][1:], strict=True):
        end = len(lines) if following is None else following
        if following is not None and end - 1 > place and _NUMBER.match(lines[end - 1][1]):
            end -= 1
        yield [line for line in lines[place + 1 : end] if line[1].strip()]


def _texts(lines: Sequence[re.Match[str]], limits: DocumentLimits) -> Iterator[_Text]:
    """Yield the texts of a cue: one over all lines, or one per line if each line starts with a speaker's dash."""
    if len(lines) > 1 and all(_SPEAKER.match(line[1]) for line in lines):
        for line in lines:
            yield from _texts([line], limits)
        return
    if lines:
        dash = _DASH.match(lines[0][1])
        start = dash.end() if dash else 0
        joined = " ".join([lines[0][1][start:].strip(), *(line[1].strip() for line in lines[1:])])
        ends = tuple(line[2] for line in lines[:-1])
        yield _Text(lines[0].start(1) + start, lines[-1].end(1), ends, parse_tags(joined, _TAG, limits))


def _written(text: _Text, tagged: TaggedText) -> str:
    breaks = balanced_breaks(tagged.text, len(text.ends) + 1, tagged.kept)
    letters = list(one_line(tagged.text))
    for place in breaks:
        letters[place] = "\n"
    broken = TaggedText("".join(letters), tagged.spans, tagged.kept)
    written = render_tags(text.inline.tree(broken)).split("\n")
    ends = (*text.ends[: len(written) - 1], "")
    return "".join(line + end for line, end in zip(written, ends, strict=True))
