"""md: paragraphs, headings, list items, quotes and table cells; code, HTML, links' targets and front matter stay.

`markdown-it-py` says what each line is. Its writers lay a document out anew, so only the lines of text are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dragoman.documents.document import Document, paired
from dragoman.documents.line_breaks import balanced_breaks
from dragoman.documents.markdown_escapes import escaped
from dragoman.documents.markdown_inline import MarkdownInline, emphases, read_inline, written_inline
from dragoman.documents.text_file import LINE, Splices, decoded
from dragoman.markup.marked import Marked

__all__ = ["read_md"]

_FRONT = re.compile(
    r"---[ \t]*\r?\n(?:.*\r?\n)*?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)|\+\+\+[ \t]*\r?\n(?:.*\r?\n)*?\+\+\+[ \t]*(?:\r?\n|$)"
)


@dataclass(frozen=True)
class _Text:
    """Some lines of text, without what makes them a quote, a list or a heading."""

    start: int
    end: int
    turns: tuple[str, ...]
    """What stands between a line's text and the next's: the end of the line, and the next's marks and indent."""
    is_cell: bool
    inline: MarkdownInline


def read_md(name: str, data: bytes) -> Document:
    """A file of Markdown: CommonMark with tables and strikethrough."""
    return _Markdown(name, data)


def _parser() -> MarkdownIt:
    # Without `text_join` what was escaped stays a token of its own, which says how it was written.
    return MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"]).disable("text_join")


class _Markdown:
    def __init__(self, name: str, data: bytes) -> None:
        self._file = decoded(name, data)
        self._parser = _parser()
        self._texts = [text for text in self._read(self._file.text) if text.inline.inline.marked.has_words]
        self.segments = tuple(text.inline.inline.marked for text in self._texts)

    def write(self, translated: Sequence[Marked], *, language: str) -> bytes:
        splices = Splices(self._file.text)
        for text, marked in zip(self._texts, paired(self.segments, translated), strict=True):
            if marked is not None:
                splices.replace(text.start, text.end, self._written(text, marked))
        return self._file.encoded(splices.joined())

    def _written(self, text: _Text, marked: Marked) -> str:
        beside = {place for span in marked.spans if span.start == span.end for place in (span.start - 1, span.start)}
        breaks = balanced_breaks(marked.text, len(text.turns) + 1 - text.inline.hard_breaks, marked.kept, beside)
        safe = escaped(marked, text.inline.verbatim, breaks)
        written = written_inline(text.inline, safe)
        (block,) = self._parser.parseInline(written)
        if (
            emphases(block.children or []) != text.inline.emphases
        ):  # `**a:**b` is not bold: the rules look at neighbours
            written = written_inline(text.inline, safe, as_html=True)
        if text.is_cell:
            return written.replace("|", "\\|")
        first, *others = written.split("\n")
        turns = [*text.turns, *(["\n"] * len(others))]
        return first + "".join(turn + line for turn, line in zip(turns, others, strict=False))

    def _read(self, text: str) -> Iterator[_Text]:
        lines = list(LINE.finditer(text))
        front = _FRONT.match(text)
        skipped = 0 if front is None else front.end()
        source = "\n".join("" if line.end(1) < skipped else line[1] for line in lines)
        before: Token | None = None
        reached: dict[int, int] = {}  # by line: where its last cell ended
        for token in self._parser.parse(source):
            if token.type == "inline" and token.map and token.content:
                is_cell = before is not None and before.type in {"th_open", "td_open"}
                found = _cell(token, lines, reached) if is_cell else _located(token, lines)
                inline = read_inline(token.content, token.children or [])
                if found and inline:
                    yield _Text(found[0][0], found[-1][1], _turns(found, lines, token.map[0]), is_cell, inline)
            before = token


def _located(token: Token, lines: Sequence[re.Match[str]]) -> list[tuple[int, int]]:
    """Where the lines of a text stand in the file; nothing if they cannot be found as they are."""
    found = []
    assert token.map is not None
    for line, content in zip(lines[token.map[0] :], token.content.split("\n"), strict=False):
        bare = content.strip()
        place = line[1].rfind(bare)
        if place < 0:
            return []
        found.append((line.start(1) + place, line.start(1) + place + len(bare)))
    return found


def _cell(token: Token, lines: Sequence[re.Match[str]], reached: dict[int, int]) -> list[tuple[int, int]]:
    assert token.map is not None
    number = token.map[0]
    line = lines[number]
    raw = token.content.replace("|", "\\|")
    place = line[1].find(raw, reached.get(number, 0))
    if place < 0:
        return []
    reached[number] = place + len(raw)
    return [(line.start(1) + place, line.start(1) + place + len(raw))]


def _turns(found: Sequence[tuple[int, int]], lines: Sequence[re.Match[str]], first: int) -> tuple[str, ...]:
    return tuple(
        lines[first + number - 1][2] + lines[first + number][1][: start - lines[first + number].start(1)]
        for number, (start, _) in enumerate(found)
        if number
    )
