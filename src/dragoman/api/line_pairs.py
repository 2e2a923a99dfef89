"""Pairs of lines: two files of which the same line numbers belong together, or one with a tab between the two."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from dragoman.api.text_lines import STDIN, LineSource, Window
from dragoman.errors import ConfigError, DataError

__all__ = ["Pairs", "pairs_of"]

Pairs = list[tuple[str, str]]

_ROWS = 1024  # pairs at a time


def pairs_of(source: Path | str, target: Path | str | None = None) -> Iterator[Pairs]:
    """Pairs, many at a time and all of them, or a `DataError`: files of unequal length are never cut.

    Without a target, a line of the source holds both, with a tab between them; from a pipe they are given as they come.
    """
    if target is not None and str(source) == str(target) == STDIN:
        raise ConfigError(
            "source and target must be two files, got standard input for both; leave out the target and put a tab "
            "between the two sides of a line"
        )
    sides = [LineSource(side) for side in (source, target) if side is not None]  # now: a model is loaded in between
    return _pairs(*sides)


def _pairs(source: LineSource, target: LineSource | None = None) -> Iterator[Pairs]:
    with source:
        if target is None:
            yield from _tabbed(source)
            return
        with target:
            yield from _parallel(source, target)


def _tabbed(source: LineSource) -> Iterator[Pairs]:
    for window in source.windows_as_they_arrive():
        pairs: Pairs = []
        for number, line in enumerate(_texts(window), window.first):
            sides = line.split("\t")
            if len(sides) != 2:
                raise DataError(
                    f"{source.name}:{number} must be a source and a target with a tab between them, got "
                    f"{len(sides)} field{'s' if len(sides) > 1 else ''}; or name a file for each side"
                )
            pairs.append((sides[0], sides[1]))
        yield pairs


def _parallel(source: LineSource, target: LineSource) -> Iterator[Pairs]:
    sides = [(text for window in side.windows() for text in _texts(window)) for side in (source, target)]
    pairs: Pairs = []
    for one, other in zip_longest(*sides):
        if one is None or other is None:
            for side in sides:
                for _ in side:  # to its end: then its lines are counted
                    pass
            raise DataError(
                f"{source.name} and {target.name} must have the same number of lines, got {source.lines:,} and "
                f"{target.lines:,}; see which of them lacks some"
            )
        pairs.append((one, other))
        if len(pairs) == _ROWS:
            yield pairs
            pairs = []
    if pairs:
        yield pairs


def _texts(window: Window) -> list[str]:
    texts, fault = window.texts()
    if fault is not None:
        raise fault
    return texts
