"""Read and write the entries of a glossary as TSV or CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Literal

from dragoman.server.errors import RequestError
from dragoman.text.characters import check_unicode

__all__ = ["EntriesFormat", "format_tsv", "parse_entries"]

EntriesFormat = Literal["tsv", "csv"]

_MAX_CHARACTERS = 1024  # of a term
_CSV_COLUMNS = (2, 4)  # a term and its translation, or these and their languages


def parse_entries(text: str, kind: EntriesFormat) -> dict[str, str]:
    """Return source terms and translations; raises `RequestError` with the number of an invalid line."""
    found: dict[str, str] = {}
    for number, cells in _rows(text, kind):
        if len(cells) not in (_CSV_COLUMNS if kind == "csv" else (2,)):
            raise _invalid(f"line {number} must be a term and its translation, got {len(cells)} columns")
        source, target = (cell.strip() for cell in cells[:2])
        for term in (source, target):
            if not term or len(term) > _MAX_CHARACTERS:
                raise _invalid(f"a term in line {number} must have 1 to {_MAX_CHARACTERS} characters, got {len(term)}")
        if found.setdefault(source, target) != target:
            raise _invalid(f"a term must have one translation, got a second one in line {number}")
    if not found:
        raise _invalid("entries must contain a term, got none")
    return found


def format_tsv(terms: Mapping[str, str]) -> str:
    """Return entries as TSV, one per line."""
    return "\n".join(f"{source}\t{target}" for source, target in terms.items())


def _rows(text: str, kind: EntriesFormat) -> Iterator[tuple[int, list[str]]]:
    check_unicode(text)
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    rows = (
        csv.reader(io.StringIO(plain), strict=True)
        if kind == "csv"
        else (line.split("\t") for line in plain.split("\n"))
    )
    try:
        for number, cells in enumerate(rows, 1):
            if any(cell.strip() for cell in cells):
                yield number, cells
    except csv.Error as error:
        raise _invalid(f"entries must be CSV, got an error: {error}") from None


def _invalid(message: str) -> RequestError:
    return RequestError(f"{message}; separate columns by tabs (tsv) or commas (csv)", code="invalid_glossary")
