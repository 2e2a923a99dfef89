"""Tokenize HTML as browsers do, and record the source position of each token.

The rules are those of the tokenizer in the HTML standard, written as regular expressions without backtracking. The
parser of the standard library differs from browsers on hostile pages (comments, quotes, raw text). Tree builders do not
report the source position of a node, so the markup could not be kept verbatim. The open elements are tracked as far as
they change the tokens: SVG and MathML have CDATA sections and no raw text. Browsers differ in ``noscript`` (with and
without scripting) and in ``select`` (before and since it may contain any element): only tokens that are the same for
all of them are text or tags, the rest is opaque.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

_LONG = re.compile("&#([0-9]{8,});?")
"""A decimal reference that is not a code point, unless it begins with zeros; Python limits the digits of a number."""

HtmlTokenKind = Literal["text", "start", "end", "comment", "opaque"]
"""`opaque`: raw text, SVG or MathML content, or markup that browsers interpret in different ways."""

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


def unescape(text: str) -> str:
    """Replace all character references, as browsers do."""
    return html.unescape(_LONG.sub(_shortened, text) if "&#" in text else text)


def _shortened(reference: re.Match[str]) -> str:
    digits = reference[1].lstrip("0") or "0"
    return f"&#{digits};" if len(digits) < 8 else "\ufffd"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RAW = _names("iframe noembed noframes script style textarea title xmp")
_FOREIGN = _names("math svg")
_VOID = _names("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
_NOT_ON_STACK = _VOID | _names("body frameset head html image")
_INTEGRATION = {"svg": _names("desc foreignobject title"), "math": _names("mi mo mn ms mtext")}
"""Foreign elements that contain HTML. In MathML ``annotation-xml`` does, depending on its attribute."""
_SCOPE = {"svg": _INTEGRATION["svg"], "math": _INTEGRATION["math"] | {"annotation-xml"}}
_MATH_IN_TEXT = _names("malignmark mglyph")
_BREAKOUT = _names(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta "
    "nobr ol p pre ruby s small span strong strike sub sup table tt u ul var"
)
"""HTML elements that end SVG and MathML."""
_CLOSES_P = _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 "
    "h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp"
)
_HIDES_P = _names("applet button caption marquee object table td template th")
_TABLE = _names("caption table tbody td tfoot th thead tr")
_CLOSES_SELECT = _names("input keygen textarea")
_NOT_IN_SELECT = (_RAW - {"script", "textarea"}) | _FOREIGN | {"noscript", "plaintext"}
"""Elements that older browsers ignore inside ``select``."""


class HtmlToken(NamedTuple):
    """``page[start:end]``; `name` is the lower-case name of a tag."""

    kind: HtmlTokenKind
    start: int
    end: int
    name: str = ""


def tokenize_html(page: str, *, is_xml: bool = False) -> list[HtmlToken]:
    """Tokenize a page without gaps between tokens. A frameset page, which has no text, is one opaque token.

    In XML an element may end with its start tag, ``<a id="x"/>``; it is a comment with a name, as it has no content.
    """
    lower = page.lower()
    readings = product([False, True][: 1 + ("<noscript" in lower)], [False, True][: 1 + ("<select" in lower)])
    agreed: list[HtmlToken] = []
    for number, (has_scripting, is_old_select) in enumerate(readings):
        tokenizer = _Tokenizer(page, has_scripting=has_scripting, is_old_select=is_old_select, is_xml=is_xml)
        tokens = tokenizer.read()
        if tokenizer.has_frames:
            return [HtmlToken("opaque", 0, len(page))]
        agreed = _agreed(agreed, tokens) if number else tokens
    return list(_without_gaps(agreed, len(page)))


def _agreed(tokens: Sequence[HtmlToken], others: Sequence[HtmlToken]) -> list[HtmlToken]:
    """Return the tokens that both lists have, and the content of ``noscript`` if both end it at the same position."""
    known = frozenset(others)
    raw = {other.start: other.end for other in others if other.name == "noscript" and other.kind == "opaque"}
    ends = frozenset(token.start for token in tokens if token.name == "noscript" and token.kind == "end")
    found = []
    until = 0  # end of a noscript element
    for token in tokens:
        if token in known or token.end <= until:
            found.append(token)
            if token.name == "noscript" and raw.get(token.end) in ends:
                until = max(until, raw[token.end])
    return found


def _without_gaps(tokens: Sequence[HtmlToken], length: int) -> Iterator[HtmlToken]:
    """Yield the tokens; gaps and adjacent opaque tokens become one opaque token."""
    done = opaque = 0  # end of the last token, and start of the opaque part after the last other one
    for token in (*tokens, HtmlToken("comment", length, length)):
        if token.kind != "opaque":
            if token.start > opaque:
                yield HtmlToken("opaque", opaque, token.start)
            done = opaque = token.end
            if token.end > token.start:
                yield token
    assert done == length


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


class _Element(NamedTuple):
    name: str
    has_html: bool = False
    """Whether it is a foreign element that contains HTML."""
    has_p: bool = False
    """Whether a block element closes a ``p`` here."""


class _Stack:
    """Open elements of one namespace: ``html``, ``svg`` or ``math``."""

    def __init__(self, space: str) -> None:
        self.space = space
        self.elements: list[_Element] = []
        self.counts: Counter[str] = Counter()

    @property
    def contains_html(self) -> bool:
        return self.space == "html" or self.elements[-1].has_html

    def push(self, name: str, *, has_html: bool = False) -> None:
        has_p = name == "p" or (bool(self.elements) and self.elements[-1].has_p and name not in _HIDES_P)
        self.elements.append(_Element(name, has_html, has_p))
        self.counts[name] += 1

    def pop(self) -> str:
        name = self.elements.pop().name
        self.counts[name] -= 1
        return name

    def pop_to(self, name: str) -> None:
        """Close the innermost element with a name, and the elements in it."""
        while self.counts[name] and self.pop() != name:
            pass


class _Tokenizer:
    """Tokenizer with the open elements of a page, for one kind of browser."""

    def __init__(self, page: str, *, has_scripting: bool, is_old_select: bool, is_xml: bool) -> None:
        self._page = page
        self._is_xml = is_xml
        self._raw = _RAW | {"noscript"} if has_scripting else _RAW
        self._is_old_select = is_old_select
        self._in_select = False  # of an older browser
        self._has_text = False  # so that a frameset is ignored
        self._stacks = [_Stack("html")]
        self._found: list[HtmlToken] = []
        self.has_frames = False

    def read(self) -> list[HtmlToken]:
        at = 0
        while at < len(self._page):
            if not self._stacks[-1].elements and len(self._stacks) > 1:
                self._stacks.pop()
                continue
            token = self._next_token(at)
            if self._stacks[-1].space != "html" and self._is_foreign(token):
                self._found.append(self._foreign(token))
            else:
                self._found += self._html(token)
            at = self._found[-1].end
        return self._found

    def _next_token(self, at: int) -> HtmlToken:
        if self._stacks[-1].space == "html" or not self._page.startswith("<![CDATA[", at):
            return _next(self._page, at)
        end = self._page.find("]]>", at)
        return HtmlToken("opaque", at, end + 3 if end >= 0 else len(self._page))

    def _is_foreign(self, token: HtmlToken) -> bool:
        """Whether a token belongs to the SVG or MathML element that is open; a token that ends the element does not."""
        stack = self._stacks[-1]
        if token.kind == "start":
            is_math_text = stack.space == "math" and stack.elements[-1].name in _INTEGRATION["math"]
            if stack.contains_html and not (is_math_text and token.name in _MATH_IN_TEXT):
                return False
            if token.name not in _BREAKOUT and not (token.name == "font" and self._is_html_font(token)):
                return True
        elif token.kind == "end" and token.name not in ("br", "p"):
            below = self._stacks[-2].counts
            has_barrier = any(stack.counts[name] for name in _SCOPE[stack.space])
            if stack.counts[token.name] or has_barrier or not below[token.name]:
                return True
            self._stacks.pop()
            return False
        elif token.kind != "end":
            return not (token.kind == "text" and stack.contains_html and stack.elements[-1].name == "foreignobject")
        while stack.elements and not stack.elements[-1].has_html:
            stack.pop()
        if not stack.elements:
            self._stacks.pop()
        return False

    def _is_html_font(self, token: HtmlToken) -> bool:
        return not parse_attributes(self._page[token.start : token.end])[0].keys().isdisjoint({"color", "face", "size"})

    def _foreign(self, token: HtmlToken) -> HtmlToken:
        """Return a token in SVG or MathML as an opaque one; the end tag of the outermost element stays a tag."""
        stack = self._stacks[-1]
        if token.kind == "end":
            stack.pop_to(token.name)
            return token if not stack.elements else token._replace(kind="opaque", name="")
        if token.kind == "start":
            attributes, is_closed = parse_attributes(self._page[token.start : token.end])
            has_html = token.name in _INTEGRATION[stack.space] or (
                stack.space == "math"
                and token.name == "annotation-xml"
                and attributes.get("encoding", "").lower() in ("text/html", "application/xhtml+xml")
            )
            if not is_closed:
                stack.push(token.name, has_html=has_html)
        return token._replace(kind="opaque", name="")

    def _html(self, token: HtmlToken) -> list[HtmlToken]:
        """Return a token in HTML, with the content and the end tag of a raw text element."""
        self._leave_select(token)
        if token.kind == "text":
            self._has_text = self._has_text or (
                not self._stacks[0].counts["template"]
                and any(map(str.isalnum, unescape(self._page[token.start : token.end])))
            )
        elif token.kind == "end" and (token.name == "select" or not self._in_select):
            self._stacks[-1].pop_to(token.name)
        elif self._is_xml and token.kind == "start" and token.name not in _VOID and self._page[token.end - 2] == "/":
            return [token._replace(kind="comment")]
        elif token.kind == "start" and not (self._in_select and token.name in _NOT_IN_SELECT):
            return [token, *self._content(token)]
        return [token]

    def _leave_select(self, token: HtmlToken) -> None:
        is_table = token.name in _TABLE and any(stack.counts["table"] for stack in self._stacks)
        if token.name == "select":
            self._in_select = self._is_old_select and token.kind == "start" and not self._in_select
        elif is_table or (token.kind == "start" and token.name in _CLOSES_SELECT):
            self._in_select = False

    def _content(self, tag: HtmlToken) -> list[HtmlToken]:
        """Open an element; return its content up to its end tag if it is raw text."""
        self.has_frames = self.has_frames or (tag.name == "frameset" and not self._has_text)
        at, length = tag.end, len(self._page)
        if tag.name == "plaintext" and at < length:
            return [HtmlToken("opaque", at, length)]
        if tag.name not in self._raw:
            self._open(tag)
            return []
        end = _script_end(self._page, at) if tag.name == "script" else _raw_end(self._page, at, tag.name)
        closing = _next(self._page, end) if end < length else None
        if closing is None or closing.kind != "end":
            return [HtmlToken("opaque", at, length)] if at < length else []
        kind: HtmlTokenKind = "text" if tag.name == "title" else "opaque"
        name = tag.name if tag.name == "noscript" else ""
        return [*([HtmlToken(kind, at, end, name)] if end > at else []), closing]

    def _open(self, tag: HtmlToken) -> None:
        stack = self._stacks[-1]
        if tag.name in _FOREIGN:
            if not parse_attributes(self._page[tag.start : tag.end])[1]:
                self._stacks.append(_Stack(tag.name))
                self._stacks[-1].push(tag.name)
            return
        if tag.name in _CLOSES_P and stack.space == "html" and stack.elements and stack.elements[-1].has_p:
            stack.pop_to("p")
        if tag.name in _NOT_ON_STACK:
            return
        if stack.space != "html":
            stack = _Stack("html")
            self._stacks.append(stack)
        stack.push(tag.name)


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
