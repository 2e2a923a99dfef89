"""Recognise tables (CSV, TSV) among text files, and name the command that translates one column."""

from __future__ import annotations

import csv
import json
import shlex
from itertools import islice
from pathlib import Path

from dragoman.api.files.input_lines import LineReader
from dragoman.errors import DragomanError
from dragoman.language_codes import canonical_language
from dragoman.text.other_language import NOTE_SAMPLE, column_languages, fitting_answers

__all__ = ["column_command", "column_in_language", "count_columns"]

_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ",;\t"}
_SAMPLED_BYTES, _SAMPLED_ROWS = 1 << 16, 50
_CSV_COLUMN = "import csv, sys; [print(*row[{}].split()) for row in csv.reader(sys.stdin, delimiter={})]"


def count_columns(path: str) -> tuple[int, str]:
    """Return the number of columns of a table and its delimiter, by its name and first rows; 1 for other files.

    Rows of a table have the same number of columns; sentences with commas have not.
    """
    for delimiter in _DELIMITERS.get(Path(path.removesuffix(".gz")).suffix.lower(), ""):
        counts = {len(row) for row in islice(csv.reader(_first_lines(path), delimiter=delimiter), _SAMPLED_ROWS) if row}
        if len(counts) == 1 and (columns := counts.pop()) > 1:
            return columns, delimiter
    return 1, ""


def _first_lines(path: str) -> list[str]:
    """Return the complete lines at the beginning of a file; none if it cannot be read, which is reported later."""
    try:
        with LineReader(path) as reader:
            data = b"".join(islice(reader.skip(_SAMPLED_BYTES), 1))
    except (OSError, DragomanError):
        return []
    end = data.rfind(b"\n") + 1
    return data[: end or None].decode("utf-8-sig", "replace").splitlines(keepends=True)


def column_in_language(path: str, delimiter: str, language: str) -> int | None:
    """Return the number, from 1, of the column in a language, by its heading or its text; None if none is certain."""
    rows = [row for row in islice(csv.reader(_first_lines(path), delimiter=delimiter), NOTE_SAMPLE) if row]
    headings = [canonical_language(cell.strip()).lower() for cell in rows[0]]
    if (code := canonical_language(language).lower()) in headings:
        return headings.index(code) + 1
    found = column_languages(list(zip(*(rows[1:] or rows), strict=True)))
    right = fitting_answers(language) if language and any(found) else frozenset()
    return next((number for number, each in enumerate(found, 1) if each in right), None)


def column_command(path: str, delimiter: str, translate: str, column: int = 1) -> str:
    """Return a command that passes a column of a table, counted from 1, to the command `translate`."""
    read = f"{'gzip -dc' if path.endswith('.gz') else 'cat'} {shlex.quote(path)}"
    is_tsv = Path(path.removesuffix(".gz")).suffix.lower() != ".csv"
    script = _CSV_COLUMN.format(column - 1, json.dumps(delimiter))
    cut = f"cut -f{column}" if is_tsv else f"python3 -c {shlex.quote(script)}"
    return f"{read} | {cut} | {translate}"
