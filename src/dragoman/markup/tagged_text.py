"""Text with tags, and the check that tags are correctly nested."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import NamedTuple

from dragoman.text.characters import has_letters


@dataclass(frozen=True, slots=True)
class TagSpan:
    """The content of a tag, ``text[start:end]``; empty for a tag such as ``<br>``.

    `tag` is the number of the tag in the source. `depth` is the number of enclosing tags. It matters only for an empty
    tag at the edge of another tag: with the same depth it is outside that tag, with a greater depth inside.
    """

    start: int
    end: int
    tag: int
    depth: int = 0


class Remembered(NamedTuple):
    """The unit of a translation memory that a translation is taken from."""

    score: int
    source: str
    text: str
    memory: str


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text without its tags, the spans of the tags, and the parts of the text that must stay byte-identical.

    Of two spans one encloses the other or they are disjoint. Outer spans come before inner ones, left before right.
    `kept` are the positions of placeholders and addresses, ``text[start:end]``, disjoint and in order.
    """

    text: str
    spans: tuple[TagSpan, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()
    remembered: Remembered | None = field(default=None, compare=False)

    def with_marks(self, marks: Mapping[int, str]) -> "TaggedText":
        """Return the text with other strings in place of some characters, and the tags at the same places."""
        fragments = [marks.get(place, letter) for place, letter in enumerate(self.text)]
        moved = [0, *accumulate(map(len, fragments))]
        spans = tuple(replace(span, start=moved[span.start], end=moved[span.end]) for span in self.spans)
        return TaggedText("".join(fragments), spans, tuple((moved[start], moved[end]) for start, end in self.kept))

    @property
    def has_words(self) -> bool:
        """Whether the text has a letter outside its kept parts."""
        done = 0
        for start, end in (*self.kept, (len(self.text), len(self.text))):
            if has_letters(self.text[done:start]):
                return True
            done = end
        return False


class TagEdge(NamedTuple):
    """Start or end of a tag."""

    span: TagSpan
    is_end: bool


def parent_indices(spans: Sequence[TagSpan]) -> list[int]:
    """Return for each span the index of its innermost enclosing span, or -1."""
    found: list[int] = []
    open_: list[int] = []
    for place, span in enumerate(spans):
        while open_ and not _holds(spans[open_[-1]], span):
            open_.pop()
        found.append(open_[-1] if open_ else -1)
        open_.append(place)
    return found


def walk_tags(tagged: TaggedText) -> Iterator[str | TagEdge]:
    """Yield non-empty fragments of the text and, between them, the edges of the tags; edges are always nested."""
    at = 0
    open_: list[TagSpan] = []
    for span in tagged.spans:
        while open_ and not _holds(open_[-1], span):
            end = max(at, open_[-1].end)
            if end > at:
                yield tagged.text[at:end]
            yield TagEdge(open_.pop(), is_end=True)
            at = end
        if span.start > at:
            yield tagged.text[at : span.start]
            at = span.start
        yield TagEdge(span, is_end=False)
        open_.append(span)
    while open_:
        end = max(at, open_[-1].end)
        if end > at:
            yield tagged.text[at:end]
        yield TagEdge(open_.pop(), is_end=True)
        at = end
    if at < len(tagged.text):
        yield tagged.text[at:]


def _holds(outer: TagSpan, inner: TagSpan) -> bool:
    if inner.start < outer.start or inner.end > outer.end:
        return False
    return inner.start < inner.end or outer.start < inner.start < outer.end or inner.depth > outer.depth
