"""Lines of a result on a terminal of 80 columns, or as plain text where there is none."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

__all__ = ["WIDTH", "bar", "parted", "print_lines", "wrapped"]

WIDTH = 80

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_ASCII = {"█": "#", **dict.fromkeys("".join(_EIGHTHS), "|"), "±": "+-", "✗": "!", "…": "~", "→": ">", "·": "-"}
_ASCII |= {"–": "-", "−": "-", "↓": "v", "×": "x"}
_PLAIN = str.maketrans(_ASCII)


def print_lines(lines: Iterable[Text]) -> None:
    """Print to stdout, no line wider than the width; with colours only where that is a terminal."""
    drawn = io.StringIO()
    console = Console(file=drawn, width=WIDTH, force_terminal=sys.stdout.isatty(), highlight=False)
    for line in lines:
        line.rstrip()
        line.truncate(WIDTH, overflow="ellipsis")
        console.print(line, no_wrap=True, crop=True, overflow="ignore")
    typer.echo(_encodable(drawn.getvalue(), sys.stdout.encoding or "utf-8"), nl=False)


def parted(sections: Iterable[Iterable[Text]]) -> Iterator[Text]:
    """The lines of the sections that have some, an empty line between them."""
    is_first = True
    for lines in map(list, sections):
        if lines and not is_first:
            yield Text()
        yield from lines
        is_first = is_first and not lines


def wrapped(text: str, *, bullet: str = "", style: str = "") -> Iterator[Text]:
    """A paragraph, wrapped, its lines indented under the bullet."""
    indent = cell_len(bullet)
    lines = Text(text, style=style).wrap(Console(width=WIDTH), WIDTH - indent)
    for number, line in enumerate(lines):
        yield Text(bullet if number == 0 else " " * indent, style="bold") + line


def bar(share: float, cells: int) -> str:
    """A bar as long as the share of so many cells, to an eighth of one; the smallest can still be seen."""
    eighths = max(1, round(8 * cells * share))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]


def _encodable(text: str, encoding: str) -> str:
    """The text as far as stdout's encoding goes: what it lacks is spelt out, and bars become ASCII."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text
