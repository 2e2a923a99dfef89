"""Data class of a text without markup, with the spans of its tags and of parts that must not change."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.text.characters import has_letters

__all__ = ["TagSpan", "TaggedText"]


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


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text without its tags, the spans of the tags, and the parts of the text that must stay byte-identical.

    Of two spans one encloses the other or they are disjoint. Outer spans come before inner ones, left before right.
    `kept` are the positions of placeholders and addresses, ``text[start:end]``, disjoint and in order.
    """

    text: str
    spans: tuple[TagSpan, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether the text has a letter outside its kept parts."""
        done = 0
        for start, end in (*self.kept, (len(self.text), len(self.text))):
            if has_letters(self.text[done:start]):
                return True
            done = end
        return False
