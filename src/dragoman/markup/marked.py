"""A text and what stands in it besides words."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.text.characters import has_letters

__all__ = ["Marked", "Span"]


@dataclass(frozen=True, slots=True)
class Span:
    """What a tag holds, ``text[start:end]``; where both are the same it holds nothing and stands between (``<br>``).

    `tag` says which of the source's tags it is. `depth`, how many tags hold it, matters only for a tag that holds
    nothing and stands at the edge of another: with the same depth it stands beside that one, with a greater one in it.
    """

    start: int
    end: int
    tag: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Marked:
    """A text without its tags, where they stand in it, and what of the text must not change by a byte.

    Spans are nested: of two, one holds the other or they do not touch. The outer comes before the inner, the left
    before the right. `kept` are placeholders and addresses, ``text[start:end]``, apart from each other, in order.
    """

    text: str
    spans: tuple[Span, ...] = ()
    kept: tuple[tuple[int, int], ...] = ()

    @property
    def has_words(self) -> bool:
        """Whether there is a letter in the text, but for what is kept."""
        done = 0
        for start, end in (*self.kept, (len(self.text), len(self.text))):
            if has_letters(self.text[done:start]):
                return True
            done = end
        return False
