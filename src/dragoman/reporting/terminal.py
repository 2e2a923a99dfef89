"""Lay out text for terminals: wrapping, truncation, tables and bars; print to stdout."""

import io
import sys
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from dragoman.reporting.safe_display_text import visible

WIDTH = 80
"""Columns of printed results."""

_GAP = "  "
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_ASCII = {"█": "#", **dict.fromkeys("".join(_EIGHTHS), "|"), "±": "+-", "✗": "!", "…": "~", "→": ">", "·": "-"}
_ASCII |= {"–": "-", "−": "-", "↓": "v", "×": "x"}
_TO_ASCII = str.maketrans(_ASCII)

Row = Sequence[str | Text]


def print_lines(lines: Iterable[Text]) -> None:
    """Print lines to stdout: on a terminal with colours and truncated to `WIDTH`, otherwise complete."""
    buffer = io.StringIO()
    is_terminal = sys.stdout.isatty()
    console = Console(file=buffer, width=WIDTH, force_terminal=is_terminal, highlight=False)
    for line in lines:
        line.rstrip()
        if is_terminal:
            line.truncate(WIDTH, overflow="ellipsis")
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    sys.stdout.write(_encodable(buffer.getvalue(), sys.stdout.encoding or "utf-8"))
    sys.stdout.flush()


def join_sections(sections: Iterable[Iterable[Text]]) -> Iterator[Text]:
    """Yield the lines of all sections that have any, with an empty line between sections."""
    is_first = True
    for lines in map(list, sections):
        if lines and not is_first:
            yield Text()
        yield from lines
        is_first = is_first and not lines


def wrap_paragraph(text: str, *, bullet: str = "", style: str = "") -> Iterator[Text]:
    """Wrap a paragraph at `WIDTH` and indent its lines under the bullet."""
    indent = cell_len(bullet)
    lines = Text(text, style=style).wrap(Console(width=WIDTH), WIDTH - indent)
    for number, line in enumerate(lines):
        yield Text(bullet if number == 0 else " " * indent, style="bold") + line


def wrap(text: str, width: int) -> list[str]:
    """Wrap text at spaces, and words that are too wide at any character; return at least one line."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) <= width:
            line += f" {word}"
            continue
        if line:
            lines.append(line)
        *full, line = chop_cells(word, max(2, width)) if cell_len(word) > width else [word]
        lines += full
    return [*lines, line]


def flow(parts: Iterable[str], width: int, *, gap: str = _GAP) -> Iterator[str]:
    """Fill lines with parts, none of which is broken; a part that is too wide gets its own line."""
    line = ""
    for part in parts:
        if line and cell_len(line) + cell_len(gap) + cell_len(part) > width:
            yield line
            line = ""
        line += f"{gap}{part}" if line else part
    if line:
        yield line


def truncate(word: str, max_cells: int) -> str:
    """Make a word visible and truncate it; an empty word is shown as a dot."""
    shown = visible(word) or "·"
    return shown if cell_len(shown) <= max_cells else set_cell_size(shown, max_cells - 1).rstrip() + "…"


def bar(share: float, cells: int) -> str:
    """Draw a bar as long as a share of `cells`, in steps of an eighth of a cell; at least one eighth."""
    eighths = max(1, round(8 * cells * share))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]


def text_table(rows: Sequence[Row], *, left: Sequence[int] = (0,)) -> Iterator[Text]:
    """Align columns at their widest cell, those in `left` at the left; the first row is the header."""
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths = [max(row[column].cell_len for row in cells if column < len(row)) for column in range(max(map(len, cells)))]
    for number, row in enumerate(cells):
        line = Text(style="dim" if number == 0 else "")
        for column, cell in enumerate(row):
            space = " " * (widths[column] - cell.cell_len)
            parts = (cell, Text(space)) if column in left else (Text(space), cell)
            line.append(_GAP if column else "").append_text(parts[0]).append_text(parts[1])
        yield line


def _encodable(text: str, encoding: str) -> str:
    """Replace characters that the encoding of stdout does not have: by ASCII where possible, else by escapes."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_TO_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text
