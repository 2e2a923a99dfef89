"""Subtitles (srt, vtt, ass): translate the text of the cues; numbers, times, positions, styles and notes stay.

A sentence that continues in the next cue is one text with an empty tag where the cue ends. The tag moves with its
words, and the translation is cut again there.

The libraries `srt`, `webvtt-py` and `pysubs2` are not used: they renumber cues, change line ends and blank lines, or
drop notes and styles when they write a file.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from dragoman.documents.document import Document, changed_segments, target_tag
from dragoman.documents.inline_markup import InlineText
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.simple_tags import parse_tags, render_tags
from dragoman.documents.text.text_file import LINE, TextEdits, balanced_breaks, decode_file, one_line
from dragoman.errors import DataError
from dragoman.markup.tagged_text import TaggedText
from dragoman.reporting.number_format import format_count

_MAX_TAGS = 100_000
_MAX_CUES = 4  # of one sentence
_WIDTH = 42  # characters: the usual limit of a line
_CUT = "\0"
"""The end of a cue inside a text; a file with this character is rejected."""
_NUMBER = re.compile(r"\s*\d+\s*$")
_TIMES = re.compile(r"\s*\d+:\d\d:\d\d[,.]\d{1,3}\s*-->\s*\d+:\d\d:\d\d[,.]\d{1,3}")
_VTT_TIMES = re.compile(r"\s*(?:\d+:)?\d\d:\d\d\.\d{3}\s*-->\s*(?:\d+:)?\d\d:\d\d\.\d{3}")
_LANGUAGE = re.compile(r"WEBVTT.*(?:\r?\n(?!Language:).+)*\r?\nLanguage:[ \t]*([\w-]+)")
_TAG = re.compile(r"\0|</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")
_VTT_TAG = re.compile(r"\0|</?[A-Za-z][^<>]*>|<[\d:.]+>")
_ASS_TAG = re.compile(r"\0|\{[^{}]*\}|\\h")
_ASS_LINE = re.compile(r"((?:(?!\\[Nn]).)*)(\\[Nn]|$)")
_UNTRANSLATABLE = re.compile(r"\\(?:p[1-9]|[kK][fo]?\d)")
"""Codes of a drawing, and of syllables that are sung: their times are those of the words of the song."""
_KARAOKE = re.compile(r"^Dialogue:.*\\[kK][fo]?\d", re.MULTILINE)
_SPEAKER = re.compile(r"(?:</?[A-Za-z][^<>]*>|\{\\[^{}]*\})*+\s*[-\u2010-\u2015]|<v[ .]")
_DASH = re.compile(r"(?:\{\\[^{}]*\})*\s*(?:--?|[\u2010-\u2015])\s*")
"""Dash before a speaker's words, or two before the rest of a sentence; it is copied."""
_GAP = re.compile(r"(?<=\S) (?=\S)|(?<=[\u3040-\u9fff\uff0c])(?=[\u3040-\u9fff])")
"""Where a line may end: a space, or between two characters of Chinese or Japanese."""


@dataclass(frozen=True)
class _Cue:
    """The lines of a cue, and what both cues of a sentence must have in common."""

    lines: list[re.Match[str]]
    style: str = ""


@dataclass(frozen=True)
class _Piece:
    """The part of a sentence in one cue, over one or more lines."""

    start: int
    end: int
    ends: tuple[str, ...]
    """Line ends inside the part."""
    width: int
    """Characters of its longest line."""


@dataclass(frozen=True)
class _Text:
    pieces: tuple[_Piece, ...]
    raw: str
    style: str
    has_dash: bool
    plain: str
    """The text without tags."""


@dataclass(frozen=True)
class _Segment:
    text: _Text
    inline: InlineText


def read_srt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a SubRip file."""
    return _Subtitles(name, data, limits, "srt")


def read_vtt(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a WebVTT file; notes, styles, regions and identifiers of cues stay."""
    return _Subtitles(name, data, limits, "vtt")


