"""Altering the few texts of a frame that need it."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from dragoman.data.pairs import SIDES
from dragoman.data.tally import Example

__all__ = ["Change", "mend"]


@dataclass(frozen=True)
class Change:
    """A pair before and after; a side that was not altered is the same in both."""

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
        """Return the pair as it was, for a report; unless told otherwise, the detail is what it became."""
        after = " ||| ".join(after for _, after in self.altered)
        return Example(file, self.line, self.source, self.target, detail or after)


def mend(frame: pl.DataFrame, pattern: str, alter: Callable[[str], str]) -> tuple[pl.DataFrame, list[Change]]:
    """Alter the texts in which the pattern is found; return the frame they make and every pair that changed.

    The others are not looked at, so `alter` may be slow.
    """
    columns = {side: _mend_side(frame[side], pattern, alter) for side in SIDES}
    changed = sorted({row for _, rows in columns.values() for row in rows})
    if not changed:
        return frame, []
    mended = frame.with_columns(**{side: column for side, (column, _) in columns.items()})
    before = frame[changed].select("line", *SIDES).rows()
    after = mended[changed].select(*SIDES).rows()
    return mended, [Change(*old, *new) for old, new in zip(before, after, strict=True)]


def _mend_side(texts: pl.Series, pattern: str, alter: Callable[[str], str]) -> tuple[pl.Series, list[int]]:
    rows = texts.str.contains(pattern).arg_true()
    before = texts[rows].to_list() if len(rows) else []
    changes = [(row, new) for row, old in zip(rows.to_list(), before, strict=True) if (new := alter(old)) != old]
    if not changes:
        return texts, []
    changed = [row for row, _ in changes]
    return texts.clone().scatter(changed, [new for _, new in changes]), changed
