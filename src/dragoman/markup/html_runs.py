"""Runs of text and inline tags between the blocks of a page: what is translated together.

Only tags that are nested and closed within a run move with their words. All others stay where they are, and text is
cut there; so a browser builds the same elements of the translation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from dragoman.markup.html_tokens import Token, attributes

__all__ = ["Item", "runs"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _names("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
_INLINE_VOID = _names("br img wbr")
_BLOCKS = _names(
    "address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu menuitem "
    "nav ol optgroup option p plaintext pre search section select summary table tbody td tfoot th thead tr ul xmp"
)
# What a browser closes, marks or reads in a way of its own, and what is no part of a sentence.
_APART = _names(
    "applet area audio base basefont bgsound button canvas command datalist embed frame frameset iframe image input "
    "isindex keygen link map marquee math meta nobr noembed noframes noscript object output param picture progress rb "
    "rp rt rtc ruby script slot source style svg template textarea title track video"
)
_BREAKING = _BLOCKS | _APART
_VERBATIM = _names("code kbd listing pre samp var")
_CLOSES_ITSELF = _names("dd dt li option p td th tr")
_KNOWN_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q s samp small span strike "
    "strong sub sup time tt u var"
)


ItemKind = Literal["text", "start", "end", "void"]


class Item(NamedTuple):
    """A piece of a run: text, a tag, or something without text that stays as it is, `void`."""

    kind: ItemKind
    start: int
    end: int
    name: str = ""

    @property
    def breaks(self) -> bool:
        """Whether it ends a line."""
        return self.name == "br"


def runs(page: str, tokens: Sequence[Token]) -> Iterator[list[Item]]:
    """Yield the runs of a page, in order; each holds text, and its tags are nested."""
    ends = _untranslated(page, tokens)
    anchors = 0  # links that were not closed where they were opened
    run: list[Item] = []
    at = 0
    while at < len(tokens):
        end = ends.get(at, at)
        item = _item(page, tokens, at, end)
        if item is not None and not (item.breaks and _ends_with_break(page, run)):
            run.append(item)
        else:
            anchors, found = _cut(page, run, anchors)
            yield from found
            run = []
            anchors = _anchors_after(tokens[at : end + 1], anchors)
        at = end + 1
    yield from _cut(page, run, anchors)[1]


def _item(page: str, tokens: Sequence[Token], at: int, end: int) -> Item | None:
    """A token, or several that stay as they are, as a piece of a run; None for what ends one."""
    token = tokens[at]
    if token.name in _BREAKING or token.kind == "opaque":
        return None
    if end > at:
        return Item("void", token.start, tokens[end].end) if _is_nested(tokens[at : end + 1]) else None
    if token.kind in ("text", "end"):
        kind: ItemKind | None = token.kind if token.name not in _VOID else None
    elif token.kind == "comment":
        is_plain = page.startswith("<!--", token.start) and not page.startswith("<!--[", token.start)
        kind = "void" if is_plain else None
    elif token.name in _VOID:
        kind = "void" if token.name in _INLINE_VOID else None
    else:
        is_closed = token.name not in _KNOWN_INLINE and attributes(page[token.start : token.end])[1]
        kind = "void" if is_closed else "start"
    return Item(kind, token.start, token.end, token.name) if kind else None


def _is_nested(tokens: Sequence[Token]) -> bool:
    """Whether these are inline tags that close each other, and text."""
    open_: list[str] = []
    for token in tokens:
        if token.kind == "opaque" or token.name in _BREAKING:
            return False
        if token.kind == "start" and token.name not in _VOID:
            open_.append(token.name)
        elif token.kind == "end" and (not open_ or open_.pop() != token.name):
            return False
    return not open_


def _untranslated(page: str, tokens: Sequence[Token]) -> dict[int, int]:
    """Elements whose text stays as it is: the places of the first and the last token of each."""
    ends: dict[int, int] = {}
    open_: list[tuple[str, int]] = []  # name and place; -1 for those that are translated
    names: Counter[str] = Counter()

    def close(last: int) -> str:
        name, first = open_.pop()
        names[name] -= 1
        if first >= 0:
            ends[first] = last
        return name

    for at, token in enumerate(tokens):
        if token.kind == "start" and token.name not in _VOID:
            if open_ and open_[-1][0] == token.name and token.name in _CLOSES_ITSELF:
                close(at - 1)
            open_.append((token.name, at if _is_kept(page, token) else -1))
            names[token.name] += 1
        elif token.kind == "end" and names[token.name]:
            while open_[-1][0] != token.name:
                close(at - 1)
            close(at)
    while open_:
        close(len(tokens) - 1)
    return ends


def _is_kept(page: str, token: Token) -> bool:
    if token.name in _VERBATIM:
        return True
    raw = page[token.start : token.end]
    if "translate" not in raw.lower():
        return False
    found, _ = attributes(raw)
    return found.get("translate", "").strip().lower() == "no" or "notranslate" in found.get("class", "").lower().split()


def _ends_with_break(page: str, run: Sequence[Item]) -> bool:
    for item in reversed(run):
        if item.kind != "text" or page[item.start : item.end].strip():
            return item.breaks
    return False


def _anchors_after(tokens: Sequence[Token], anchors: int) -> int:
    for token in tokens:
        if token.name == "a":
            anchors = anchors + 1 if token.kind == "start" else max(0, anchors - 1)
    return anchors


def _cut(page: str, run: Sequence[Item], anchors: int) -> tuple[int, list[list[Item]]]:
    """Cut a run at tags that cannot move, and tell how many links are open behind it.

    These are tags that are not closed, or not nested; links in links, which a browser closes; and all that hold such.
    """
    stays, partners, anchors = _matched(run, anchors)
    if not any(item.kind == "text" for item in run):
        return anchors, []
    before = [0, *accumulate(stays)]
    for start, end in partners:
        if before[end] > before[start + 1]:
            stays[start] = stays[end] = True
    found: list[list[Item]] = [[]]
    for item, is_barrier in zip(run, stays, strict=True):
        if not is_barrier:
            found[-1].append(item)
        elif found[-1]:
            found.append([])
    trimmed = (_trimmed(page, some) for some in found)
    return anchors, [some for some in trimmed if any(item.kind == "text" for item in some)]


def _matched(run: Sequence[Item], anchors: int) -> tuple[list[bool], list[tuple[int, int]], int]:
    """Which tags must stay, which belong together, and how many links are open in the end."""
    stays = [False] * len(run)
    partners: list[tuple[int, int]] = []
    open_: list[int] = []
    names: Counter[str] = Counter()

    def drop() -> None:
        nonlocal anchors
        place = open_.pop()
        stays[place] = True
        names[run[place].name] -= 1
        anchors += run[place].name == "a"

    for place, item in enumerate(run):
        if item.kind == "start":
            stays[place] = item.name == "a" and (anchors > 0 or names["a"] > 0)
            open_.append(place)
            names[item.name] += 1
        elif item.kind == "end" and not names[item.name]:
            stays[place] = True
            anchors = max(0, anchors - (item.name == "a"))
        elif item.kind == "end":
            while run[open_[-1]].name != item.name:
                drop()
            start = open_.pop()
            names[item.name] -= 1
            stays[place] = stays[start]
            partners.append((start, place))
    while open_:
        drop()
    return stays, partners, anchors


def _trimmed(page: str, run: list[Item]) -> list[Item]:
    """Without what stands at the ends and is no text."""
    start, end = 0, len(run)

    def is_bare(item: Item) -> bool:
        return item.kind == "void" or (item.kind == "text" and not page[item.start : item.end].strip())

    while start < end and is_bare(run[start]):
        start += 1
    while end > start and is_bare(run[end - 1]):
        end -= 1
    return run[start:end]
