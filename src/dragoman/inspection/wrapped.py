"""Texts in lines of so many cells: what is wide takes two, and scripts without spaces are broken anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len, chop_cells, set_cell_size

from dragoman.data.check.visible import visible

__all__ = ["entries", "shortened", "wrapped"]


def shortened(word: str, longest: int) -> str:
    """A word that moves no cursor, in so many cells at most; nothing is shown as a dot."""
    shown = visible(word) or "·"
    return shown if cell_len(shown) <= longest else set_cell_size(shown, longest - 1).rstrip() + "…"


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines, broken at spaces where there are any; at least one line."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) <= width:
            line += f" {word}"
            continue
        if line:
            lines.append(line)
        *whole, line = chop_cells(word, max(2, width)) if cell_len(word) > width else [word]
        lines += whole
    return [*lines, line]


def entries(parts: Iterable[str], width: int, *, gap: str = "  ") -> Iterator[str]:
    """Parts in lines, none of them broken; one that is too wide has a line of its own."""
    line = ""
    for part in parts:
        if line and cell_len(line) + cell_len(gap) + cell_len(part) > width:
            yield line
            line = ""
        line += f"{gap}{part}" if line else part
    if line:
        yield line
