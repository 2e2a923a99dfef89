"""Project the tags of a source text to its translation by word alignment.

A target word belongs to the tags of the source words it is linked to. Each tag gets one contiguous range of target
words: the range with the most words of the tag, minus the words in it that belong to other tags. Unlinked words inside
the range are included. A distant outlier is therefore excluded and does not extend the tag over the sentence. A
`SoftAlignment` replaces these counts by fractions of words. The nesting of the tags is preserved, and each tag occurs
exactly once: a tag whose words have no translation becomes empty, next to the translation of its neighbours. A tag
inside 64 others has the range of the tag around it, so that the time does not grow with the depth.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.markup.protected_spans import locate_placeholders, placeholder_strings
from dragoman.markup.soft_alignment import SoftAlignment
from dragoman.markup.tag_ranges import TagRanges, WordRange
from dragoman.markup.tagged_text import TaggedText, TagSpan
from dragoman.markup.word_spans import LocatedWords, WordSpan
from dragoman.text.characters import CLOSING, OPENING, is_spaceless

_MAX_MARKS = 20  # punctuation marks and spaces searched backwards


def project_tags(
    source: TaggedText,
    source_words: Sequence[str],
    target: str,
    target_words: Sequence[str],
    links: Sequence[tuple[int, int]] | None,
    *,
    shares: SoftAlignment | None = None,
    spaced: Mapping[int, tuple[bool, bool]] | None = None,
) -> TaggedText:
    """Project the tags of a source text to its translation. Any words and links are accepted.

    `links` are pairs of a source word and a target word, counted from 0; without links, words align by position.
    `shares` replaces links by a soft alignment. A space is added to the target where an empty tag was next to a space
    in the source. `spaced` overrides this per tag: whether to add a space before and after it.
    """
    kept = locate_placeholders(placeholder_strings(source.text, source.kept), source.text, target) or ()
    if target == source.text or not source.spans:
        return TaggedText(target, source.spans, kept)
    sides = LocatedWords(source.text, source_words, source.kept), LocatedWords(target, target_words, kept)
    projection = _Projection(source, *sides, TagRanges(source, *sides, links, shares))
    return insert_tags(target, projection.placed(spaced or {}), kept)


class _Projection:
    """Positions of the tags of one text."""

    def __init__(self, tagged: TaggedText, source: LocatedWords, target: LocatedWords, ranges: TagRanges) -> None:
        self._spans, self._source, self._target, self._ranges = tagged.spans, source, target, ranges
        self._before, self._behind = _nearest(self._ranges.images)

    def placed(self, spaced: Mapping[int, tuple[bool, bool]]) -> list[PlacedTag]:
        """Return the position of each tag in the target, in the order of the source: parents before children."""
        found: list[PlacedTag] = []
        for place, (span, parent) in enumerate(zip(self._spans, self._ranges.parents, strict=True)):
            low, high = (found[parent].start, found[parent].end) if parent >= 0 else (0, len(self._target.text))
            start, end = self._place(place, span, parent, (low, high))
            start, end = self._target.outside_kept(start, before=start < end), self._target.outside_kept(end)
            start = min(max(start, low), high)
            end = min(max(end, start), high)
            spaces = spaced.get(span.tag) or self._spaces(span, parent)
            found.append(PlacedTag(place, parent, span.tag, start, end, *spaces))
        return found

    def _place(self, place: int, span: TagSpan, parent: int, region: tuple[int, int]) -> tuple[int, int]:
        if place in self._ranges.inherited:
            return region
        if place in self._ranges.by_span:
            return self._edges(span, self._ranges.words[place], self._ranges.by_span[place])
        start = self._before_punctuation(span, self._empty_place(place, span, parent, region), region[0])
        text = "" if self._ranges.words[place] else self._source.text[span.start : span.end].strip()
        return start, start + len(text) if self._target.text.startswith(text, start) else start

    def _edges(self, span: TagSpan, words: range, word_range: WordRange) -> tuple[int, int]:
        """Return a tag's edges: with punctuation if the source had it there, the whole text if it had all words."""
        text, is_whole = self._source.text, len(words) == len(self._source)
        word_range = self._without_punctuation(text[span.start : span.end].strip(), word_range)
        start = self._start(span, words, word_range[0]) if not is_whole or text[: span.start].strip() else 0
        is_whole = is_whole and not text[span.end :].strip()
        return start, len(self._target.text) if is_whole else self._end(span, words, word_range[1])

    def _without_punctuation(self, held: str, word_range: WordRange) -> WordRange:
        """Remove punctuation-only words from an edge at which the source tag had no punctuation."""
        first, last = word_range
        while first < last and held[:1].isalnum() and self._is_punctuation(first):
            first += 1
        while first < last and held[-1:].isalnum() and self._is_punctuation(last):
            last -= 1
        return first, last

    def _is_punctuation(self, place: int) -> bool:
        word = self._target.words[place]
        return not any(char.isalnum() for char in self._target.text[word.start : word.end])

    def _start(self, span: TagSpan, words: range, place: int) -> int:
        word = self._target.words[place]
        for origin in (words[0], *(each for each in self._ranges.origins[place] if each in words)):
            other = self._source.words[origin]
            if span.start > other.first and self._has_equal_text(other, word):
                return word.start + span.start - other.start
            if other.start < other.first and span.start < other.first:
                return word.start
        return word.first

    def _end(self, span: TagSpan, words: range, place: int) -> int:
        word = self._target.words[place]
        for origin in (words[-1], *(each for each in self._ranges.origins[place] if each in words)):
            other = self._source.words[origin]
            if span.end < other.last and self._has_equal_text(other, word):
                return word.start + span.end - other.start
            if other.last < other.end and span.end > other.last:
                return word.end
        return word.last

    def _has_equal_text(self, source: WordSpan, target: WordSpan) -> bool:
        return self._source.text[source.start : source.end] == self._target.text[target.start : target.end]

    def _spaces(self, span: TagSpan, parent: int) -> tuple[bool, bool]:
        """Whether an empty tag had a space before and after it, within its parent."""
        if span.start < span.end:
            return False, False
        text, at = self._source.text, span.start
        low, high = (self._spans[parent].start, self._spans[parent].end) if parent >= 0 else (0, len(text))
        return low < at and text[at - 1].isspace(), at < high and text[at].isspace()

    def _empty_place(self, place: int, span: TagSpan, parent: int, region: tuple[int, int]) -> int:
        """Return the position of a tag without words: next to the translation of its neighbour, within its parent."""
        words = self._ranges.words[place]
        left, right = (words[0] - 1, words[-1] + 1) if words else self._source.neighbours(span.start)
        if left == right:
            if self._ranges.images[left]:
                return self._within(span.start, left)
            left, right = left - 1, right + 1
        around = range(len(self._source))
        if parent >= 0:
            around = self._source.touching(self._spans[parent].start, self._spans[parent].end)
        if left not in around or right not in around:
            return region[1] if left in around else region[0]
        before, behind = self._before[left], self._behind[right]
        if before not in around and behind not in around:
            return region[0]
        is_left = behind not in around or (before in around and self._belongs_left(span.start, (left, right)))
        if is_left:
            return self._target.words[self._ranges.images[before][-1]].end
        return self._target.words[self._ranges.images[behind][0]].start

    def _before_punctuation(self, span: TagSpan, place: int, low: int) -> int:
        """Move a position before the punctuation it follows, if the source tag was between a word and punctuation."""
        before = self._source.text[max(0, span.start - _MAX_MARKS) : span.start].rstrip()[-1:]
        following = self._source.text[span.end : span.end + 1]
        if span.start < span.end or not before or before in CLOSING or not following or following not in CLOSING:
            return place
        first = max(low, place - _MAX_MARKS)
        behind = self._target.text[first:place].rstrip()
        word = behind.rstrip(CLOSING).rstrip()
        return place if word in ("", behind) else first + len(word)

    def _within(self, at: int, origin: int) -> int:
        """Return the position in the translation of a word that corresponds to a position in the word."""
        source, target = self._source.words[origin], self._target.words[self._ranges.images[origin][-1]]
        if self._has_equal_text(source, target):
            return target.start + at - source.start
        if at > source.last:  # among the marks after a word: as many marks stay after it as in the source
            marks = min(at - source.last, max(0, target.end - target.last - (source.end - at)))
            following = self._source.text[at : source.end][:1]
            if following and following not in self._source.text[source.last : at]:  # repeated marks stay together
                marks = len(self._target.text[target.last : target.last + marks].partition(following)[0])
            return target.last + marks
        is_early = at <= source.first or at - source.first < source.last - at
        return self._target.words[self._ranges.images[origin][0]].first if is_early else target.last

    def _belongs_left(self, at: int, words: tuple[int, int]) -> bool:
        """Whether a tag follows the word before it: it is nearer, touches the tag, or the word after was reordered."""
        (left, right), text, ranges = words, self._source.text, self._ranges
        before, behind = self._before[left], self._behind[right]
        far = (left - before, behind - right)
        if far[0] != far[1]:
            return far[0] < far[1]
        is_spaced = text[at - 1 : at].isspace(), text[at : at + 1].isspace()
        if is_spaced[0] != is_spaced[1]:
            return is_spaced[1]
        ahead, back = ranges.images[before][-1] + 1, ranges.images[behind][0] - 1
        follows = ahead == len(ranges.origins) or any(origin > left for origin in ranges.origins[ahead])
        return follows and not (back >= 0 and any(origin < right for origin in ranges.origins[back]))


