"""Markdown and MDX documents: translate text and titles, and keep code, HTML blocks and link targets.

`markdown-it-py` parses the document. Its renderers would change the layout, so only the lines of text are replaced.
"""

import json
import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from dragoman.documents.document import Document, changed_segments
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.markdown.extensions import (
    INLINE_NOTATION,
    add_inline_notation,
    add_jsx,
    hide_jsx,
    hide_notation,
)
from dragoman.documents.markdown.inline import MarkdownInline, emphases, parse_inline, render_inline
from dragoman.documents.text.text_file import LINE, TextEdits, balanced_breaks, decode_file, one_line
from dragoman.markup.protected_spans import find_placeholders
from dragoman.markup.tagged_text import TaggedText

_JSX = re.compile(r"[{}<]")
"""Characters that MDX reads as code anywhere."""
_MARKUP = re.compile(
    rf"[`\[\]]|\\(?=[{re.escape(string.punctuation)}\n]|\Z)|(?<=\S)\*|\*(?=\S)|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
    r"|(?<=~)~|~(?=~)|(?<=\s)#(?=#*\Z)"
    r"|(?!(?<=[^\W_])_(?=[^\W_]))(?!(?<!\S)_(?!\S))_"  # neither between letters nor between spaces
)
"""Characters that may be markup anywhere in a line."""
_LINE_START = re.compile(
    r"[ \t]*(#{1,6}(?=\s|$)|>|[-+*](?=\s|$)|=+[ \t]*$|-+[ \t]*$|(?:[-_*][ \t]*){3,}$|~~~|\|)", re.MULTILINE
)
_VERBATIM = (re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)"), re.compile(r"<[^<>\s]*>"), INLINE_NOTATION)
_NUMBERED = re.compile(r"[ \t]*(\d{1,9})[.)](?=\s|$)")

_FRONT = re.compile(  # a line matches in one way only: otherwise the time is exponential
    r"---[ \t]*\r?\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)"
    r"|\+\+\+[ \t]*\r?\n(?:[^\n]*\n)*?\+\+\+[ \t]*(?:\r?\n|$)"
)

_FIELD = re.compile(
    r"^(?:title|subtitle|description|summary|excerpt|tagline|sidebar_label|pagination_label|linkTitle)"
    r"(?::[ \t]+|[ \t]*=[ \t]*)(\"(?:[^\"\\\n]|\\[^\n])*\"|'[^'\n]*'|[^\W\d_][^\r\n#:\"']*)[ \t]*\r?$",
    re.MULTILINE,
)
"""Fields of the front matter with text for readers, on one line; a text without quotes has no special character."""
_PLAIN_FIELD = re.compile(r"[^\W\d_][^\r\n#:\"']*[^\s#:\"']")

# Parsing Markdown takes several times as long as other formats.
_MAX_LINES = 15_000
_MAX_SEGMENTS = 8_000
_MAX_MISSES = 20  # cells of a line that are not found in it: each search takes the time of the line


def escape_markup(
    tagged: TaggedText,
    verbatim: Collection[str],
    breaks: Sequence[int],
    starts: Iterable[int],
    *,
    is_mdx: bool = False,
) -> TaggedText:
    """Escape the markup characters of a translation, and replace the spaces at `breaks` by line breaks.

    Strings in `verbatim`, such as code, are not escaped. `starts` are other positions at which a line starts.
    """
    letters = list(one_line(tagged.text))
    for place in breaks:
        letters[place] = "\n"
    text = "".join(letters)
    edges = {edge for span in tagged.spans for edge in (span.start, span.end)}
    free = [True] * len(text)
    found = chain.from_iterable(pattern.finditer(text) for pattern in _VERBATIM)
    for start, end in chain(tagged.kept, (match.span() for match in found)):
        if text[start:end] in verbatim:
            free[start:end] = [False] * (end - start)
    syntax = chain(_MARKUP.finditer(text), _JSX.finditer(text) if is_mdx else ())
    markup = {found.start() for found in syntax} | {
        _character_to_escape(text, start) for start in chain(starts, (place + 1 for place in breaks))
    }
    # "!" before a link would make it an image
    markup |= {edge - 1 for edge in edges if text[max(0, edge - 1) : edge] in ("\\", "!")}
    marks = {
        place: "\\" + text[place] for place in markup if place is not None and 0 <= place < len(text) and free[place]
    }
    for start, end in tagged.kept:
        if start < end and text[start] == "`" and text[max(0, start - 1) : start] == "`":
            marks[start] = f" {marks.get(start, '`')}"  # two code spans would be one
    return replace(tagged, text=text).with_marks(marks)


