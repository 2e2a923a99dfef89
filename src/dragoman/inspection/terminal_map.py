"""An attention map in a terminal: a row for each target word, a column for each source word, a cell for each weight.

Where the source fits the width, it stands above the map, and a column is as wide as its word::

          the third of May, 1998
    1998                    ████
    -         ░░░░░         ▒▒▒▒
    05                 ████
    -         ▒▒▒▒▒
    03        █████

A longer one has numbers there, which lines below explain; a still longer one has columns of one cell, under numbers
that are read downwards, and is folded where even those do not fit. So has one that is written from right to left, which
many terminals would turn around::

                      1         2
             123456789012345678901234
    Eine     ░█
    junge    ▒▒█
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.cells import cell_len
from rich.text import Text

from dragoman.inspection.terminal_direction import is_turned, settled
from dragoman.inspection.weights import checked_weights
from dragoman.inspection.wrapped import entries, shortened

__all__ = ["terminal_map"]

_SHADES = " ░▒▓█"
_FAINTEST = 0.04  # a weight below it is drawn as nothing
# Viridis: from dark to light evenly, and to be told apart by colour-blind people too.
_RAMP = ((68, 1, 84), (65, 68, 135), (42, 120, 142), (34, 168, 132), (122, 209, 81), (253, 231, 37))
_LONGEST_WORD = 20
_LABEL = 16
_NARROWEST = 24
_MOST_ROWS = 120
_SCALE = 34  # cells of the line that explains the colours


@dataclass(frozen=True)
class _Column:
    """A source word: what stands above it, and how many cells it and the gap after it take."""

    word: int
    heading: tuple[str, ...]
    """One string a line."""
    cells: int
    gap: int

    @property
    def width(self) -> int:
        return self.cells + self.gap


def terminal_map(
    source_words: Sequence[str], target_words: Sequence[str], weights: ArrayLike, *, width: int = 80, colour: bool
) -> Text:
    """Draw attention weights with colours, or with shades of characters where there are none.

    Shapes: weights [target words, source words], numbers from 0 to 1.
    """
    values = checked_weights(weights, source_words, target_words)
    if not values.size:
        return Text("no words, no map", style="dim" if colour else "")
    sources = [shortened(word, _LONGEST_WORD) for word in source_words]
    targets = [shortened(word, _LABEL) for word in target_words]
    label = max(map(cell_len, targets))
    room = max(_NARROWEST, width) - label - 2
    straight = None if any(map(is_turned, sources)) else _straight(sources, room)
    blocks = [straight] if straight else list(_folded(_numbered(len(sources), room), room))
    lines = [line for block in blocks for line in _block(block, targets, values, label, colour=colour)]
    if not straight:
        lines += _legend(sources, max(_NARROWEST, width), colour=colour)
    if len(targets) > _MOST_ROWS:
        lines.append(_note(f"… and {len(targets) - _MOST_ROWS} more target words", colour=colour))
    indent = label + 2 if label + 2 + _SCALE <= width else 0
    return Text("\n").join([*lines, _scale(indent, colour=colour)])


def _straight(words: Sequence[str], room: int) -> list[_Column] | None:
    """The sentence itself as the heading, if it fits; of single characters each column is two cells wide, if it can.

    Where a gap behind each word is too much, wide characters stand without one between them, as they are written.
    """
    widths = [max(1, cell_len(word)) for word in words]
    if max(widths) <= 2:
        widest = max(widths) if len(words) * 2 > room else 2
        return _fitting([_Column(number, (word,), widest, 0) for number, word in enumerate(words)], room)
    spaced = [
        _Column(number, (word,), cells, 1) for number, (word, cells) in enumerate(zip(words, widths, strict=True))
    ]
    wide = [len(word) == 1 and cells == 2 for word, cells in zip(words, widths, strict=True)]
    is_close = [here and after for here, after in zip(wide, [*wide[1:], False], strict=True)]
    close = [replace(column, gap=0 if tight else 1) for column, tight in zip(spaced, is_close, strict=True)]
    return _fitting(spaced, room) or _fitting(close, room)


def _fitting(columns: list[_Column], room: int) -> list[_Column] | None:
    return columns if sum(column.width for column in columns) <= room else None


def _numbered(words: int, room: int) -> list[_Column]:
    """Numbers as headings; where they do not fit, digits below each other, and the tens only where they change."""
    cells = max(2, len(str(words)))
    if words * (cells + 1) <= room:
        return [_Column(number, (str(number + 1).rjust(cells),), cells, 1) for number in range(words)]
    tens = (str((number + 1) // 10) if (number + 1) % 10 == 0 else "" for number in range(words))
    return [_Column(number, (*ten[-2:].rjust(2), str((number + 1) % 10)), 1, 0) for number, ten in enumerate(tens)]


def _folded(columns: Sequence[_Column], room: int) -> Iterator[list[_Column]]:
    """As many columns at a time as fit."""
    each = max(1, room // columns[0].width)
    for first in range(0, len(columns), each):
        yield list(columns[first : first + each])


def _block(
    columns: Sequence[_Column], targets: Sequence[str], values: NDArray[np.float64], label: int, *, colour: bool
) -> Iterator[Text]:
    for parts in zip(*(column.heading for column in columns), strict=True):
        heading = "".join(_filled(part, column.width) for part, column in zip(parts, columns, strict=True))
        if heading.strip():
            yield Text(f"{'':<{label + 2}}{heading}".rstrip(), style="bold" if colour else "")
    for target, row in zip(targets[:_MOST_ROWS], values, strict=False):
        name = Text(f"{_filled(settled(target), label)}  ", style="bold" if colour else "")
        line = Text.assemble(name, *(_cell(float(row[column.word]), column, colour=colour) for column in columns))
        if not colour:
            line.rstrip()
        yield line


def _cell(weight: float, column: _Column, *, colour: bool) -> Text:
    """One weight."""
    if not colour:
        return Text(_SHADES[_level(weight)] * column.cells + " " * column.gap)
    shaded = Text(" " * column.cells, style="" if weight < _FAINTEST else f"on rgb({_colour(weight)})")
    return Text.assemble(shaded, " " * column.gap)


def _level(weight: float) -> int:
    return 0 if weight < _FAINTEST else min(len(_SHADES) - 1, 1 + int(weight * (len(_SHADES) - 1)))


def _colour(weight: float) -> str:
    place = weight * (len(_RAMP) - 1)
    below = min(int(place), len(_RAMP) - 2)
    return ",".join(
        str(round(low + (high - low) * (place - below)))
        for low, high in zip(_RAMP[below], _RAMP[below + 1], strict=True)
    )


def _filled(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text))


def _legend(words: Sequence[str], width: int, *, colour: bool) -> Iterator[Text]:
    """Which word each number stands for, wrapped."""
    numbered = (f"{number} {settled(word)}" for number, word in enumerate(words, start=1))
    return (_note(line, colour=colour) for line in entries(numbered, width))


def _note(text: str, *, colour: bool) -> Text:
    return Text(text, style="dim" if colour else "")


def _scale(indent: int, *, colour: bool) -> Text:
    """What colours and shades mean."""
    steps = [step / 4 for step in range(1, 5)]
    swatches = [_cell(step - 0.01, _Column(0, (), 3, 0), colour=colour) for step in steps]
    return Text.assemble(
        " " * indent, _note("looks at: little ", colour=colour), *swatches, _note(" most", colour=colour)
    )
