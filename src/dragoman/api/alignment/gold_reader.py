"""Read gold word alignments from a file; check that each link refers to existing words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.api.files.input_lines import STDIN, read_lines
from dragoman.evaluation.alignment.error_rate import GoldLinks
from dragoman.evaluation.alignment.formats import LinkFormat, parse_gold_links

__all__ = ["read_gold"]


def read_gold(
    path: Path | str,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    form: LinkFormat | None = None,
    first: int | None = None,
    by_spaces: bool = True,
) -> list[GoldLinks]:
    """Return the gold links of each pair. A link to a missing word is a `DataError`.

    Words are delimited by white space; without `by_spaces` they may be others, and only negative numbers are errors.
    See `parse_gold_links` for the other arguments.
    """
    lines, name = read_lines(path), "standard input" if str(path) == STDIN else str(path)
    lengths = None
    if by_spaces:
        lengths = [(len(one.split()), len(other.split())) for one, other in zip(sources, targets, strict=True)]
    return parse_gold_links(lines, name=name, form=form, first=first, lengths=lengths, pairs=len(sources))