def _character_to_escape(text: str, start: int) -> int | None:
    """Return the character to escape so that a line does not start a list, quote, heading or rule."""
    if numbered := _NUMBERED.match(text, start):
        return numbered.end(1)
    found = _LINE_START.match(text, start)
    return found.start(1) if found else None


@dataclass(frozen=True)
class _Text:
    """Position of lines of text, without the marks of a quote, a list or a heading."""

    start: int
    end: int
    separators: tuple[str, ...]
    """Text between consecutive lines: the line end, and the marks and indentation of the next line."""
    is_cell: bool
    inline: MarkdownInline


def read_md(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read a Markdown file: CommonMark with tables and strikethrough; notation of other dialects is kept."""
    return _Markdown(name, data, limits)


def read_mdx(name: str, data: bytes, limits: DocumentLimits) -> Document:
    """Read an MDX file: Markdown with modules, elements and expressions of JavaScript, which are kept."""
    return _Markdown(name, data, limits, is_mdx=True)


@cache
def _parser(*, is_mdx: bool) -> MarkdownIt:
    # Without `text_join` an escaped character stays a separate token that has its notation.
    parser = MarkdownIt("commonmark", {"store_labels": True}).enable(["table", "strikethrough"]).disable("text_join")
    parser.core.ruler.after("block", "limits", _check_blocks)
    add_inline_notation(parser)
    if is_mdx:
        add_jsx(parser)
    return parser


@dataclass(frozen=True)
class _Field:
    """Position of a field of the front matter, with its quotes, and its text."""

    start: int
    end: int
    tagged: TaggedText


class _Markdown:
    def __init__(self, name: str, data: bytes, limits: DocumentLimits, *, is_mdx: bool = False) -> None:
        limits.segments = _MAX_SEGMENTS
        self._limits = limits
        self._is_mdx = is_mdx
        self._file = decode_file(name, data, limits, lines=_MAX_LINES)
        self._parser = _parser(is_mdx=is_mdx)
        front = _FRONT.match(self._file.text)
        self._front = 0 if front is None else front.end()
        self._fields = list(_fields(self._file.text[: self._front]))
        self._texts = [text for text in self._read(self._file.text) if text.inline.inline.tagged.has_words]
        segments = (*(field.tagged for field in self._fields), *(text.inline.inline.tagged for text in self._texts))
        self.segments = tuple(map(limits.add, segments))

    def write(self, translated: Sequence[TaggedText], *, language: str) -> bytes:
        edits = TextEdits(self._file.text)
        changes = changed_segments(self.segments, translated)
        for field, tagged in zip(self._fields, changes, strict=False):
            if tagged is not None:
                edits.replace(field.start, field.end, self._quoted(field, one_line(tagged.text)))
        for text, tagged in zip(self._texts, changes[len(self._fields) :], strict=True):
            if tagged is not None:
                edits.replace(text.start, text.end, self._written(text, tagged))
        return self._file.encoded(edits.joined())

    def _quoted(self, field: _Field, text: str) -> str:
        """Return a text as it is written in YAML or TOML: without quotes only if the field had none and needs none."""
        old = self._file.text[field.start : field.end]
        if old.startswith("'") and "'" not in text:
            return f"'{text}'"
        is_plain = old[0] not in "\"'" and _PLAIN_FIELD.fullmatch(text)
        return text if is_plain else json.dumps(text, ensure_ascii=False)

    def _written(self, text: _Text, tagged: TaggedText) -> str:
        adjacent = {place for span in tagged.spans if span.start == span.end for place in (span.start - 1, span.start)}
        breaks = balanced_breaks(tagged.text, len(text.separators) + 1 - text.inline.hard_breaks, tagged.kept, adjacent)
        starts = () if text.is_cell else (0, *text.inline.line_starts(tagged))
        safe = escape_markup(tagged, text.inline.verbatim, breaks, starts, is_mdx=self._is_mdx)
        written = render_inline(text.inline, safe)
        (block,) = self._parser.parseInline(written)
        if emphases(block.children or []) != text.inline.emphases:  # `**a:**b` is not bold: neighbours matter
            written = render_inline(text.inline, safe, as_html=True)
        if text.is_cell:
            return written.replace("|", "\\|")
        first, *others = written.split("\n")
        separators = [*text.separators, *(["\n"] * len(others))]
        return first + "".join(separator + line for separator, line in zip(separators, others, strict=False))

    def _read(self, text: str) -> Iterator[_Text]:
        lines = list(LINE.finditer(text))
        shown = ["" if line.end(1) < self._front else line[1] for line in lines]
        source = "\n".join(hide_notation([*hide_jsx(shown)] if self._is_mdx else shown))
        before: Token | None = None
        reached: dict[int, int] = {}  # by line: end of its last cell
        misses: Counter[int] = Counter()  # by line: cells that were not found
        for token in self._parser.parse(source, {"limits": self._limits}):
            if token.type == "inline" and token.map and token.content:
                is_cell = before is not None and before.type in {"th_open", "td_open"}
                found = _cell(token, lines, reached, misses) if is_cell else _located(token, lines)
                inline = parse_inline(token.content, token.children or [], self._limits)
                if found and inline:
                    yield _Text(found[0][0], found[-1][1], _separators(found, lines, token.map[0]), is_cell, inline)
            before = token


def _fields(front: str) -> Iterator[_Field]:
    for found in _FIELD.finditer(front):
        try:
            text = json.loads(found[1]) if found[1].startswith('"') else found[1].strip("'").strip()
        except ValueError:
            continue  # an escape that only YAML has
        tagged = TaggedText(text.strip(), kept=find_placeholders(text.strip()))
        if tagged.has_words and text == text.strip():
            yield _Field(found.start(1), found.start(1) + len(found[1].rstrip()), tagged)


def _check_blocks(state: StateCore) -> None:
    """Check the number of paragraphs and the length of each before their text is parsed."""
    limits = state.env.get("limits")
    if limits is None:
        return  # a paragraph that is written
    texts = [token.content for token in state.tokens if token.type == "inline"]
    limits.check("paragraphs", len(texts), _MAX_SEGMENTS)
    limits.check_paragraph(max(map(len, texts), default=0))


def _located(token: Token, lines: Sequence[re.Match[str]]) -> list[tuple[int, int]]:
    """Return the positions of the lines of a text in the file; empty if they are not found verbatim."""
    found = []
    assert token.map is not None
    contents = token.content.split("\n")
    for line, content in zip(lines[token.map[0] : token.map[0] + len(contents)], contents, strict=False):
        bare = content.strip()
        place = line[1].rfind(bare)
        if place < 0:
            return []
        found.append((line.start(1) + place, line.start(1) + place + len(bare)))
    return found


def _cell(
    token: Token, lines: Sequence[re.Match[str]], reached: dict[int, int], misses: Counter[int]
) -> list[tuple[int, int]]:
    assert token.map is not None
    number = token.map[0]
    if misses[number] > _MAX_MISSES:
        return []
    line = lines[number]
    raw = token.content.replace("|", "\\|")
    place = line[1].find(raw, reached.get(number, 0))
    if place < 0:
        misses[number] += 1
        return []
    reached[number] = place + len(raw)
    return [(line.start(1) + place, line.start(1) + place + len(raw))]


def _separators(found: Sequence[tuple[int, int]], lines: Sequence[re.Match[str]], first: int) -> tuple[str, ...]:
    return tuple(
        lines[first + number - 1][2] + lines[first + number][1][: start - lines[first + number].start(1)]
        for number, (start, _) in enumerate(found)
        if number
    )
