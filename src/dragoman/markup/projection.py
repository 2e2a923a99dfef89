"""Tags follow the words they hold into the translation.

A target word belongs to the tags of the source words it is linked to. A tag becomes one stretch of the target: the one
with the most words that belong to it, less those between them that belong elsewhere; words without a link are filled
in. So a far outlier is left out, and does not stretch a tag over the sentence. Where there are weights, `Shares`, they
say how much of a word belongs to a tag, and the same is done by parts of words. Tags stay nested as they were, and each
comes exactly once: one whose words have no translation holds nothing, beside the translation of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.markup.insertion import Placed, written
from dragoman.markup.marked import Marked, Span
from dragoman.markup.placeholders import kept_strings, places_of
from dragoman.markup.punctuation import CLOSING
from dragoman.markup.runs import Run, Runs
from dragoman.markup.shares import Shares
from dragoman.markup.word_places import Word, WordPlaces

__all__ = ["project"]

_MOST_MARKS = 20  # and spaces that are looked back over


def project(
    source: Marked,
    source_words: Sequence[str],
    target: str,
    target_words: Sequence[str],
    links: Sequence[tuple[int, int]] | None,
    *,
    shares: Shares | None = None,
    spaced: Mapping[int, tuple[bool, bool]] | None = None,
) -> Marked:
    """Put the tags of a source into its translation. Never fails, whatever words and links are.

    Links are pairs of a source word and a target word, counted from 0; without any, words go by their place in the
    text. Instead of links there may be `shares`: then a tag becomes the stretch that has most of its words. Where a tag
    that holds nothing stood between spaces, a space may be added to the target, so that it does again; `spaced` says
    for tags whether to, left and right, where the text of the source does not tell.
    """
    kept = places_of(kept_strings(source.text, source.kept), source.text, target) or ()
    if target == source.text or not source.spans:
        return Marked(target, source.spans, kept)
    sides = WordPlaces(source.text, source_words, source.kept), WordPlaces(target, target_words, kept)
    projection = _Projection(source, *sides, Runs(source, *sides, links, shares))
    return written(target, projection.placed(spaced or {}), kept)


class _Projection:
    """One text under way."""

    def __init__(self, marked: Marked, source: WordPlaces, target: WordPlaces, runs: Runs) -> None:
        self._spans, self._source, self._target, self._runs = marked.spans, source, target, runs
        self._before, self._behind = _nearest(self._runs.images)

    def placed(self, spaced: Mapping[int, tuple[bool, bool]]) -> list[Placed]:
        """Where each tag stands in the target; it comes behind the one that holds it."""
        found: list[Placed] = []
        for place, (span, parent) in enumerate(zip(self._spans, self._runs.parents, strict=True)):
            low, high = (found[parent].start, found[parent].end) if parent >= 0 else (0, len(self._target.text))
            start, end = self._place(place, span, parent, (low, high))
            start, end = self._target.whole(start, before=start < end), self._target.whole(end)
            start = min(max(start, low), high)
            end = min(max(end, start), high)
            spaces = spaced.get(span.tag) or self._spaces(span, parent)
            found.append(Placed(place, parent, span.tag, start, end, *spaces))
        return found

    def _place(self, place: int, span: Span, parent: int, region: tuple[int, int]) -> tuple[int, int]:
        if place in self._runs.of:
            return self._edges(span, self._runs.words[place], self._runs.of[place])
        start = self._before_punctuation(span, self._empty_place(place, span, parent, region), region[0])
        text = "" if self._runs.words[place] else self._source.text[span.start : span.end].strip()
        return start, start + len(text) if self._target.text.startswith(text, start) else start

    def _edges(self, span: Span, words: range, run: Run) -> tuple[int, int]:
        """With the punctuation around its words, if the tag held such in the source; all of it, if it held all."""
        text, is_whole = self._source.text, len(words) == len(self._source)
        run = self._without_punctuation(text[span.start : span.end].strip(), run)
        start = self._start(span, words, run[0]) if not is_whole or text[: span.start].strip() else 0
        is_whole = is_whole and not text[span.end :].strip()
        return start, len(self._target.text) if is_whole else self._end(span, words, run[1])

    def _without_punctuation(self, held: str, run: Run) -> Run:
        """Words that are punctuation alone are not at the edge of a tag that held none there."""
        first, last = run
        while first < last and held[0].isalnum() and self._is_punctuation(first):
            first += 1
        while first < last and held[-1].isalnum() and self._is_punctuation(last):
            last -= 1
        return first, last

    def _is_punctuation(self, place: int) -> bool:
        word = self._target.words[place]
        return not any(char.isalnum() for char in self._target.text[word.start : word.end])

    def _start(self, span: Span, words: range, place: int) -> int:
        word = self._target.words[place]
        for origin in (words[0], *(each for each in self._runs.origins[place] if each in words)):
            other = self._source.words[origin]
            if span.start > other.first and self._is_alike(other, word):
                return word.start + span.start - other.start
            if other.start < other.first and span.start < other.first:
                return word.start
        return word.first

    def _end(self, span: Span, words: range, place: int) -> int:
        word = self._target.words[place]
        for origin in (words[-1], *(each for each in self._runs.origins[place] if each in words)):
            other = self._source.words[origin]
            if span.end < other.last and self._is_alike(other, word):
                return word.start + span.end - other.start
            if other.last < other.end and span.end > other.last:
                return word.end
        return word.last

    def _is_alike(self, source: Word, target: Word) -> bool:
        return self._source.text[source.start : source.end] == self._target.text[target.start : target.end]

    def _spaces(self, span: Span, parent: int) -> tuple[bool, bool]:
        """Whether a tag that held nothing had a space before it and behind it, in the tag that held it."""
        if span.start < span.end:
            return False, False
        text, at = self._source.text, span.start
        low, high = (self._spans[parent].start, self._spans[parent].end) if parent >= 0 else (0, len(text))
        return low < at and text[at - 1].isspace(), at < high and text[at].isspace()

    def _empty_place(self, place: int, span: Span, parent: int, region: tuple[int, int]) -> int:
        """Where a tag without words goes: beside the translation of the word it stood beside, in the tag it was in."""
        words = self._runs.words[place]
        left, right = (words[0] - 1, words[-1] + 1) if words else self._source.beside(span.start)
        if left == right:
            if self._runs.images[left]:
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
            return self._target.words[self._runs.images[before][-1]].end
        return self._target.words[self._runs.images[behind][0]].start

    def _before_punctuation(self, span: Span, place: int, low: int) -> int:
        """Before the punctuation that a place is behind, if the tag stood between a word and such; else that place."""
        before, following = self._source.text[span.start - 1 : span.start], self._source.text[span.end : span.end + 1]
        if span.start < span.end or not before or before in CLOSING or not following or following not in CLOSING:
            return place
        first = max(low, place - _MOST_MARKS)
        behind = self._target.text[first:place].rstrip()
        word = behind.rstrip(CLOSING).rstrip()
        return place if word in ("", behind) else first + len(word)

    def _within(self, at: int, origin: int) -> int:
        """The same place in the translation of a word."""
        source, target = self._source.words[origin], self._target.words[self._runs.images[origin][-1]]
        if self._is_alike(source, target):
            return target.start + at - source.start
        is_early = at <= source.first or at - source.first < source.last - at
        return self._target.words[self._runs.images[origin][0]].first if is_early else target.last

    def _belongs_left(self, at: int, words: tuple[int, int]) -> bool:
        """Whether a tag goes with the word before it: that is the nearer, or touches it, or the right one has moved."""
        (left, right), text, runs = words, self._source.text, self._runs
        before, behind = self._before[left], self._behind[right]
        far = (left - before, behind - right)
        if far[0] != far[1]:
            return far[0] < far[1]
        is_spaced = text[at - 1 : at].isspace(), text[at : at + 1].isspace()
        if is_spaced[0] != is_spaced[1]:
            return is_spaced[1]
        ahead, back = runs.images[before][-1] + 1, runs.images[behind][0] - 1
        follows = ahead == len(runs.origins) or any(origin > left for origin in runs.origins[ahead])
        return follows and not (back >= 0 and any(origin < right for origin in runs.origins[back]))


def _nearest(images: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """For each source word the nearest with a link, itself or before it; and itself or behind it."""
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
