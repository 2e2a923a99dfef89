"""Draw line charts as inline SVG, with points that show their values.

A chart keeps its proportions and fills the available width. Lines differ by colour and by dashes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log, log10

from dragoman.reporting.html import render

_WIDTH, _HEIGHT = 430, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 10, 38
_COLOURS = 8
_MAX_POINTS = 240  # per line; more cannot be distinguished
_MAX_MARKS = 32  # points per line that show their value
_MAX_DOTTED = 16  # a line with more points does not draw them
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_NICE_LOG = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
_MIN_TICKS, _MAX_TICKS = 4, 9
_MAX_NAME = 60
_HALF_LETTER = 3.5  # pixels


@dataclass(frozen=True)
class Series:
    """A line and its points; lines with the same number have the same style."""

    name: str
    number: int
    points: Sequence[tuple[float, float]]
    has_dots: bool = True
    """Whether the points of a short line are drawn; they show their values in any case."""


@dataclass(frozen=True)
class Scale:
    """An axis: its label, how its values are formatted, and fixed ticks.

    `from_zero` applies to the horizontal axis, `is_log` to the vertical one. With `is_whole` only whole numbers have
    ticks: 2.5 updates would be shown as 2.
    """

    label: str
    read: Callable[[float], str]
    ticks: Sequence[tuple[float, str]] = ()
    is_log: bool = False
    from_zero: bool = False
    is_whole: bool = False
    title: str = ""
    """Name of the quantity, if the label only follows its values."""
    position: str = "at {value} {label}"
    """Format of a position on this axis in descriptions."""


@dataclass(frozen=True)
class _Axis:
    """Maps values from `low` to `high` to pixels from `start` to `end`."""

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


def line_chart_svg(
    title: str, lines: Sequence[Series], *, across: Scale, up: Scale, name: str, description: str = ""
) -> str:
    """Draw a chart with a unique `name`, empty without points; it describes the ends of each line by default."""
    drawn = [_thin(line) for line in lines]
    drawn = [line for line in drawn if line.points]
    if not drawn:
        return ""
    x, y = _axes(drawn, across, up)
    return render(
        "line_chart.svg",
        title=title,
        description=description or _description(drawn, across, up),
        name=name,
        size=(_WIDTH, _HEIGHT),
        frame=(_LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM),
        rows=[(y.place(value), words) for value, words in _ticks(y, up, 5)],
        columns=[(x.place(value), _tick_anchor(x.place(value), words), words) for value, words in _ticks(x, across, 5)],
        unit=across.label,
        paths=[(_style(line.number), _pixels(line.points, x, y), line.name) for line in drawn],
        marks=[mark for line in drawn for mark in _marks(line, x, y, across, up)],
    )


def legend_html(names: Sequence[str]) -> str:
    """List the lines numbered in this order with their styles."""
    return render("legend.html", entries=[(swatch_svg(number), name) for number, name in enumerate(names)])


def swatch_svg(number: int) -> str:
    """Draw a short line in the style of the lines with this number."""
    return render("swatch.svg", style=_style(number))


def _style(number: int) -> str:
    return f"c{number % _COLOURS} d{number // _COLOURS % 3}"


def _thin(line: Series) -> Series:
    """Keep at most `_MAX_POINTS` finite points, including the last."""
    known = [point for point in line.points if isfinite(point[0]) and isfinite(point[1])]
    return replace(line, points=[known[place] for place in _evenly(len(known), _MAX_POINTS)])


def _evenly(count: int, maximum: int) -> list[int]:
    """Return at most `maximum` of the numbers below `count`, evenly spaced, including the first and the last."""
    if count <= maximum:
        return list(range(count))
    return [round(place * (count - 1) / (maximum - 1)) for place in range(maximum)]


def _axes(lines: Sequence[Series], across: Scale, up: Scale) -> tuple[_Axis, _Axis]:
    """Return axes that contain every point."""
    xs = [x for line in lines for x, _ in line.points] + [place for place, _ in across.ticks]
    ys = [y for line in lines for _, y in line.points]
    is_log = up.is_log and min(ys) > 0
    low, high = _bounds(min(ys), max(ys), is_log=is_log)
    side = 12 if across.ticks else 0  # keeps points of categories away from the edge
    x_low, x_high = (min(xs), max(xs)) if max(xs) > min(xs) else (min(xs) - 0.5, max(xs) + 0.5)
    if across.from_zero:
        x_low = min(0.0, x_low)
    return (
        _Axis(x_low, x_high, _LEFT + side, _WIDTH - _RIGHT - side, is_log=False),
        _Axis(low, high, _HEIGHT - _BOTTOM, _TOP, is_log=is_log),
    )


def _bounds(low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """Return bounds slightly beyond the values, never equal."""
    if is_log:
        return low / 1.04, max(high, low * 1.05) * 1.04
    room = 0.05 * (high - low) or max(abs(high) * 0.05, 0.5)
    return max(0.0, low - room) if low >= 0 else low - room, high + room


def _ticks(axis: _Axis, scale: Scale, maximum: int) -> list[tuple[float, str]]:
    if scale.ticks:
        return list(scale.ticks)
    if axis.is_log:
        places = _log_places(axis)
        if len(places) >= _MIN_TICKS:
            return [(place, scale.read(place)) for place in places]
    span = axis.high - axis.low
    size = 10.0 ** floor(log10(span / maximum))
    steps = (size * nice for nice in (*_NICE, 2 * _NICE[-1], 5 * _NICE[-1]))
    fits = (each for each in steps if span / each <= maximum and (each.is_integer() or not scale.is_whole))
    step = next(fits, 1.0)
    first = ceil(axis.low / step)
    places = [step * number for number in range(first, floor(axis.high / step) + 1)]
    return [(place, scale.read(place)) for place in places]


def _log_places(axis: _Axis) -> list[float]:
    """Return round values: fewer per decade the more decades there are, and at some point not every decade."""
    first, last = floor(log10(axis.low)), ceil(log10(axis.high))
    apart = 1 + (last - first) // _MAX_TICKS
    decades = range(first, last + 1, apart)

    def within(steps: Sequence[float]) -> list[float]:
        places = [step * 10.0**decade for decade in decades for step in steps]
        return [place for place in places if axis.low <= place <= axis.high]

    if apart > 1:
        return within((1.0,))
    return next((found for steps in _NICE_LOG if len(found := within(steps)) <= _MAX_TICKS), [])


def _tick_anchor(at: float, words: str) -> str:
    if at > _WIDTH - _RIGHT - 14:
        return "end" if at + _HALF_LETTER * len(words) > _WIDTH else "middle"
    return "start" if at < _LEFT + 6 else "middle"


def _pixels(points: Sequence[tuple[float, float]], x: _Axis, y: _Axis) -> str:
    return " ".join(f"{x.place(at):.1f},{y.place(value):.1f}" for at, value in points)


def _marks(line: Series, x: _Axis, y: _Axis, across: Scale, up: Scale) -> list[tuple[str, float, float, str]]:
    """Return class, position and text of the points that show their value."""
    is_dotted = line.has_dots and len(line.points) <= _MAX_DOTTED
    kind = f"{'dot' if is_dotted else 'spot'} {_style(line.number)}"
    marks = []
    for place in _evenly(len(line.points), _MAX_MARKS):
        at, value = line.points[place]
        words = f"{_cut(line.name)}: {up.read(value)} {_where(at, across)}"
        marks.append((kind, x.place(at), y.place(value), words))
    return marks


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def _where(at: float, across: Scale) -> str:
    names = dict(across.ticks)
    return across.position.format(value=names.get(at) or across.read(at), label=across.label)


def _description(lines: Sequence[Series], across: Scale, up: Scale) -> str:
    """Describe the first and the last point of each line."""
    parts = []
    for line in lines:
        (first, one), (last, other) = line.points[0], line.points[-1]
        ends = "" if len(line.points) == 1 else f", {up.read(other)} {_where(last, across)}"
        parts.append(f"{_cut(line.name)}: {up.read(one)} {_where(first, across)}{ends}")
    return f"{up.label} by {across.title or across.label}. {'; '.join(parts)}."
