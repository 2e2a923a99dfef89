"""Apply a function to the texts of a data frame that match a pattern, and return the changed sentence pairs."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from dragoman.data.reason_counts import Example
from dragoman.data.token_pairs import SIDES

__all__ = ["TextChange", "change_matching_texts"]


@dataclass(frozen=True)
class TextChange:
    """A pair before and after a change."""

    line: int
    source: str
    target: str
    new_source: str
    new_target: str

    @property
    def altered(self) -> list[tuple[str, str]]:
        """Each altered side, before and after."""
        sides = [(self.source, self.new_source), (self.target, self.new_target)]
        return [(before, after) for before, after in sides if before != after]

    def example(self, file: str, detail: str = "") -> Example:
        """Return the original pair as an example; the default detail is the new text."""
        after = " ||| ".join(after for _, after in self.altered)
        return Example(file, self.line, self.source, self.target, detail or after)


def change_matching_texts(
    frame: pl.DataFrame, pattern: str, alter: Callable[[str], str]
) -> tuple[pl.DataFrame, list[TextChange]]:
    """Alter the texts that match the pattern; return the new frame and every pair that changed.

    `alter` is called for matching texts only, so it may be slow.
    """
    columns = {side: _alter_side(frame[side], pattern, alter) for side in SIDES}
    changed = sorted({row for _, rows in columns.values() for row in rows})
    if not changed:
        return frame, []
    repaired = frame.with_columns(**{side: column for side, (column, _) in columns.items()})
    before = frame[changed].select("line", *SIDES).rows()
    after = repaired[changed].select(*SIDES).rows()
    return repaired, [TextChange(*old, *new) for old, new in zip(before, after, strict=True)]


def _alter_side(texts: pl.Series, pattern: str, alter: Callable[[str], str]) -> tuple[pl.Series, list[int]]:
    rows = texts.str.contains(pattern).arg_true()
    before = texts[rows].to_list() if len(rows) else []
    changes = [(row, new) for row, old in zip(rows.to_list(), before, strict=True) if (new := alter(old)) != old]
    if not changes:
        return texts, []
    changed = [row for row, _ in changes]
    return texts.clone().scatter(changed, [new for _, new in changes]), changed
