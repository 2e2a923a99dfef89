"""HTML tables for Jupyter notebooks, shown when a result is the last value of a cell."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.reporting.html import render

__all__ = ["facts_html", "table_html"]


def facts_html(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return names with their values below a title; empty values are left out."""
    rows = [(name, [value]) for name, value in facts if value]
    return str(render("notebook_table.html", title=title, header=[], rows=rows, notes=()))


def table_html(
    title: str, header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], *, notes: Sequence[str] = ()
) -> str:
    """Return a table of rows with a name and values; the header names the values, and notes follow the table."""
    return str(render("notebook_table.html", title=title, header=header, rows=rows, notes=notes))
