"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["about", "brief", "counted", "duration", "percent", "size"]

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 pair, 12,345 pairs."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(part: float, whole: float = 1.0) -> str:
    """A share with one decimal. Only nothing is shown as 0 %, and only all as 100 %."""
    share = part / whole if whole else 0.0
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    if 0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    return f"{100 * share:.1f} %"


def brief(number: float) -> str:
    """A large number in three digits: 950, 12.3 k, 4.56 M."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:#.3g}".rstrip(".") + unit
    return f"{number:.0f}"


def about(number: float) -> str:
    """A number with one decimal as long as it is small: 8.9, 4,870."""
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def duration(seconds: float) -> str:
    """A time in its two largest units."""
    whole = round(seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE:02} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE:02} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"


def size(number: int) -> str:
    """Bytes in binary units."""
    value = float(number)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"
