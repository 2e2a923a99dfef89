"""HTML cut into tokens as a browser cuts it, each with its place in the source.

The rules are those of the HTML standard's tokenizer, written down as regular expressions that never go back. Neither
the standard library's parser nor a tree builder would do: the first cuts differently from browsers where pages are
hostile (comments, quotes, raw text), and the second does not say which bytes a node came from, so nothing could be kept
verbatim. Where it depends on the tree what a browser would see (raw text in drawings, in lists of choices), and so two
readings are possible, the rest of the page is one token that nobody touches.
"""

from __future__ import annotations

import html
import re
from typing import Literal, NamedTuple

__all__ = ["Kind", "Token", "attributes", "tokens"]

Kind = Literal["text", "start", "end", "comment", "opaque"]
"""`opaque`: a raw text, a drawing, or all that is left of a page."""

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
_DRAWINGS = frozenset({"math", "svg"})
_BY_TREE = _RAW | _DRAWINGS | {"plaintext", "select", "template"}
"""Elements whose content is read one way or another, depending on where in the tree they stand."""
_IN_CHOICES = _BY_TREE - {"script", "select"}
"""Those that some browsers ignore, and others do not, in a list of choices."""


class Token(NamedTuple):
    """``page[start:end]``. A tag has its name, in small letters."""

    kind: Kind
    start: int
    end: int
    name: str = ""


def tokens(page: str) -> list[Token]:
    """Cut a page; the tokens follow each other without a gap. A page of frames, which has no text, is left alone."""
    if _FRAMES.search(page):
        return [Token("opaque", 0, len(page))]
    found: list[Token] = []
    in_choices = False
    at = 0
    while at < len(page):
        token = _next(page, at)
        if token.kind == "start" and in_choices and token.name in _IN_CHOICES:
            token = Token("opaque", at, len(page))
        found.append(token)
        if token.kind == "start":
            in_choices = in_choices or token.name == "select"
            found += _content(page, token)
        elif token.kind == "end" and token.name == "select":
            in_choices = False
        at = found[-1].end
    return found


def attributes(tag: str) -> tuple[dict[str, str], bool]:
    """The attributes of a start tag, and whether it ends with a slash; of two with one name the first counts."""
    match = _TAG.match(tag)
    found: dict[str, str] = {}
    is_closed = False
    for pair in _PAIR.finditer(match[3] if match else ""):
        name, value = pair["name"], pair["value"] or ""
        is_closed = name is None and pair[0].endswith("/")
        if name is not None:
            bare = value[1:-1] if value[:1] in ("'", '"') else value
            found.setdefault(name.lower(), html.unescape(bare))
    return found, is_closed


def _next(page: str, at: int) -> Token:
    """The token that begins here, without regard to those before it."""
    tag = _TAG.match(page, at)
    if tag is not None:
        return Token("end" if tag[1] else "start", at, tag.end(), tag[2].lower())
    mark = _MARK.search(page, at)
    if mark is None or mark.start() > at:
        return Token("text", at, len(page) if mark is None else mark.start())
    if page[at + 1].isalpha() or (page[at + 1] == "/" and page[at + 2].isascii() and page[at + 2].isalpha()):
        return Token("opaque", at, len(page))  # a tag that does not end
    if not page.startswith("<!--", at) or page.startswith((">", "->"), at + 4):
        end = page.find(">", at)
    else:
        closing = _COMMENT_END.search(page, at + 4)
        end = closing.end() - 1 if closing else -1
    return Token("comment", at, end + 1) if end >= 0 else Token("opaque", at, len(page))


def _content(page: str, tag: Token) -> list[Token]:
    """What follows a start tag and is not read as usual, up to its end tag; nothing where all is usual."""
    at = tag.end
    if tag.name in _DRAWINGS:
        end = _drawing_end(page, tag)
        return [Token("opaque", at, end)] if end > at else []
    if tag.name == "plaintext":
        return [Token("opaque", at, len(page))]
    if tag.name not in _RAW:
        return []
    end = _script_end(page, at) if tag.name == "script" else _raw_end(page, at, tag.name)
    closing = _next(page, end) if end < len(page) else None
    if closing is None or closing.kind != "end" or (tag.name == "noscript" and not _is_plain(page[at:end])):
        return [Token("opaque", at, len(page))] if at < len(page) else []
    kind: Kind = "text" if tag.name == "title" else "opaque"
    return [*([Token(kind, at, end)] if end > at else []), closing]


def _raw_end(page: str, at: int, name: str) -> int:
    found = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE).search(page, at)
    return found.start() if found else len(page)


def _script_end(page: str, at: int) -> int:
    """The end tag of a script; one within a comment that begins another script is none."""
    depth = 0  # 1: in a comment, 2: in a script in it
    while found := _SCRIPT.search(page, at):
        at = found.end()
        if found[0] == "<!--":
            depth = depth or 1
            at -= 2  # the same dashes may end it
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
    """Whether something is read alike as raw text and as HTML, as far as where it ends is concerned."""
    at = 0
    while at < len(content):
        token = _next(content, at)
        if token.kind == "opaque" or token.name in _BY_TREE:
            return False
        at = token.end
    return True


def _drawing_end(page: str, tag: Token) -> int:
    """Behind the end tag of a drawing if all in it is nested and can be read in one way only, else the page's end."""
    open_: list[str] = []
    token = tag
    while _may_be_drawn(page, token):
        if token.kind == "end" and open_.pop() != token.name:
            break
        if token.kind == "start" and not attributes(page[token.start : token.end])[1]:
            open_.append(token.name)
        if not open_:
            return token.end
        if token.end >= len(page):
            break
        token = _next(page, token.end)
    return len(page)


def _may_be_drawn(page: str, token: Token) -> bool:
    """Whether a token is read alike in a drawing and elsewhere."""
    if token.kind == "comment":
        return page.startswith("<!--", token.start)
    if token.kind == "start" and token.name in _BY_TREE - _DRAWINGS:
        return _is_bare(page, token)
    return token.kind != "opaque"


def _is_bare(page: str, tag: Token) -> bool:
    """Whether an element that might be raw text holds no tag, and ends."""
    if tag.name not in _RAW:
        return False
    end = page.find("<", tag.end)
    return end >= 0 and end == _raw_end(page, tag.end, tag.name)
