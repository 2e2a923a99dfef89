"""Hand-made links, read from the file that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.api.systems import read_lines
from dragoman.api.text_lines import STDIN
from dragoman.evaluation.alignment_error import Gold
from dragoman.evaluation.links import LinkFormat, gold_links

__all__ = ["read_gold"]


def read_gold(
    path: Path | str,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    form: LinkFormat | None = None,
    first: int | None = None,
    by_spaces: bool = True,
) -> list[Gold]:
    """The links of each pair of texts. Words are what stands between white space, and a link to none is a `DataError`.

    Without `by_spaces` they may be others, and only negative numbers are refused. See `gold_links` for the rest.
    """
    lines, name = read_lines(path), "standard input" if str(path) == STDIN else str(path)
    lengths = None
    if by_spaces:
        lengths = [(len(one.split()), len(other.split())) for one, other in zip(sources, targets, strict=True)]
    return gold_links(lines, name=name, form=form, first=first, lengths=lengths, pairs=len(sources))
