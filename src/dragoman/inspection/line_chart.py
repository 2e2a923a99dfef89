"""Line charts as inline SVG: lines with the intervals about them as bands, points that tell their value.

A chart keeps its proportions and fills the width it is given; at the width of a phone its letters can still be read.
Lines are told apart by colour and by dashes. Each chart has a title and a description that says in words what is to be
seen. All texts that are handed in are plain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log, log10

from dragoman.data.check.markup import plain

__all__ = ["Line", "Scale", "legend", "line_chart", "swatch"]

_WIDTH, _HEIGHT = 430, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 38
_COLOURS = 8
_MOST_POINTS = 240  # of a line; more cannot be seen
_MOST_MARKS = 32  # points of a line that tell their value
_DOTTED = 16  # a line of no more points shows them
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_NICE_LOG = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
_FEWEST_TICKS, _MOST_TICKS = 4, 9
_NAME = 60


@dataclass(frozen=True)
class Line:
    """A line: where it goes, and half the width of the interval about each point (empty: none is known).

    Lines of the same number look alike.
    """

    name: str
    number: int
    points: Sequence[tuple[float, float]]
    half_widths: Sequence[float | None] = ()


@dataclass(frozen=True)
class Scale:
    """One axis: what it measures, how its values read, and ticks if they are not to be chosen.

    `from_zero` is for the axis across, `is_log` for the one upwards.
    """

    label: str
    read: Callable[[float], str]
    ticks: Sequence[tuple[float, str]] = ()
    is_log: bool = False
    from_zero: bool = False


@dataclass(frozen=True)
class _Axis:
    """Where values lie: from `low` to `high`, in pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool

    def place(self, value: float) -> float:
        share = (self._on(value) - self._on(self.low)) / (self._on(self.high) - self._on(self.low))
        return self.start + share * (self.end - self.start)

    def _on(self, value: float) -> float:
        return log(max(value, self.low)) if self.is_log else value


