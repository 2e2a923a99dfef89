"""Render an attention map as text: one row per target word, one column per source word.

The words of the source, or their numbers if they do not fit the width, are above the columns::

          the third of May, 1998
    1998                    ████
    -         ░░░░░         ▒▒▒▒
    05                 ████
"""

from collections.abc import Sequence

from numpy.typing import ArrayLike
from rich.cells import cell_len
from rich.text import Text

from dragoman.inspection.result import check_weights
from dragoman.reporting.safe_display_text import has_right_to_left, isolate_word
from dragoman.reporting.terminal import flow, truncate

_SHADES = " ░▒▓█"
_COLOURS = ("", "on #414487", "on #2a788e", "on #22a884", "on #fde725")  # of Viridis, also for colour blindness
_MIN_WEIGHT = 0.04  # smaller weights are blank
_MAX_WORD, _MAX_LABEL = 20, 16
_MIN_WIDTH = 24


def render_heatmap(
    source_words: Sequence[str], target_words: Sequence[str], weights: ArrayLike, *, width: int = 80, colour: bool
) -> Text:
    """Draw weights [target words, source words], from 0 to 1, in colour or by block characters."""
    values = check_weights(weights, source_words, target_words)
    if not values.size:
        return Text("no words to show")
    sources = [truncate(word, _MAX_WORD) for word in source_words]
    targets = [truncate(word, _MAX_LABEL) for word in target_words]
    label = max(map(cell_len, targets)) + 2
    width = max(_MIN_WIDTH, width)
    # Many terminals would reorder words from right to left.
    has_words = sum(cell_len(word) + 1 for word in sources) <= width - label + 1 and not any(
        map(has_right_to_left, sources)
    )
    heads = sources if has_words else [str(number).rjust(2) for number in range(1, len(sources) + 1)]
    most = len(heads) if has_words else max(1, (width - label + 1) // (len(heads[-1]) + 1))
    lines = []
    for first in range(0, len(heads), most):  # what is wider is folded
        columns = range(first, min(first + most, len(heads)))
        lines.append(Text(" " * label + " ".join(heads[column] for column in columns)))
        for target, row in zip(targets, values.tolist(), strict=True):
            cells = (_cell(row[column], cell_len(heads[column]), colour=colour) for column in columns)
            line = Text(isolate_word(target) + " " * (label - cell_len(target))) + Text(" ").join(cells)
            if not colour:
                line.rstrip()
            lines.append(line)
    if not has_words:
        lines += map(Text, flow((f"{number} {isolate_word(word)}" for number, word in enumerate(sources, 1)), width))
    legend = [_cell(step / 4 - 0.01, 3, colour=colour) for step in range(1, 5)]
    return Text("\n").join([*lines, Text.assemble("attention: low ", *legend, " high")])


def _cell(weight: float, cells: int, *, colour: bool) -> Text:
    level = 0 if weight < _MIN_WEIGHT else min(len(_SHADES) - 1, 1 + int(weight * (len(_SHADES) - 1)))
    return Text(" " * cells, style=_COLOURS[level]) if colour else Text(_SHADES[level] * cells)
