"""Replace protected spans of a text by empty tags before translation and restore them afterwards."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dragoman.markup.tagged_text import TaggedText, TagSpan, parent_indices, walk_tags
from dragoman.text.characters import CLOSING, PAIRS, STOPS, joins

_INNERMOST = 1 << 30  # deeper than any tag: a tag that only touches a kept part is not inside it


@dataclass(frozen=True)
class MaskedText:
    """A text in which each kept part is replaced by an empty tag.

    `kept` maps the tag to the removed text and to the start and end of the kept part in it. The removed text includes
    brackets directly around the part, and punctuation directly after a part that starts a sentence. `spaced` maps the
    tag to whether a space was before and after it, `joined` and `apart` the part to whether a letter or a space was.
    """

    tagged: TaggedText
    kept: dict[int, tuple[str, int, int]]
    spaced: dict[int, tuple[bool, bool]]
    joined: dict[int, tuple[bool, bool]]
    apart: dict[int, tuple[bool, bool]]

    def restore(self, translated: TaggedText) -> TaggedText:
        """Return the translation of the masked text with each kept part in place of its tag."""
        text = _TextBuilder()
        spans: list[TagSpan] = []
        kept: list[tuple[int, int]] = []
        open_: list[int] = []
        for fragment in walk_tags(translated):
            if isinstance(fragment, str):
                text.add(fragment)
            elif fragment.span.tag in self.kept:
                if not fragment.is_end:
                    part, start, end = self.kept[fragment.span.tag]
                    before = text.length
                    place = text.add_apart(part, self.joined[fragment.span.tag], self.apart[fragment.span.tag])
                    for number in reversed(open_ if place > before else ()):
                        if spans[number].start < before:
                            break
                        spans[number] = replace(spans[number], start=place)  # keep an added space outside the tags
                    kept.append((place + start, place + end))
            elif fragment.is_end:
                begun = spans[open_[-1]]
                spans[open_.pop()] = replace(begun, end=text.length)
            else:
                spans.append(TagSpan(text.length, text.length, fragment.span.tag, len(open_)))
                open_.append(len(spans) - 1)
        return TaggedText(text.build(), tuple(spans), tuple(kept))


class _TextBuilder:
    """A text under construction."""

    def __init__(self) -> None:
        self._fragments: list[str] = []
        self._may_join = True
        self._is_apart: bool | None = None  # whether a space was after the kept part that the text ends with
        self.length = 0

    def add(self, fragment: str) -> None:
        if not self._may_join and joins(fragment[0]):
            self._append(" ")
        self._append(fragment)
        self._may_join, self._is_apart = True, None

    def add_apart(self, part: str, joined: tuple[bool, bool], apart: tuple[bool, bool]) -> int:
        """Add a part that letters may touch only where they did in the source; return its position.

        Between two parts is a space if one was between them and other text, and after a colon or a comma if one was
        before the part.
        """
        is_after_part = self._is_apart is not None
        last = self._fragments[-1][-1] if self._fragments else ""
        is_after_sign = apart[0] and last in (":", ";", ",")
        if (is_after_part and (self._is_apart or apart[0])) or is_after_sign or (joins(last) and not joined[0]):
            self._append(" ")
        self._append(part)
        self._may_join, self._is_apart = joined[1], apart[1]
        return self.length - len(part)

    def build(self) -> str:
        return "".join(self._fragments)

    def _append(self, fragment: str) -> None:
        self._fragments.append(fragment)
        self.length += len(fragment)


def mask_protected(tagged: TaggedText) -> MaskedText:
    """Replace the kept parts of a text by empty tags."""
    first = 1 + max((span.tag for span in tagged.spans), default=-1)
    parts = [TagSpan(*place, first + n, _INNERMOST) for n, place in enumerate(_with_punctuation(tagged))]
    kept = {
        part.tag: (tagged.text[part.start : part.end], start - part.start, end - part.start)
        for part, (start, end) in zip(parts, tagged.kept, strict=True)
    }
    text, place = _without(tagged.text, parts)
    spans = _merged(tagged.spans, parts)
    held_by = parent_indices(spans)
    depths: list[int] = []
    for parent in held_by:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    left = tuple(
        TagSpan(place[span.start], place[span.end], span.tag, depth) for span, depth in zip(spans, depths, strict=True)
    )
    around = {
        part.tag: (tagged.text[part.start - 1 : part.start], tagged.text[part.end : part.end + 1]) for part in parts
    }
    joined = {tag: (joins(before), joins(behind)) for tag, (before, behind) in around.items()}
    apart = {tag: (before.isspace(), behind.isspace()) for tag, (before, behind) in around.items()}
    return MaskedText(TaggedText(text, left), kept, _spaced(tagged.text, spans, held_by, kept), joined, apart)


def _with_punctuation(tagged: TaggedText) -> Iterator[tuple[int, int]]:
    """Yield the kept parts with their surrounding brackets, never across the edge of a tag and never twice."""
    text = tagged.text
    edges = {edge for span in tagged.spans for edge in (span.start, span.end)}
    low = 0
    for number, (start, end) in enumerate(tagged.kept):
        high = tagged.kept[number + 1][0] if number + 1 < len(tagged.kept) else len(text)
        while start > low and start not in edges:
            closing = _behind_stops(text, end, high, edges)
            if closing >= high or closing in edges or PAIRS.get(text[start - 1]) != text[closing]:
                break
            start, end = start - 1, closing + 1
        before = text[max(low, start - 2) : start].rstrip()
        stops = _behind_stops(text, end, high, edges)
        if (not before or before[-1] in CLOSING) and text[stops : stops + 1].isspace():
            end = stops  # otherwise a text or sentence would start with punctuation
        yield start, end
        low = end


def _behind_stops(text: str, at: int, high: int, edges: set[int]) -> int:
    while at < high and at not in edges and text[at] in STOPS:
        at += 1
    return at


def _spaced(
    text: str, spans: list[TagSpan], held_by: list[int], kept: dict[int, tuple[str, int, int]]
) -> dict[int, tuple[bool, bool]]:
    """Return the tags with a space before or after: a kept part, or the outermost tag that starts or ends with it."""
    before, behind = set(), set()
    for number, part in enumerate(spans):
        if part.tag in kept:
            first = last = number
            while held_by[first] >= 0 and spans[held_by[first]].start == part.start:
                first = held_by[first]
            while held_by[last] >= 0 and spans[held_by[last]].end == part.end:
                last = held_by[last]
            before |= {spans[first].tag} if text[part.start - 1 : part.start].isspace() else set()
            behind |= {spans[last].tag} if text[part.end : part.end + 1].isspace() else set()
    return {tag: (tag in before, tag in behind) for tag in kept.keys() | before | behind}


def _without(text: str, parts: list[TagSpan]) -> tuple[str, list[int]]:
    """Return the text without the parts and the new position of each character; spaces before commas are dropped."""
    fragments: list[str] = []
    places: list[int] = []
    length = at = 0
    for part in parts:
        before = text[at : part.start]
        if before.endswith(" ") and text[part.end : part.end + 1] in CLOSING:  # also true at the end of the text
            before = before[:-1]
        fragments.append(before)
        places += [min(length + offset, length + len(before)) for offset in range(part.start - at)]
        length += len(before)
        places += [length] * (part.end - part.start)
        at = part.end
    places += [length + offset for offset in range(len(text) - at + 1)]
    whole = "".join([*fragments, text[at:]])
    lead, bare = len(whole) - len(whole.lstrip()), whole.strip()
    return bare, [min(max(place - lead, 0), len(bare)) for place in places]


def _merged(spans: tuple[TagSpan, ...], parts: list[TagSpan]) -> list[TagSpan]:
    """Merge tags and kept parts in order, outer before inner."""
    found: list[TagSpan] = []
    waiting = list(reversed(parts))
    for span in spans:
        while waiting and _comes_before(waiting[-1], span):
            found.append(waiting.pop())
        found.append(span)
    return found + waiting[::-1]


def _comes_before(part: TagSpan, span: TagSpan) -> bool:
    return part.start < span.start or (part.start == span.start < span.end < part.end)
