"""Write Markdown tables and escape text for Markdown."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["escape_markdown", "markdown_table"]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Return a table whose columns are aligned at the right, except those whose numbers are in `left`."""
    rule = ["---" if number in left else "--:" for number in range(len(header))]
    return "".join("| " + " | ".join(row) + " |\n" for row in (header, rule, *rows))


def escape_markdown(text: str) -> str:
    r"""Escape every character with a meaning in Markdown, and ``|``, which would end a cell; join lines."""
    line = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\|*_`<>[]#" else character for character in line)
