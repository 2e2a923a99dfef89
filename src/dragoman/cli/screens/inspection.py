"""Print a translation with its attention map."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.config.alignment import AttentionChoice
    from dragoman.inspection.result import InspectionResult

_PIPE_WIDTH = 80
_MIN_WIDTH = 24
_LABEL_WIDTH = 13
_MAX_TEXT = 20_000  # characters


class InspectionScreen:
    """Prints to stdout; with colours if it is a terminal that supports them and NO_COLOR is not set."""

    def __init__(self, console: Console | None = None) -> None:
        is_terminal = sys.stdout.isatty()
        self.console = console or Console(highlight=False, width=None if is_terminal else _PIPE_WIDTH)
        if not self.console.encoding.lower().startswith("utf"):
            raise ConfigError(
                f"standard output must be UTF-8 to draw on, got {self.console.encoding}; set PYTHONIOENCODING=utf-8"
            )
        self.width = max(self.console.width, _MIN_WIDTH)
        self.colour = self.console.is_terminal and not self.console.no_color and bool(self.console.color_system)

    def print(self, results: Sequence[InspectionResult], choice: AttentionChoice, unforced: str | None = None) -> None:
        """Print all sentences; `unforced` is the translation of the first without its forced prefix."""
        for number, result in enumerate(results, start=1):
            if len(results) > 1:
                self._print(Text(f"{number} of {len(results)}", style=self._style("bold")))
            self._print_texts(result, unforced if number == 1 else None)
            self._print_map(result, choice)
            if number < len(results):
                self._print()

    def _print_texts(self, result: InspectionResult, unforced: str | None) -> None:
        self._field("source", result.source)
        self._field("translation", result.translation, "bold")
        if unforced is not None:
            self._field("unforced", unforced)
        self._field("score", f"{result.score:.2f}, mean log p per token")
        self._field("model", result.model)
        for flag in result.flags:
            self._field("flag", flag, "yellow")

    def _print_map(self, result: InspectionResult, choice: AttentionChoice) -> None:
        from dragoman.inspection.result import select_map
        from dragoman.inspection.terminal.heatmap import render_heatmap

        if not result.has_attention and choice.layer is choice.head is None:
            self._heading("No attention map: the model has no attention.")
            return
        selected = select_map(result, layer=choice.layer, head=choice.head, reading=choice.reading)
        self._heading(f"Attention, {selected.name}; one row per target word:")
        self._print(
            render_heatmap(selected.columns, selected.rows, selected.weights, width=self.width, colour=self.colour)
        )

    def _field(self, name: str, text: str, style: str = "") -> None:
        """Print a label and its text, wrapped."""
        for number, line in enumerate(_wrapped(text, self.width - _LABEL_WIDTH)):
            label = Text(("" if number else name).ljust(_LABEL_WIDTH), style=self._style("dim"))
            self._print(Text.assemble(label, (line, self._style(style))))

    def _heading(self, text: str) -> None:
        from dragoman.reporting.terminal import wrap

        self._print()
        for line in wrap(text, self.width):
            self._print(Text(line, style=self._style("italic")))

    def _style(self, style: str) -> str:
        return style if self.colour else ""

    def _print(self, line: str | Text = "") -> None:
        self.console.print(line, markup=False, soft_wrap=True)


def _wrapped(text: str, width: int) -> Iterator[str]:
    from dragoman.reporting.safe_display_text import isolate_line, visible
    from dragoman.reporting.terminal import wrap

    return (isolate_line(line) for line in wrap(visible(text, _MAX_TEXT), width))
