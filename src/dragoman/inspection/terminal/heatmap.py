"""Render an attention map as text: one row per target word, one column per source word.

If the source fits the width, it is the heading, and a column is as wide as its word::

          the third of May, 1998
    1998                    ████
    -         ░░░░░         ▒▒▒▒
    05                 ████
    -         ▒▒▒▒▒
    03        █████

A longer source has numbers as headings and a legend below the map. A still longer one has columns of one cell, under
numbers that are read downwards, and is folded if those do not fit. So does a right-to-left source, which many terminals
would reorder::

                      1         2
             123456789012345678901234
    Eine     ░█
    junge    ▒▒█
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.cells import cell_len
from rich.text import Text

from dragoman.inspection.result import check_weights
from dragoman.reporting.safe_display_text import has_right_to_left, isolate_word
from dragoman.reporting.terminal import flow, truncate

_SHADES = " ░▒▓█"
_MIN_WEIGHT = 0.04  # smaller weights are blank
# Viridis: perceptually uniform, and distinguishable with colour blindness.
_RAMP = ((68, 1, 84), (65, 68, 135), (42, 120, 142), (34, 168, 132), (122, 209, 81), (253, 231, 37))
_MAX_WORD = 20
_MAX_LABEL = 16
_MIN_WIDTH = 24
_MAX_ROWS = 120
_LEGEND_WIDTH = 34


@dataclass(frozen=True)
class _Column:
    """A source word: its heading, its width and the gap after it, in cells."""

    word: int
    heading: tuple[str, ...]
    """One string per line."""
    cells: int
    gap: int

    @property
    def width(self) -> int:
        return self.cells + self.gap


def render_heatmap(
    source_words: Sequence[str], target_words: Sequence[str], weights: ArrayLike, *, width: int = 80, colour: bool
) -> Text:
    """Draw attention weights with colours or, without colour, with block characters of different density.

    Shapes: weights [target words, source words], from 0 to 1.
    """
    values = check_weights(weights, source_words, target_words)
    if not values.size:
        return Text("no words to show", style="dim" if colour else "")
    sources = [truncate(word, _MAX_WORD) for word in source_words]
    targets = [truncate(word, _MAX_LABEL) for word in target_words]
    label = max(map(cell_len, targets))
    room = max(_MIN_WIDTH, width) - label - 2
    heading = None if any(map(has_right_to_left, sources)) else _word_columns(sources, room)
    blocks = [heading] if heading else list(_folded(_numbered(len(sources), room), room))
    lines = [line for block in blocks for line in _block(block, targets, values, label, colour=colour)]
    if not heading:
        lines += _legend(sources, max(_MIN_WIDTH, width), colour=colour)
    if len(targets) > _MAX_ROWS:
        lines.append(_note(f"… and {len(targets) - _MAX_ROWS} more target words", colour=colour))
    indent = label + 2 if label + 2 + _LEGEND_WIDTH <= width else 0
    return Text("\n").join([*lines, _weight_legend(indent, colour=colour)])


def _word_columns(words: Sequence[str], room: int) -> list[_Column] | None:
    """Use the words as headings, if they fit; columns of single characters are two cells wide if possible.

    If gaps after all words do not fit, adjacent wide characters have no gap between them.
    """
    widths = [max(1, cell_len(word)) for word in words]
    if max(widths) <= 2:
        widest = max(widths) if len(words) * 2 > room else 2
        return _if_fits([_Column(number, (word,), widest, 0) for number, word in enumerate(words)], room)
    spaced = [
        _Column(number, (word,), cells, 1) for number, (word, cells) in enumerate(zip(words, widths, strict=True))
    ]
    wide = [len(word) == 1 and cells == 2 for word, cells in zip(words, widths, strict=True)]
    is_tight = [here and after for here, after in zip(wide, [*wide[1:], False], strict=True)]
    close = [replace(column, gap=0 if tight else 1) for column, tight in zip(spaced, is_tight, strict=True)]
    return _if_fits(spaced, room) or _if_fits(close, room)


def _if_fits(columns: list[_Column], room: int) -> list[_Column] | None:
    return columns if sum(column.width for column in columns) <= room else None


def _numbered(words: int, room: int) -> list[_Column]:
    """Use numbers as headings; if they do not fit, vertical digits, with the tens only where they change."""
    cells = max(2, len(str(words)))
    if words * (cells + 1) <= room:
        return [_Column(number, (str(number + 1).rjust(cells),), cells, 1) for number in range(words)]
    tens = (str((number + 1) // 10) if (number + 1) % 10 == 0 else "" for number in range(words))
    return [_Column(number, (*ten[-2:].rjust(2), str((number + 1) % 10)), 1, 0) for number, ten in enumerate(tens)]


def _folded(columns: Sequence[_Column], room: int) -> Iterator[list[_Column]]:
    """Split the columns into blocks that fit."""
    each = max(1, room // columns[0].width)
    for first in range(0, len(columns), each):
        yield list(columns[first : first + each])


def _block(
    columns: Sequence[_Column], targets: Sequence[str], values: NDArray[np.float64], label: int, *, colour: bool
) -> Iterator[Text]:
    for parts in zip(*(column.heading for column in columns), strict=True):
        heading = "".join(_pad(part, column.width) for part, column in zip(parts, columns, strict=True))
        if heading.strip():
            yield Text(f"{'':<{label + 2}}{heading}".rstrip(), style="bold" if colour else "")
    for target, row in zip(targets[:_MAX_ROWS], values, strict=False):
        name = Text(f"{_pad(isolate_word(target), label)}  ", style="bold" if colour else "")
        line = Text.assemble(name, *(_cell(float(row[column.word]), column, colour=colour) for column in columns))
        if not colour:
            line.rstrip()
        yield line


def _cell(weight: float, column: _Column, *, colour: bool) -> Text:
    if not colour:
        return Text(_SHADES[_level(weight)] * column.cells + " " * column.gap)
    shaded = Text(" " * column.cells, style="" if weight < _MIN_WEIGHT else f"on rgb({_colour(weight)})")
    return Text.assemble(shaded, " " * column.gap)


def _level(weight: float) -> int:
    return 0 if weight < _MIN_WEIGHT else min(len(_SHADES) - 1, 1 + int(weight * (len(_SHADES) - 1)))


def _colour(weight: float) -> str:
    place = weight * (len(_RAMP) - 1)
    below = min(int(place), len(_RAMP) - 2)
    return ",".join(
        str(round(low + (high - low) * (place - below)))
        for low, high in zip(_RAMP[below], _RAMP[below + 1], strict=True)
    )


def _pad(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text))


def _legend(words: Sequence[str], width: int, *, colour: bool) -> Iterator[Text]:
    """List the words by number, wrapped."""
    numbered = (f"{number} {isolate_word(word)}" for number, word in enumerate(words, start=1))
    return (_note(line, colour=colour) for line in flow(numbered, width))


def _note(text: str, *, colour: bool) -> Text:
    return Text(text, style="dim" if colour else "")


def _weight_legend(indent: int, *, colour: bool) -> Text:
    """Explain the colours or block characters."""
    steps = [step / 4 for step in range(1, 5)]
    swatches = [_cell(step - 0.01, _Column(0, (), 3, 0), colour=colour) for step in steps]
    return Text.assemble(
        " " * indent, _note("attention: low ", colour=colour), *swatches, _note(" high", colour=colour)
    )
