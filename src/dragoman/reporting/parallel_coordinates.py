"""Draw parallel coordinates as inline SVG: one vertical axis per quantity, one line per item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from dragoman.reporting.html import render

__all__ = ["Coordinate", "parallel_coordinates_svg"]

_AXIS_WIDTH, _HEIGHT = 150, 300
_SIDE, _TOP, _BOTTOM = 70, 34, 16
_MAX_LABEL = 22

Value = bool | int | float | str | None


@dataclass(frozen=True)
class Coordinate:
    """An axis: its label, and the value of each item. Values that are not all numbers are categories.

    `is_reversed` puts the smallest value on top.
    """

    label: str
    values: Sequence[Value]
    is_log: bool = False
    is_reversed: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether all known values are numbers."""
        return all(isinstance(each, int | float) and not isinstance(each, bool) for each in self._known)

    @property
    def _known(self) -> list[Value]:
        return [each for each in self.values if each is not None]

    def shares(self) -> list[float | None]:
        """Return the height of each item on the axis, from 0 to 1; None if its value is unknown."""
        if not self.is_numeric:
            names = self.categories()
            return [None if each is None else _share(names.index(str(each)), 0, len(names) - 1) for each in self.values]
        numbers = [None if each is None else self._on(float(each)) for each in self.values]
        known = [each for each in numbers if each is not None]
        if not known:
            return [None for _ in numbers]
        low, high = min(known), max(known)
        found = [None if each is None else _share(each, low, high) for each in numbers]
        return [None if each is None else 1 - each for each in found] if self.is_reversed else found

    def categories(self) -> list[str]:
        """Return the different values as text, sorted."""
        return sorted({str(each) for each in self._known})

    def ticks(self) -> list[tuple[float, str]]:
        """Return heights and labels: of all categories, or of the smallest and the largest number."""
        if not self.is_numeric:
            names = self.categories()
            return [(_share(place, 0, len(names) - 1), name) for place, name in enumerate(names)]
        known = [float(each) for each in self._known if each is not None]
        if not known:
            return []
        low, high = min(known), max(known)
        if low == high:
            return [(0.5, f"{low:.4g}")]
        bottom, top = (1.0, 0.0) if self.is_reversed else (0.0, 1.0)
        return [(bottom, f"{low:.4g}"), (top, f"{high:.4g}")]

    def _on(self, value: float) -> float:
        return log(value) if self.is_log and value > 0 else value


def parallel_coordinates_svg(
    title: str, axes: Sequence[Coordinate], names: Sequence[str], *, best: int | None, name: str
) -> str:
    """Draw items as lines through all axes; `best` is drawn last, in another style. `name` is unique on the page."""
    width = 2 * _SIDE + _AXIS_WIDTH * (len(axes) - 1)
    bottom = _HEIGHT - _BOTTOM
    places = [_SIDE + _AXIS_WIDTH * number for number in range(len(axes))]

    def height(share: float) -> float:
        return bottom - share * (bottom - _TOP)

    shares = [axis.shares() for axis in axes]
    lines = []
    for item, called in enumerate(names):
        points = [(x, column[item]) for x, column in zip(places, shares, strict=True)]
        drawn = " ".join(f"{x},{height(share):.1f}" for x, share in points if share is not None)
        values = ", ".join(f"{axis.label} {_shown(axis.values[item])}" for axis in axes)
        lines.append(("chosen" if item == best else "other", drawn, f"{called}: {values}"))
    lines.sort(key=lambda line: line[0] == "chosen")
    return render(
        "parallel_coordinates.svg",
        title=title,
        description=f"One line per trial through {', '.join(axis.label for axis in axes)}.",
        name=name,
        size=(width, _HEIGHT),
        frame=(_TOP, bottom),
        axes=[
            (x, _cut(axis.label), [(height(share), _cut(text)) for share, text in axis.ticks()])
            for x, axis in zip(places, axes, strict=True)
        ],
        lines=lines,
    )


def _share(value: float, low: float, high: float) -> float:
    return 0.5 if high <= low else (value - low) / (high - low)


def _shown(value: Value) -> str:
    return "unknown" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "…"
