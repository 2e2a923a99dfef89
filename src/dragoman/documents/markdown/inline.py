"""Parse and render the inline markup of Markdown: emphasis, links and code, with their original notation."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markdown_it.common.utils import normalizeReference
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.token import Token

from dragoman.documents.inline_markup import InlineBuilder, InlineText, Node
from dragoman.documents.limits import DocumentLimits
from dragoman.documents.text.simple_tags import tag_marker
from dragoman.markup.tagged_text import TaggedText

_SOFT = re.compile(r"[ \t]*\n[ \t]*")
_HARD = re.compile(r"( {2,}|\\)\n[ \t]*")
_AUTOLINK = re.compile(r"<[^<>\s]*>")
_TASK = re.compile(r"\[[ xX]\][ \t]+")
_NAME = re.compile(r"</?([A-Za-z][\w-]*)")
_HTML = {"em": "em", "strong": "strong", "s": "del"}
_MAX_DEPTH = 40
_BLANK = re.compile(r"[ \t\n]*")


@dataclass(frozen=True)
class _Raw:
    opening: str
    closing: str = ""
    html: str = ""
    """Equivalent HTML element."""


@dataclass(frozen=True)
class MarkdownInline:
    """Text and tags of a paragraph."""

    inline: InlineText
    verbatim: frozenset[str]
    """Code and autolinks, which the text contains verbatim."""
    hard_breaks: int
    emphases: Counter[str]
    checkbox: str
    """Checkbox of a task, ``[ ] ``, written before the text."""

    def line_starts(self, translated: TaggedText) -> list[int]:
        """Return the positions after the line breaks that are tags."""
        return [span.start for span in translated.spans if self.inline.tags[span.tag].opening.endswith("\n")]


class _UnknownNotation(Exception):  # noqa: N818 -- control flow, never shown to a user
    """The notation of the text cannot be derived from its tokens."""


@dataclass
class _Reader:
    """Locate tokens in their source text: tokens have no positions."""

    raw: str
    tokens: Sequence[Token]
    pairs: Mapping[int, int]
    limits: DocumentLimits
    place: int = 0
    verbatim: set[str] = field(default_factory=set)
    hard_breaks: int = 0
    checkbox: str = ""

    def __post_init__(self) -> None:
        self.builder = InlineBuilder(self.limits)

    def read(self, start: int, end: int) -> None:
        """Read a range of tokens with their content."""
        at = start
        while at < end:
            token = self.tokens[at]
            closing = self.pairs.get(at)
            if closing is None:
                self._single(token)
                at += 1
                continue
            if token.markup == "autolink":
                self._keep(self._matched(_AUTOLINK))
            elif token.type == "link_open":
                self._link(token, at, closing)
            elif token.type == "html_inline":
                self._pair(token.content, self.tokens[closing].content, at, closing)
            else:
                self._pair(token.markup, token.markup, at, closing, _HTML.get(token.type.removesuffix("_open"), ""))
            at = closing + 1

    def _single(self, token: Token) -> None:
        match token.type:
            case "text":
                task = _TASK.match(token.content) if self.place == 0 else None
                self.checkbox = task[0] if task else self.checkbox
                self.builder.add_text(token.content[task.end() if task else 0 :])
                self._skip(token.content)
            case "text_special":
                self.builder.add_text(token.content)
                self._skip(token.markup)
            case "softbreak":
                self._matched(_SOFT)
                self.builder.add_text(" ")
            case "hardbreak":
                self.builder.add_empty(_Raw("\\\n" if self._matched(_HARD).startswith("\\") else "  \n"), breaks=True)
                self.hard_breaks += 1
            case "code_inline":
                ticks = re.escape(token.markup)
                self._keep(self._matched(re.compile(rf"{ticks}(?!`).*?(?<!`){ticks}(?!`)", re.DOTALL)))
            case "notation":
                self._skip(token.content)
                self._keep(token.content)
            case "html_inline":
                self.builder.add_empty(_Raw(token.content), marker=tag_marker(token.content))
                self._skip(token.content)
            case "image":
                start = self.place
                self._skip(f"![{token.content}")
                self._skip_target(token)
                self.builder.add_empty(_Raw(self.raw[start : self.place]))
            case _:
                raise _UnknownNotation

    def _link(self, token: Token, at: int, closing: int) -> None:
        self._skip("[")
        content = self.place
        # The tag contains the target, which is known only after the link text is read: read it twice.
        inner = _Reader(self.raw, self.tokens, self.pairs, self.limits, content)
        inner.read(at + 1, closing)
        end = inner.place
        inner._skip_target(token)
        target = self.raw[end : inner.place]
        if "label" in token.meta and (target in ("]", "][]")):
            target = f"][{self.raw[content:end]}]"  # the link text was also the label of its target, and is replaced
        self.builder.open(_Raw("[", target))
        self.read(at + 1, closing)
        self.builder.close()
        self.place = inner.place

    def _pair(self, opening: str, closing: str, at: int, end: int, html: str = "") -> None:
        self._skip(opening)
        self.builder.open(_Raw(opening, closing, html))
        self.read(at + 1, end)
        self.builder.close()
        self._skip(closing)

    def _skip_target(self, token: Token) -> None:
        """Skip the target of a link after its text."""
        self._skip("]")
        label = token.meta.get("label")
        if label is None:
            self._skip_inline_target()
        elif self.raw.startswith("[", self.place):
            end = self.raw.find("]", self.place)
            named = self.raw[self.place + 1 : end]
            if end > 0 and (not named.strip() or normalizeReference(named) == label):
                self.place = end + 1

    def _skip_inline_target(self) -> None:
        self._skip("(")
        self._matched(_BLANK)
        target = parseLinkDestination(self.raw, self.place, len(self.raw))
        if target.ok:
            self.place = target.pos
        self._matched(_BLANK)
        title = parseLinkTitle(self.raw, self.place, len(self.raw))
        if title.ok:
            self.place = title.pos
        self._matched(_BLANK)
        self._skip(")")

    def _keep(self, raw: str) -> None:
        flat = raw.replace("\n", " ")
        self.builder.add_text(flat, is_kept=True)
        self.verbatim.add(flat)

    def _matched(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.raw, self.place)
        if found is None:
            raise _UnknownNotation
        self.place = found.end()
        return found[0]

    def _skip(self, expected: str) -> None:
        if not self.raw.startswith(expected, self.place):
            raise _UnknownNotation
        self.place += len(expected)


def parse_inline(raw: str, tokens: Sequence[Token], limits: DocumentLimits) -> MarkdownInline | None:
    """Parse a paragraph; None if the notation of its tokens is unknown, so that it stays unchanged."""
    try:
        reader = _Reader(raw, tokens, _pairs(tokens), limits)
        reader.read(0, len(tokens))
    except _UnknownNotation:
        return None
    if raw[reader.place :].strip():
        return None
    inline = reader.builder.build()
    return MarkdownInline(inline, frozenset(reader.verbatim), reader.hard_breaks, emphases(tokens), reader.checkbox)


def _pairs(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the index of the closing token by that of the opening one, for Markdown and for HTML tags in it."""
    pairs: dict[int, int] = {}
    # per level: the opening token, and the open HTML tags
    levels: list[tuple[int, list[tuple[str, int]]]] = [(-1, [])]
    for place, token in enumerate(tokens):
        if token.nesting == 1:
            levels.append((place, []))
        elif token.nesting == -1:
            pairs[levels.pop()[0]] = place
        elif token.type == "html_inline" and (named := _NAME.match(token.content)):
            tags, name = levels[-1][1], named[1].lower()
            if token.content.startswith("</"):
                depth = next((back for back in range(len(tags), 0, -1) if tags[back - 1][0] == name), 0)
                if depth:
                    pairs[tags[depth - 1][1]] = place
                    del tags[depth - 1 :]
            elif not token.content.endswith("/>") and len(tags) < _MAX_DEPTH:
                tags.append((name, place))
        if len(levels) > _MAX_DEPTH or not levels:
            raise _UnknownNotation
    return pairs


def emphases(tokens: Sequence[Token]) -> Counter[str]:
    """Count the emphasized and struck-out ranges by token type."""
    return Counter(token.type for token in tokens if token.nesting == 1 and token.type.removesuffix("_open") in _HTML)


def render_inline(inline: MarkdownInline, translated: TaggedText, *, as_html: bool = False) -> str:
    """Render an escaped translation with its markup; `as_html` writes emphasis as HTML elements."""
    return inline.checkbox + _written(inline.inline.tree(translated), as_html=as_html)


def _written(nodes: Sequence[Node], *, as_html: bool) -> str:
    fragments: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            fragments.append(node)
            continue
        tag: _Raw = node.tag
        children = _written(node.children, as_html=as_html)
        if as_html and tag.html:
            fragments.append(f"<{tag.html}>{children}</{tag.html}>")
        elif tag.html:  # emphasis must touch its words and must not be empty
            bare = children.strip()
            lead, trail = children[: len(children) - len(children.lstrip())], children[len(children.rstrip()) :]
            fragments.append(f"{lead}{tag.opening}{bare}{tag.closing}{trail}" if bare else children)
        else:
            fragments.append(tag.opening + children + tag.closing)
    return "".join(fragments)
