"""Find the translatable segments of an HTML page: text and inline tags between block elements.

Only tags that are nested and closed within a segment move with their words. All other tags keep their position and
split the segment, so that a browser builds the same elements from the translation.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from dragoman.markup.html_tokenizer import HtmlToken, parse_attributes
from dragoman.text.characters import CLOSING, OPENING


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VOID = _names("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
_INLINE_VOID = _names("br img wbr")
_BLOCKS = _names(
    "address article aside blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu menuitem "
    "nav ol optgroup option p plaintext pre search section select summary table tbody td tfoot th thead tr ul xmp"
)
# Elements with special parsing rules, and elements that are not part of a sentence.
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


_STAND_IN = "\0"  # name of an empty ignored element; no tag has it
_BEFORE_WORDS = OPENING.replace("<", "") + ">"  # ">" ends another tag
_BEHIND_WORDS = CLOSING.replace(">", "") + "<"

ItemKind = Literal["text", "start", "end", "void"]


class HtmlItem(NamedTuple):
    """A part of a segment: text, a tag, or `void`, which has no translatable text and is copied verbatim."""

    kind: ItemKind
    start: int
    end: int
    name: str = ""

    @property
    def breaks(self) -> bool:
        return self.name == "br"


def find_segments(page: str, tokens: Sequence[HtmlToken], ignored: Collection[str] = ()) -> Iterator[list[HtmlItem]]:
    """Yield the segments of a page in order; each contains text, and its tags are nested.

    The elements with `ignored` names are not translated.
    """
    ends = _untranslated(page, tokens, ignored)
    anchors = 0  # links that are still open
    run: list[HtmlItem] = []
    at = 0
    while at < len(tokens):
        end = ends.get(at, at)
        item = _item(page, tokens, at, end, ignored)
        if item is not None and not (item.breaks and _ends_with_break(page, run)):
            run.append(item)
        else:
            anchors, found = _cut(page, run, anchors)
            yield from found
            run = []
            anchors = _anchors_after(tokens[at : end + 1], anchors)
        at = end + 1
    yield from _cut(page, run, anchors)[1]


def _item(page: str, tokens: Sequence[HtmlToken], at: int, end: int, ignored: Collection[str]) -> HtmlItem | None:
    """Convert a token, or a range of untranslated tokens, to an item; None if it ends the segment."""
    token = tokens[at]
    if token.name in _BREAKING or token.kind == "opaque":
        return None
    if end > at:
        name = _STAND_IN if token.name in ignored and all(each.kind != "text" for each in tokens[at:end]) else ""
        return HtmlItem("void", token.start, tokens[end].end, name) if _is_nested(tokens[at : end + 1]) else None
    if token.kind in ("text", "end"):
        kind: ItemKind | None = token.kind if token.name not in _VOID else None
    elif token.kind == "comment":
        is_plain = token.name or (page.startswith("<!--", token.start) and not page.startswith("<!--[", token.start))
        kind = "void" if is_plain else None
    elif token.name in _VOID:
        kind = "void" if token.name in _INLINE_VOID else None
    else:
        is_closed = token.name not in _KNOWN_INLINE and parse_attributes(page[token.start : token.end])[1]
        kind = "void" if is_closed else "start"
        if is_closed and token.name in ignored:
            return HtmlItem(kind, token.start, token.end, _STAND_IN)
    return HtmlItem(kind, token.start, token.end, token.name) if kind else None


def _is_nested(tokens: Sequence[HtmlToken]) -> bool:
    """Whether the tokens are text and properly nested inline tags."""
    open_: list[str] = []
    for token in tokens:
        if token.kind == "opaque" or token.name in _BREAKING:
            return False
        if token.kind == "start" and token.name not in _VOID:
            open_.append(token.name)
        elif token.kind == "end" and (not open_ or open_.pop() != token.name):
            return False
    return not open_


def _untranslated(page: str, tokens: Sequence[HtmlToken], ignored: Collection[str]) -> dict[int, int]:
    """Return the index of the last token of each untranslated element, by the index of its first."""
    ends: dict[int, int] = {}
    open_: list[tuple[str, int]] = []  # name and index; -1 for a translated element
    names: Counter[str] = Counter()

    def close(last: int) -> str:
        name, first = open_.pop()
        names[name] -= 1
        if first >= 0:
            ends[first] = last
        return name

    for at, token in enumerate(tokens):
        if token.kind == "start" and token.name not in _VOID:
            is_ignored = token.name in ignored
            if is_ignored and parse_attributes(page[token.start : token.end])[1]:
                continue  # <x id="1"/> contains nothing
            if open_ and open_[-1][0] == token.name and token.name in _CLOSES_ITSELF:
                close(at - 1)
            open_.append((token.name, at if is_ignored or _is_kept(page, token) else -1))
            names[token.name] += 1
        elif token.kind == "end" and names[token.name]:
            while open_[-1][0] != token.name:
                close(at - 1)
            close(at)
    while open_:
        close(len(tokens) - 1)
    return ends


def _is_kept(page: str, token: HtmlToken) -> bool:
    if token.name in _VERBATIM:
        return True
    raw = page[token.start : token.end]
    if "translate" not in raw.lower():
        return False
    found, _ = parse_attributes(raw)
    return found.get("translate", "").strip().lower() == "no" or "notranslate" in found.get("class", "").lower().split()


def _ends_with_break(page: str, run: Sequence[HtmlItem]) -> bool:
    for item in reversed(run):
        if item.kind != "text" or page[item.start : item.end].strip():
            return item.breaks
    return False


def _anchors_after(tokens: Sequence[HtmlToken], anchors: int) -> int:
    for token in tokens:
        if token.name == "a" and token.kind != "comment":
            anchors = anchors + 1 if token.kind == "start" else max(0, anchors - 1)
    return anchors


def _cut(page: str, run: Sequence[HtmlItem], anchors: int) -> tuple[int, list[list[HtmlItem]]]:
    """Split a segment at tags that cannot move; also return the number of links open after it.

    Tags that cannot move: unclosed or badly nested tags, links inside links (a browser closes the outer link), and
    every tag that contains one of these.
    """
    run = _with_pairs(page, run)
    stays, partners, anchors = _matched(run, anchors)
    if not any(item.kind == "text" for item in run):
        return anchors, []
    before = [0, *accumulate(stays)]
    for start, end in partners:
        if before[end] > before[start + 1]:
            stays[start] = stays[end] = True
    found: list[list[HtmlItem]] = [[]]
    for item, is_barrier in zip(run, stays, strict=True):
        if not is_barrier:
            found[-1].append(item)
        elif found[-1]:
            found.append([])
    trimmed = (_trimmed(page, some) for some in found)
    return anchors, [some for some in trimmed if any(item.kind == "text" for item in some)]


def _with_pairs(page: str, run: Sequence[HtmlItem]) -> Sequence[HtmlItem]:
    """Pair stand-ins that enclose words, as those of a client's ``<b>`` and ``</b>`` do: they keep their order."""
    found = list(run)
    open_: list[int] = []
    place = 0
    while place < len(run):
        last = place
        if run[place].kind in ("start", "end") or run[place].breaks:
            open_ = []  # a pair must not cross other tags
        elif run[place].name == _STAND_IN:
            while last + 1 < len(run) and run[last + 1].name == _STAND_IN:
                last += 1
            before, after = page[run[place].start - 1 : run[place].start], page[run[last].end : run[last].end + 1]
            is_behind_word = bool(before) and before not in _BEFORE_WORDS and not before.isspace()
            is_before_word = bool(after) and after not in _BEHIND_WORDS and not after.isspace()
            for each in range(place, last + 1):
                if is_before_word and not is_behind_word:
                    open_.append(each)
                elif is_behind_word and not is_before_word and open_:
                    start = open_.pop()
                    found[start], found[each] = found[start]._replace(kind="start"), run[each]._replace(kind="end")
        place = last + 1
    return found


def _matched(run: Sequence[HtmlItem], anchors: int) -> tuple[list[bool], list[tuple[int, int]], int]:
    """Return which tags cannot move, the pairs of start and end tags, and the number of links open at the end."""
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


def _trimmed(page: str, run: list[HtmlItem]) -> list[HtmlItem]:
    """Remove what stays in place: items and pairs of tags without text at both ends, and tags around all the rest."""
    partner: dict[int, int] = {}
    open_: list[int] = []
    words = [0]  # number of text items before each item
    for place, item in enumerate(run):
        words.append(words[-1] + (item.kind == "text" and not page[item.start : item.end].isspace()))
        if item.kind == "start":
            open_.append(place)
        elif item.kind == "end":
            partner[place] = open_.pop()
            partner[partner[place]] = place
    start, end = 0, len(run)
    while start < end:
        after = max(start, partner.get(start, start)) + 1  # end of the first item or pair, and begin of the last one
        before = min(end - 1, partner.get(end - 1, end - 1))
        if words[after] == words[start]:
            start = after
        elif words[end] == words[before]:
            end = before
        elif after == end and end - start > 1:
            start, end = start + 1, end - 1
        else:
            break
    return run[start:end]
