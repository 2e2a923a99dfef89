"""Print a translation with its attention map."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.alignment import AttentionChoice
    from dragoman.inspection.result import InspectionResult

_PIPE_WIDTH, _MIN_WIDTH = 80, 24
_LABEL_WIDTH = 13
_MAX_TEXT = 20_000  # characters


def result_console() -> Console:
    """Return a console of stdout, with colours if it is a terminal that supports them and NO_COLOR is not set."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def check_console(console: Console) -> None:
    """Reject an output that cannot show maps and texts, before anything is computed."""
    if not console.encoding.lower().startswith("utf"):
        raise ConfigError(
            f"standard output must be UTF-8 to draw on, got {console.encoding}; set PYTHONIOENCODING=utf-8"
        )


def print_inspection(
    console: Console, results: Sequence[InspectionResult], choice: AttentionChoice, unforced: str | None = None
) -> None:
    """Print all sentences; `unforced` is the translation of the first without its forced prefix."""
    from dragoman.inspection.result import select_map
    from dragoman.reporting.safe_display_text import isolate_line, visible
    from dragoman.reporting.terminal import wrap

    width = max(console.width, _MIN_WIDTH)
    for number, result in enumerate(results, start=1):
        if len(results) > 1:
            _print(console, f"{number} of {len(results)}")
        fields = [("source", result.source), ("translation", result.translation)]
        fields += [("unforced", unforced)] if unforced is not None and number == 1 else []
        fields += [("score", f"{result.score:.2f}, mean log p per token"), ("model", result.model)]
        for name, text in [*fields, *(("flag", flag) for flag in result.flags)]:
            for place, line in enumerate(wrap(visible(text, _MAX_TEXT), width - _LABEL_WIDTH)):
                _print(console, f"{'' if place else name:<{_LABEL_WIDTH}}{isolate_line(line)}")
        if not result.has_attention and choice.layer is choice.head is None:
            _print(console, "\nNo attention map: the model has no attention.")
            continue
        selected = select_map(result, layer=choice.layer, head=choice.head, reading=choice.reading)
        _print(console)
        for line in wrap(f"Attention, {selected.name}; one row per target word:", width):
            _print(console, line)
        print_map(console, selected.columns, selected.rows, selected.weights, width)
        if number < len(results):
            _print(console)


def print_map(console: Console, columns: Sequence[str], rows: Sequence[str], weights: object, width: int) -> None:
    """Print an attention map."""
    from dragoman.inspection.terminal.heatmap import render_heatmap

    colour = console.is_terminal and not console.no_color and bool(console.color_system)
    _print(console, render_heatmap(columns, rows, weights, width=width, colour=colour))  # type: ignore[arg-type]


def _print(console: Console, line: str | Text = "") -> None:
    console.print(line, markup=False, soft_wrap=True)