def _nearest(images: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return for each source word the nearest linked word at or before it, and the nearest at or after it."""
    before, behind = [-1] * len(images), [len(images)] * len(images)
    last = -1
    for place in range(len(images)):
        last = place if images[place] else last
        before[place] = last
    last = len(images)
    for place in range(len(images) - 1, -1, -1):
        last = place if images[place] else last
        behind[place] = last
    return before, behind


@dataclass(slots=True)
class PlacedTag:
    """A tag with its position in the target.

    `place` and `parent` are the indices of its span and of the enclosing span in the source. `space_before` and
    `space_behind` request a space next to an empty tag if the target has none there.
    """

    place: int
    parent: int
    tag: int
    start: int
    end: int
    space_before: bool = False
    space_behind: bool = False


def insert_tags(text: str, placed: Sequence[PlacedTag], kept: Sequence[tuple[int, int]]) -> TaggedText:
    """Return the text with these tags, given in the order of the source, outer before inner."""
    children: dict[int, list[PlacedTag]] = {}
    for each in placed:
        children.setdefault(each.parent, []).append(each)
    writer = _Writer(text)
    levels = [iter(_in_order(children.get(-1, [])))]
    open_: list[tuple[PlacedTag, int]] = []
    while levels:
        inner = next(levels[-1], None)
        if inner is not None:
            open_.append((inner, writer.begin(inner, len(open_))))
            levels.append(iter(_in_order(children.get(inner.place, []))))
            continue
        levels.pop()
        if open_:
            writer.end(*open_.pop())
    return writer.finish(kept)


class _Writer:
    """A text under construction and the current position in its source."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._fragments: list[str] = []
        self._length = 0
        self._spaces: list[int] = []  # positions in the text at which a space was added
        self._spans: list[TagSpan] = []

    def begin(self, each: PlacedTag, depth: int) -> int:
        self._move(each.start)
        last = self._fragments[-1][-1] if self._fragments else ""
        if each.space_before and last and not (last.isspace() or last in OPENING or is_spaceless(last)):
            self._add_space()
        self._spans.append(TagSpan(self._length, self._length, each.tag, depth))
        return len(self._spans) - 1

    def end(self, each: PlacedTag, number: int) -> None:
        self._move(each.end)
        span = self._spans[number]
        self._spans[number] = TagSpan(span.start, self._length, span.tag, span.depth)
        following = self._text[self._at : self._at + 1]
        if (
            each.space_behind
            and following
            and not (following.isspace() or following in CLOSING or is_spaceless(following))
        ):
            self._add_space()

    def finish(self, kept: Sequence[tuple[int, int]]) -> TaggedText:
        self._move(len(self._text))
        moved = ((start + self._added(start), end + self._added(start)) for start, end in kept)
        return TaggedText("".join(self._fragments), tuple(self._spans), tuple(moved))

    def _added(self, place: int) -> int:
        return bisect_right(self._spaces, place)

    def _move(self, to: int) -> None:
        if to > self._at:
            self._fragments.append(self._text[self._at : to])
            self._length += to - self._at
            self._at = to

    def _add_space(self) -> None:
        self._fragments.append(" ")
        self._spaces.append(self._at)
        self._length += 1


def _in_order(brothers: Sequence[PlacedTag]) -> list[PlacedTag]:
    """Order the children of one tag from left to right and make them disjoint; the later of two is shortened."""
    held = sorted((each for each in brothers if each.start < each.end), key=lambda each: each.start)
    end = 0
    for each in held:
        each.start = max(each.start, end)
        each.end = max(each.start, each.end)
        end = each.end
    held = [each for each in held if each.start < each.end]
    starts = [each.start for each in held]
    for each in brothers:
        around = bisect_left(starts, each.start) - 1
        if each.start == each.end and around >= 0 and each.start < held[around].end:
            each.start = each.end = held[around].start if each.place < held[around].place else held[around].end
    return sorted(brothers, key=lambda each: (each.start, each.end > each.start, each.place))