def read_ass(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a file of SubStation Alpha; drawings and karaoke stay."""
    return _Subtitles(name, data, limits, "ass")


class _Subtitles:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, kind: str) -> None:
        self.name = name
        self._file = decode_file(name, data, limits)
        self._kind = kind
        text = self._file.text
        self._line_end = "\\N" if kind == "ass" else "\r\n" if "\r\n" in text else "\n"
        limits.check("tags", text.count("<") + text.count("{") + text.count("\\h"), _MAX_TAGS)
        is_wrong = kind == "vtt" and not text.startswith("WEBVTT")
        cues = (
            []
            if is_wrong
            else list(_dialogues(text, limits) if kind == "ass" else _cues(text, is_strict=kind == "vtt"))
        )
        if not cues:
            example = {
                "srt": "00:00:01,000 --> 00:00:02,000",
                "vtt": "WEBVTT, 00:01.000 --> 00:02.000",
                "ass": "Dialogue: 0,0:00:01.00,…",
            }[kind]
            raise DataError(f"{name} has no subtitles ({example}); check the suffix")
        tag = {"srt": _TAG, "vtt": _VTT_TAG, "ass": _ASS_TAG}[kind]
        texts: list[_Text] = []
        count = 0
        for cue in cues:
            limits.check_paragraph(sum(len(line[1]) for line in cue.lines))
            for found in _texts(cue, tag):
                count += 1
                limits.check("paragraphs", count, limits.segments)
                joined = _joined(texts[-1], found) if texts else None
                texts[-1:] = [joined] if joined else [*texts[-1:], found]
        segments = (_Segment(found, parse_tags(found.raw, tag, limits)) for found in texts)
        self._segments = [each for each in segments if each.inline.tagged.has_words]
        self.segments = tuple(limits.add(each.inline.tagged) for each in self._segments)
        songs = len(_KARAOKE.findall(text)) if kind == "ass" else 0
        self.notes = [f"{format_count(songs, 'line')} of karaoke, with a time for each syllable, left"] if songs else []

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        for segment, tagged in zip(self._segments, changed_segments(self.segments, translated), strict=True):
            if tagged is not None:
                for piece, written in zip(segment.text.pieces, self._written(segment, tagged), strict=True):
                    edits.replace(piece.start, piece.end, written)
        if edits.is_changed and self._kind == "vtt" and (declared := _LANGUAGE.match(self._file.text)):
            edits.replace(*declared.span(1), target_tag(declared[1], language))
        return self._file.encoded(edits.joined())

    def _written(self, segment: _Segment, tagged: TaggedText) -> list[str]:
        """Return the translation for each cue, with its line ends."""
        plain = one_line(tagged.text).replace(_CUT, " ")
        pieces = segment.text.pieces
        cuts = _cuts(segment.inline, tagged)
        marks = self._escaped(tagged)
        for place in cuts:
            marks[place] = _CUT if plain[place] == " " else _CUT + plain[place]
        edges = [0, *cuts, len(plain)]
        for piece, (start, end) in zip(pieces, pairwise(edges), strict=False):
            wanted = max(len(piece.ends) + 1, min(2, -(-(end - start) // max(piece.width, _WIDTH))))
            kept = [(first - start, last - start) for first, last in tagged.kept if start <= first < end]
            for place in balanced_breaks(plain[start:end], wanted, kept, gap=_GAP):
                here = place + start
                marks[here] = "\n" if plain[here] == " " else "\n" + plain[here]
        cues = render_tags(segment.inline.tree(replace(tagged, text=plain).with_marks(marks))).split(_CUT)
        cues += ["\N{HORIZONTAL ELLIPSIS}"] * (len(pieces) - len(cues))  # fewer words than cues
        return [self._with_line_ends(piece, cue) for piece, cue in zip(pieces, cues, strict=True)]

    def _escaped(self, tagged: TaggedText) -> dict[int, str]:
        """Return what is written instead of the characters of a translation that would be syntax of the file."""
        syntax = {"srt": {}, "vtt": {"<": "&lt;", ">": "&gt;", "&": "&amp;"}, "ass": {"{": "(", "}": ")", "\\": "/"}}
        kept = {place for start, end in tagged.kept for place in range(start, end)}
        special = syntax[self._kind]
        return {p: special[letter] for p, letter in enumerate(tagged.text) if letter in special and p not in kept}

    def _with_line_ends(self, piece: _Piece, text: str) -> str:
        lines = text.strip(" ").split("\n")
        ends = chain(piece.ends[: len(lines) - 1], [self._line_end] * (len(lines) - 1 - len(piece.ends)), [""])
        return "".join(line + end for line, end in zip(lines, ends, strict=True))


def _cues(text: str, *, is_strict: bool) -> Iterator[_Cue]:
    """Yield the text lines of each cue. In SubRip a blank line ends a cue only before another cue or the end."""
    lines = list(LINE.finditer(text))
    pattern = _VTT_TIMES if is_strict else _TIMES
    times = [place for place, line in enumerate(lines) if pattern.match(line[1])]
    for place, following in zip(times, [*times, None][1:], strict=True):
        end = len(lines) if following is None else following
        if following is not None and end - 1 > place and _NUMBER.match(lines[end - 1][1]):
            end -= 1
        if is_strict:
            end = next((number for number in range(place + 1, end) if not lines[number][1].strip()), end)
        yield _Cue([line for line in lines[place + 1 : end] if line[1].strip()])


def _dialogues(text: str, limits: DocumentLimits) -> Iterator[_Cue]:
    """Yield the lines of each event that is shown and is no drawing; the names of its columns precede it."""
    columns: list[str] = []
    for line in LINE.finditer(text):
        kind, _, rest = line[1].partition(":")
        if kind.strip() == "Format":
            columns = [name.strip() for name in rest.split(",")]
        elif kind.strip() == "Dialogue" and columns[-1:] == ["Text"]:
            values = rest.split(",", len(columns) - 1)
            if len(values) == len(columns) and not _UNTRANSLATABLE.search(values[-1]):
                end = line.end(1)
                limits.check_paragraph(len(values[-1]))
                named = dict(zip(columns, values, strict=True))
                found = _ASS_LINE.finditer(text, end - len(values[-1]), end)
                style = f"{named.get('Layer')}\n{named.get('Style')}\n{named.get('Name')}"
                yield _Cue([each for each in found if each[1].strip()], style)


def _texts(cue: _Cue, tag: re.Pattern[str]) -> Iterator[_Text]:
    """Yield the texts of a cue: one over all lines, or one per line if each line starts with another speaker."""
    lines = cue.lines
    if len(lines) > 1 and all(_SPEAKER.match(line[1]) for line in lines):
        for line in lines:
            yield from _texts(replace(cue, lines=[line]), tag)
        return
    if lines:
        dash = _DASH.match(lines[0][1])
        start = dash.end() if dash else 0
        parts = [lines[0][1][start:].strip(), *(line[1].strip() for line in lines[1:])]
        ends = tuple(line[2] for line in lines[:-1])
        piece = _Piece(lines[0].start(1) + start, lines[-1].end(1), ends, max(map(len, parts)))
        raw = " ".join(parts)
        yield _Text((piece,), raw, cue.style, bool(dash), tag.sub("", raw).strip())


def _joined(last: _Text, text: _Text) -> _Text | None:
    """Return the last text with this one if its sentence continues."""
    is_other = text.has_dash or _SPEAKER.match(text.raw) is not None
    if is_other or last.style != text.style or len(last.pieces) == _MAX_CUES:
        return None
    before, after = last.plain[-1:], text.plain[:1]
    if not (before.isalnum() or before in (",", "'", "\u2019")) or not after.islower():
        return None
    pieces = (*last.pieces, *text.pieces)
    return replace(last, pieces=pieces, raw=f"{last.raw} {_CUT}{text.raw}", plain=f"{last.plain} {text.plain}")


def _cuts(inline: InlineText, tagged: TaggedText) -> list[int]:
    """Return where to cut a translation into its cues: the gaps between words that are nearest to their tags."""
    ends = {number for number, tag in enumerate(inline.tags) if not (tag.opening or tag.closing)}
    wanted = sorted(span.start for span in tagged.spans if span.tag in ends)
    kept = {place for start, end in tagged.kept for place in range(start + 1, end)}
    gaps = [found.start() for found in _GAP.finditer(tagged.text) if found.start() not in kept]
    cuts: list[int] = []
    first = 0
    for number, place in enumerate(wanted):
        last = len(gaps) - (len(wanted) - number)
        if last < first:
            break
        at = min(max(bisect_left(gaps, place), first), last)
        if at > first and place - gaps[at - 1] <= gaps[at] - place:
            at -= 1
        cuts.append(gaps[at])
        first = at + 1
    return cuts