def line_chart(title: str, lines: Sequence[Line], *, across: Scale, up: Scale, name: str) -> str:
    """The picture; `name` is unique on the page. Empty where no line has a point."""
    drawn = [_thinned(line) for line in lines]
    drawn = [line for line in drawn if line.points]
    if not drawn:
        return ""
    x, y = _axes(drawn, across, up)
    parts = [
        f'<svg class="plot" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{plain(title)}</title>',
        f'<desc id="{name}-desc">{plain(_description(drawn, across, up), 4000)}</desc>',
        _grid(x, y, across, up),
        *(_band(line, x, y) for line in drawn),
        *(_path(line, x, y) for line in drawn),
        *(_marks(line, x, y, across, up) for line in drawn),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def legend(names: Sequence[str]) -> str:
    """Which line is whose, for the lines numbered in this order."""
    entries = "".join(f"<li>{swatch(number)}<bdi>{plain(name, _NAME)}</bdi></li>" for number, name in enumerate(names))
    return f'<ul class="legend">{entries}</ul>'


def swatch(number: int) -> str:
    """A short line that looks as those of this number do."""
    return (
        '<svg class="swatch" aria-hidden="true" viewBox="0 0 26 10">'
        f'<path class="line {_look(number)}" d="M1 5H25"/></svg>'
    )


def _look(number: int) -> str:
    return f"c{number % _COLOURS} d{number // _COLOURS % 3}"


def _thinned(line: Line) -> Line:
    """As many points as can be seen, those that are numbers, the last among them."""
    widths = line.half_widths or [None] * len(line.points)
    known = [
        (point, width)
        for point, width in zip(line.points, widths, strict=True)
        if isfinite(point[0]) and isfinite(point[1])
    ]
    kept = [known[place] for place in _evenly(len(known), _MOST_POINTS)]
    return Line(line.name, line.number, [point for point, _ in kept], [width for _, width in kept])


def _evenly(count: int, most: int) -> list[int]:
    """At most so many of the numbers below `count`, evenly, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def _axes(lines: Sequence[Line], across: Scale, up: Scale) -> tuple[_Axis, _Axis]:
    """Axes that hold every point and every band."""
    xs = [x for line in lines for x, _ in line.points] + [place for place, _ in across.ticks]
    ys = [
        y + sign * (width or 0.0)
        for line in lines
        for (_, y), width in zip(line.points, line.half_widths, strict=True)
        for sign in (-1, 1)
    ]
    is_log = up.is_log and min(ys) > 0
    low, high = _bounds(min(ys), max(ys), is_log=is_log)
    side = 12 if across.ticks else 0  # points of categories do not stand on the edge
    x_low, x_high = (min(xs), max(xs)) if max(xs) > min(xs) else (min(xs) - 0.5, max(xs) + 0.5)
    if across.from_zero:
        x_low = min(0.0, x_low)
    return (
        _Axis(x_low, x_high, _LEFT + side, _WIDTH - _RIGHT - side, is_log=False),
        _Axis(low, high, _HEIGHT - _BOTTOM, _TOP, is_log=is_log),
    )


def _bounds(low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """A little more than the values take; never nothing."""
    if is_log:
        return low / 1.04, max(high, low * 1.05) * 1.04
    room = 0.05 * (high - low) or max(abs(high) * 0.05, 0.5)
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def _ticks(axis: _Axis, scale: Scale, most: int) -> list[tuple[float, str]]:
    if scale.ticks:
        return list(scale.ticks)
    if axis.is_log:
        places = _log_places(axis)
        if len(places) >= _FEWEST_TICKS:
            return [(place, scale.read(place)) for place in places]
    span = axis.high - axis.low
    size = 10.0 ** floor(log10(span / most))
    step = next(size * nice for nice in _NICE if span / (size * nice) <= most)
    first = ceil(axis.low / step)
    places = [step * number for number in range(first, floor(axis.high / step) + 1)]
    return [(place, scale.read(place)) for place in places]


def _log_places(axis: _Axis) -> list[float]:
    """As many nice values as have room: fewer to a decade the more decades there are, and at last not every decade."""
    first, last = floor(log10(axis.low)), ceil(log10(axis.high))
    apart = 1 + (last - first) // _MOST_TICKS
    decades = range(first, last + 1, apart)

    def within(steps: Sequence[float]) -> list[float]:
        places = [step * 10.0**decade for decade in decades for step in steps]
        return [place for place in places if axis.low <= place <= axis.high]

    if apart > 1:
        return within((1.0,))
    return next((found for steps in _NICE_LOG if len(found := within(steps)) <= _MOST_TICKS), [])


def _grid(x: _Axis, y: _Axis, across: Scale, up: Scale) -> str:
    """Ticks with their lines, and what the axes measure."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = []
    for value, words in _ticks(y, up, 5):
        at = y.place(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{right}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{plain(words)}</text>')
    for value, words in _ticks(x, across, 5):
        at = x.place(value)
        anchor = "end" if at > right - 14 else "start" if at < _LEFT + 6 else "middle"
        parts.append(f'<text x="{at:.1f}" y="{bottom + 15}" text-anchor="{anchor}">{plain(words)}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT} {bottom}H{right}"/>')
    parts.append(f'<text class="unit" x="{right}" y="{_HEIGHT - 5}" text-anchor="end">{plain(across.label)}</text>')
    return "".join(parts)


def _band(line: Line, x: _Axis, y: _Axis) -> str:
    """The intervals, where they are known; an interval that stands alone is a stroke."""
    known = [(point, width) for point, width in zip(line.points, line.half_widths, strict=True) if width is not None]
    if not known:
        return ""
    above = [f"{x.place(at):.1f},{y.place(value + width):.1f}" for (at, value), width in known]
    below = [f"{x.place(at):.1f},{y.place(value - width):.1f}" for (at, value), width in reversed(known)]
    look = _look(line.number)
    if len(known) == 1:
        return f'<polyline class="line {look}" points="{above[0]} {below[0]}"/>'
    return f'<polygon class="band {look}" points="{" ".join(above + below)}"/>'


def _path(line: Line, x: _Axis, y: _Axis) -> str:
    places = " ".join(f"{x.place(at):.1f},{y.place(value):.1f}" for at, value in line.points)
    words = plain(line.name, _NAME)
    return f'<polyline class="line {_look(line.number)}" points="{places}"><title>{words}</title></polyline>'


def _marks(line: Line, x: _Axis, y: _Axis, across: Scale, up: Scale) -> str:
    """Points that tell their value to whoever points at them; of many, some."""
    kind = "dot" if len(line.points) <= _DOTTED else "spot"
    parts = []
    for place in _evenly(len(line.points), _MOST_MARKS):
        (at, value), width = line.points[place], line.half_widths[place]
        words = f"{_cut(line.name)}: {up.read(value)}{_more(width, up)} {_where(at, across)}"
        parts.append(
            f'<circle class="{kind} {_look(line.number)}" cx="{x.place(at):.1f}" cy="{y.place(value):.1f}" r="3.2">'
            f"<title>{plain(words)}</title></circle>"
        )
    return "".join(parts)


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"


def _more(width: float | None, up: Scale) -> str:
    return "" if width is None else f" ± {up.read(width)}"


def _where(at: float, across: Scale) -> str:
    names = dict(across.ticks)
    return f"at {names.get(at) or across.read(at)} {across.label}"


def _description(lines: Sequence[Line], across: Scale, up: Scale) -> str:
    """Where each line begins and where it ends."""
    told = []
    for line in lines:
        (first, one), (last, other) = line.points[0], line.points[-1]
        ends = "" if len(line.points) == 1 else f", {up.read(other)} {_where(last, across)}"
        told.append(f"{_cut(line.name)}: {up.read(one)} {_where(first, across)}{ends}")
    return f"{up.label} by {across.label}. {'; '.join(told)}."
