"""Tokenize HTML as browsers do, and record the source position of each token.

The rules are those of the tokenizer in the HTML standard, written as regular expressions without backtracking. The
parser of the standard library differs from browsers on hostile pages (comments, quotes, raw text). Tree builders do not
report the source position of a node, so the markup could not be kept verbatim. Where the result depends on the tree
(raw text in SVG, MathML or ``select``) and two interpretations are possible, the rest of the page is one opaque token.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from dragoman.markup.character_references import unescape

__all__ = ["HtmlToken", "HtmlTokenKind", "parse_attributes", "tokenize_html"]

HtmlTokenKind = Literal["text", "start", "end", "comment", "opaque"]
"""`opaque`: raw text, SVG or MathML content, or the rest of a page."""

_SPACE = "\t\n\f\r "
_NAME = rf"[a-zA-Z][^{_SPACE}/>]*+"
_VALUE = rf"(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|(?=>)|\Z|[^{_SPACE}>\"'][^{_SPACE}>]*+)"
_ATTRIBUTE = rf"(?:=[^{_SPACE}/>=]*+|[^{_SPACE}/>=]++)(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE})?+"
_TAG = re.compile(rf"<(/?)({_NAME})((?:[{_SPACE}/]++|{_ATTRIBUTE})*+)>")
_PAIR = re.compile(
    rf"(?P<name>=[^{_SPACE}/>=]*+|[^{_SPACE}/>=]++)(?:[{_SPACE}]*+=[{_SPACE}]*+(?P<value>{_VALUE}))?+|[{_SPACE}/]++"
)
_MARK = re.compile(r"<(?=[a-zA-Z!?]|/[\s\S])")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT = re.compile(rf"<!--|-->|<(/?)script(?=[{_SPACE}/>])", re.IGNORECASE)
_FRAMES = re.compile(r"<frameset", re.IGNORECASE)

_RAW = frozenset({"iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp"})
_FOREIGN = frozenset({"math", "svg"})
_BY_TREE = _RAW | _FOREIGN | {"plaintext", "select", "template"}
"""Elements whose content is tokenized differently depending on their position in the tree."""
_IGNORED_IN_SELECT = _BY_TREE - {"script", "select"}
"""Elements that only some browsers ignore inside ``select``."""


class HtmlToken(NamedTuple):
    """``page[start:end]``; `name` is the lower-case name of a tag."""

    kind: HtmlTokenKind
    start: int
    end: int
    name: str = ""


def tokenize_html(page: str) -> list[HtmlToken]:
    """Tokenize a page without gaps between tokens. A frameset page, which has no text, is one opaque token."""
    if _FRAMES.search(page):
        return [HtmlToken("opaque", 0, len(page))]
    found: list[HtmlToken] = []
    in_select = False
    at = 0
    while at < len(page):
        token = _next(page, at)
        if token.kind == "start" and in_select and token.name in _IGNORED_IN_SELECT:
            token = HtmlToken("opaque", at, len(page))
        found.append(token)
        if token.kind == "start":
            in_select = in_select or token.name == "select"
            found += _content(page, token)
        elif token.kind == "end" and token.name == "select":
            in_select = False
        at = found[-1].end
    return found


def parse_attributes(tag: str) -> tuple[dict[str, str], bool]:
    """Return the attributes of a start tag and whether it ends with a slash; of duplicates the first is used."""
    match = _TAG.match(tag)
    found: dict[str, str] = {}
    is_closed = False
    for pair in _PAIR.finditer(match[3] if match else ""):
        name, value = pair["name"], pair["value"] or ""
        is_closed = name is None and pair[0].endswith("/")
        if name is not None:
            bare = value[1:-1] if value[:1] in ("'", '"') else value
            found.setdefault(name.lower(), unescape(bare))
    return found, is_closed


def _next(page: str, at: int) -> HtmlToken:
    """Return the token at a position, independent of earlier tokens."""
    tag = _TAG.match(page, at)
    if tag is not None:
        return HtmlToken("end" if tag[1] else "start", at, tag.end(), tag[2].lower())
    mark = _MARK.search(page, at)
    if mark is None or mark.start() > at:
        return HtmlToken("text", at, len(page) if mark is None else mark.start())
    if page[at + 1].isalpha() or (page[at + 1] == "/" and page[at + 2].isascii() and page[at + 2].isalpha()):
        return HtmlToken("opaque", at, len(page))  # an unterminated tag
    if not page.startswith("<!--", at) or page.startswith((">", "->"), at + 4):
        end = page.find(">", at)
    else:
        closing = _COMMENT_END.search(page, at + 4)
        end = closing.end() - 1 if closing else -1
    return HtmlToken("comment", at, end + 1) if end >= 0 else HtmlToken("opaque", at, len(page))


def _content(page: str, tag: HtmlToken) -> list[HtmlToken]:
    """Return the tokens of an element with special content, up to its end tag; none for other elements."""
    at = tag.end
    if tag.name in _FOREIGN:
        end = _foreign_end(page, tag)
        return [HtmlToken("opaque", at, end)] if end > at else []
    if tag.name == "plaintext":
        return [HtmlToken("opaque", at, len(page))]
    if tag.name not in _RAW:
        return []
    end = _script_end(page, at) if tag.name == "script" else _raw_end(page, at, tag.name)
    closing = _next(page, end) if end < len(page) else None
    if closing is None or closing.kind != "end" or (tag.name == "noscript" and not _is_plain(page[at:end])):
        return [HtmlToken("opaque", at, len(page))] if at < len(page) else []
    kind: HtmlTokenKind = "text" if tag.name == "title" else "opaque"
    return [*([HtmlToken(kind, at, end)] if end > at else []), closing]


def _raw_end(page: str, at: int, name: str) -> int:
    found = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(page, at)
    return found.start() if found else len(page)


def _script_end(page: str, at: int) -> int:
    """Return the position of a script's end tag; an end tag of a nested script in a comment does not count."""
    depth = 0  # 1: in a comment, 2: in a script inside the comment
    while found := _SCRIPT.search(page, at):
        at = found.end()
        if found[0] == "<!--":
            depth = depth or 1
            at -= 2  # the same dashes may end the comment
        elif found[0] == "-->":
            depth = 0
        elif found[1]:
            if depth < 2:
                return found.start()
            depth = 1
        elif depth == 1:
            depth = 2
    return len(page)


