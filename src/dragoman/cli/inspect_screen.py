"""What ``dragoman inspect`` prints: an opened translation, in a terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.inspection.inspected import Inspected
    from dragoman.inspection.map_choice import Reading

__all__ = ["InspectScreen", "Shown"]

_PIPED = 80
_NARROWEST = 24
_LABEL = 13
_LONGEST = 20_000


@dataclass(frozen=True)
class Shown:
    """What is asked for besides the map."""

    layer: int | None = None
    head: int | None = None
    reading: Reading = "predicted"
    tree: bool = False
    candidates: bool = False
    what_if: str | None = None


class InspectScreen:
    """Prints to standard output; in colour where that is a terminal that has some, and NO_COLOR is not set."""

    def __init__(self, width: int | None, console: Console | None = None) -> None:
        is_terminal = sys.stdout.isatty()
        self.console = console or Console(highlight=False, width=None if is_terminal else _PIPED)
        if not self.console.encoding.lower().startswith("utf"):
            raise ConfigError(
                f"standard output must be UTF-8 to draw on, got {self.console.encoding}; set PYTHONIOENCODING=utf-8"
            )
        if width is not None and width < _NARROWEST:
            raise ConfigError(f"--width must be at least {_NARROWEST}, got {width}; 80 suit most terminals")
        self.width = width or self.console.width
        self.colour = self.console.is_terminal and not self.console.no_color and bool(self.console.color_system)

    def print(self, inspected: Sequence[Inspected], shown: Shown, unforced: str | None = None) -> None:
        """Every sentence; `unforced` is what the first would be without a prefix."""
        for number, one in enumerate(inspected, start=1):
            if len(inspected) > 1:
                self._say(Text(f"{number} of {len(inspected)}", style=self._style("bold")))
            self._print_texts(one, unforced if number == 1 else None)
            self._print_map(one, shown)
            if shown.candidates:
                self._print_candidates(one)
            if shown.what_if is not None:
                self._print_what_ifs(one, shown.what_if)
            if shown.tree:
                self._print_tree(one)
            if number < len(inspected):
                self._say()

    def _print_texts(self, one: Inspected, unforced: str | None) -> None:
        self._field("source", one.source)
        self._field("translation", one.translation, "bold")
        if unforced is not None:
            self._field("unforced", unforced)
        self._field("score", f"{one.score:.2f}, mean log p of a piece")
        self._field("model", one.model)
        for flag in one.flags:
            self._field("flag", flag, "yellow")

    def _print_map(self, one: Inspected, shown: Shown) -> None:
        from dragoman.inspection import terminal_map
        from dragoman.inspection.inspected import coverage, entropy
        from dragoman.inspection.map_choice import chosen_map
        from dragoman.inspection.step_lines import figure_lines

        if not one.has_attention and shown.layer is shown.head is None:
            self._heading("No map: the model has no attention.")
            return
        chosen = chosen_map(one, layer=shown.layer, head=shown.head, reading=shown.reading)
        self._heading(f"Where it looks, {chosen.name}; a row for each target word:")
        self._say(terminal_map(chosen.columns, chosen.rows, chosen.weights, width=self.width, colour=self.colour))
        words = chosen.weights[: len(one.target_words)]
        self._heading("How widely each target word looks, in bits; 0 is at one place:")
        self._lines(figure_lines(one.target_words, entropy(words), width=self.width))
        self._heading("How much each source word was looked at, in all; about 1 is usual:")
        covered = coverage(words)[: len(one.source_words)]
        self._lines(figure_lines(one.source_words, covered, width=self.width))

    def _print_candidates(self, one: Inspected) -> None:
        from dragoman.inspection.step_lines import candidate_lines

        self._heading("The likeliest pieces at each step; * where another was written; ▁ is a space:")
        self._lines(candidate_lines(one, width=self.width))

    def _print_what_ifs(self, one: Inspected, name: str) -> None:
        from dragoman.api.what_ifs import is_named
        from dragoman.inspection.step_lines import what_if_lines

        places = [place for place, word in enumerate(one.target_words) if is_named(word, name)]
        others = [other for other in one.what_ifs if other.word in places]
        if places:
            self._heading("What if another word stood there:")
            self._lines(what_if_lines(one, others, width=self.width) if others else ["nothing else came near"])

    def _print_tree(self, one: Inspected) -> None:
        from dragoman.inspection.tree_lines import tree_lines

        self._heading("The beam, from the first piece down:")
        for line in tree_lines(one.tree, width=self.width, colour=self.colour):
            self._say(line)

    def _field(self, name: str, text: str, style: str = "") -> None:
        """A name at the left, and a text beside it in as many lines as it takes."""
        for number, line in enumerate(_settled(text, self.width - _LABEL)):
            label = Text(("" if number else name).ljust(_LABEL), style=self._style("dim"))
            self._say(Text.assemble(label, (line, self._style(style))))

    def _heading(self, text: str) -> None:
        from dragoman.inspection.wrapped import wrapped

        self._say()
        for line in wrapped(text, self.width):
            self._say(Text(line, style=self._style("italic")))

    def _lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._say(line)

    def _style(self, style: str) -> str:
        return style if self.colour else ""

    def _say(self, line: str | Text = "") -> None:
        self.console.print(line, markup=False, soft_wrap=True)


def _settled(text: str, width: int) -> Iterator[str]:
    from dragoman.data.check.visible import visible
    from dragoman.inspection.terminal_direction import settled_line
    from dragoman.inspection.wrapped import wrapped

    return (settled_line(line) for line in wrapped(visible(text, _LONGEST), width))
