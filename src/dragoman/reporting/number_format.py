"""Format counts, percentages, durations and sizes, and the titles of metrics."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
# The setting chrf computes chrF++: chrF with word n-grams.
_TITLES = {"bleu": "BLEU", "chrf": "chrF++", "chrf++": "chrF++", "ter": "TER", "comet": "COMET"}


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Format a number with its noun: 1 pair, 12,345 pairs."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def format_percent(part: float, total: float = 1.0) -> str:
    """Format a share with one decimal. Only an exact 0 is shown as 0 %, and only an exact 1 as 100 %."""
    share = part / total if total else 0.0
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    if 0 < share < 0.0005:
        return "<0.1 %"
    if 0.9995 <= share < 1:
        return ">99.9 %"
    return f"{100 * share:.1f} %"


def format_compact(number: float) -> str:
    """Format a large number with three significant digits: 950, 12.3 k, 4.56 M."""
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= limit:
            return f"{number / limit:#.3g}".rstrip(".") + unit
    return f"{number:.0f}"


def format_approximate(number: float) -> str:
    """Format a number below 10 with one decimal, any other without: 8.9, 4,870."""
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units."""
    rounded = round(seconds)
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if rounded < _MINUTE:
        return f"{rounded} s"
    if rounded < _HOUR:
        return f"{rounded // _MINUTE} min {rounded % _MINUTE:02} s"
    if rounded < _DAY:
        return f"{rounded // _HOUR} h {rounded % _HOUR // _MINUTE:02} min"
    return f"{rounded // _DAY} d {rounded % _DAY // _HOUR} h"


def format_remaining(seconds: float) -> str:
    """Format an estimated duration, rounded: 3 s, 40 s, 2 min 10 s, 13 min, 2 h 05 min, 3 d 4 h."""
    limits = ((10, 1), (_MINUTE, 5), (10 * _MINUTE, 10), (_HOUR, _MINUTE), (_DAY, 5 * _MINUTE))
    step = next((step for limit, step in limits if seconds < limit), _HOUR)
    rounded = round(seconds / step) * step
    if rounded < _MINUTE:
        return f"{rounded} s"
    return f"{rounded // _MINUTE} min" if rounded < _HOUR and rounded % _MINUTE == 0 else format_duration(rounded)


def format_bytes(number: int) -> str:
    """Format a number of bytes in binary units."""
    value = float(number)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} TiB"


def metric_title(metric: str) -> str:
    """Return the name of a metric as its authors write it; other names are unchanged."""
    return _TITLES.get(metric.lower(), metric)