def _is_plain(content: str) -> bool:
    """Whether content ends at the same position when read as raw text and as HTML."""
    at = 0
    while at < len(content):
        token = _next(content, at)
        if token.kind == "opaque" or token.name in _BY_TREE:
            return False
        at = token.end
    return True


def _foreign_end(page: str, tag: HtmlToken) -> int:
    """Return the position after the end tag of an SVG or MathML element; the page's end if its content is ambiguous."""
    open_: list[str] = []
    token = tag
    while _is_unambiguous(page, token):
        if token.kind == "end" and open_.pop() != token.name:
            break
        if token.kind == "start" and not parse_attributes(page[token.start : token.end])[1]:
            open_.append(token.name)
        if not open_:
            return token.end
        if token.end >= len(page):
            break
        token = _next(page, token.end)
    return len(page)


def _is_unambiguous(page: str, token: HtmlToken) -> bool:
    """Whether a token is the same inside and outside SVG or MathML."""
    if token.kind == "comment":
        return page.startswith("<!--", token.start)
    if token.kind == "start" and token.name in _BY_TREE - _FOREIGN:
        return _is_bare(page, token)
    return token.kind != "opaque"


def _is_bare(page: str, tag: HtmlToken) -> bool:
    """Whether an element that may be raw text is closed and contains no tag."""
    if tag.name not in _RAW:
        return False
    end = page.find("<", tag.end)
    return end >= 0 and end == _raw_end(page, tag.end, tag.name)
