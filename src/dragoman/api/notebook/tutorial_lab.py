"""What the notebooks of the tutorial share: sources of the product, small plots, and a slider that needs no server."""

import inspect
import json
import os
import textwrap
import uuid
from collections.abc import Mapping, Sequence
from html import escape
from math import log10

from IPython.display import HTML, Code

SMALL = os.environ.get("DRAGOMAN_TUTORIAL") == "small"
"""Whether the notebook is only tested: fewer updates, the same code."""

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 300, 64, 34
_PAGE = """
<figure id="{name}" style="max-width:{width}px;margin:1em 0">
<label>{label} <input type="range" min="0" max="{last}" value="{first}" style="width:16em;vertical-align:middle">
<output style="font-variant-numeric:tabular-nums"></output></label>
<svg viewBox="0 0 {width} {height}" role="img" aria-label="{up}: {label}" style="width:100%" fill="none">
<g stroke="currentColor" stroke-opacity=".25">{grid}</g>
<g fill="currentColor" font-size="13" font-family="inherit">{words}
<text x="{width}" y="{height}" text-anchor="end">{across}</text></g>
<polyline stroke="#2a6fdb" stroke-width="2.5"></polyline></svg></figure>
<script>(() => {{
const root = document.getElementById("{name}"), data = {data};
const input = root.querySelector("input");
const draw = () => {{
  root.querySelector("output").textContent = data[input.value][0];
  root.querySelector("polyline").setAttribute("points", data[input.value][1]);
}};
input.addEventListener("input", draw);
draw();
}})()</script>
"""


def show(*parts: object) -> Code:
    """Display the source code of classes and functions of the product."""
    sources = [textwrap.dedent(inspect.getsource(part)) for part in parts]  # type: ignore[arg-type]
    return Code("\n\n".join(sources), language="python")


def slider(
    curves: Mapping[str, Sequence[float]], *, label: str, across: str, up: str, is_log: bool = False, first: int = 0
) -> HTML:
    """Display one of several curves, chosen by a slider. All have the same axes; values are at 1, 2, 3, …"""
    values = [value for curve in curves.values() for value in curve]
    low, high = (max(min(values), 1e-12), max(values)) if is_log else (min(0.0, *values), max(values))

    def height(value: float) -> float:
        share = log10(max(value, low) / low) / log10(high / low) if is_log else (value - low) / (high - low)
        return 10 + (1 - share) * (_HEIGHT - 10 - _BOTTOM)

    ticks = [low * (high / low) ** (part / 4) if is_log else low + (high - low) * part / 4 for part in range(5)]
    longest = max(map(len, curves.values()))

    def place(number: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - 8) * number / max(longest - 1, 1)

    grid = "".join(f'<path d="M{_LEFT} {height(tick):.1f}H{_WIDTH}"/>' for tick in ticks)
    words = "".join(
        f'<text x="{_LEFT - 6}" y="{height(tick) + 4:.1f}" text-anchor="end">{tick:.2g}</text>' for tick in ticks
    )
    words += "".join(
        f'<text x="{place(n):.1f}" y="{_HEIGHT - 16}" text-anchor="middle">{n + 1}</text>'
        for n in range(0, longest, max(longest // 6, 1))
    )
    drawn = [
        [name, " ".join(f"{place(n):.1f},{height(value):.1f}" for n, value in enumerate(curve))]
        for name, curve in curves.items()
    ]
    return HTML(
        _PAGE.format(
            name=f"slider-{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(drawn))}",
            label=escape(label),
            across=escape(across),
            up=escape(up),
            grid=grid,
            words=words,
            data=json.dumps(drawn).replace("<", "\\u003c"),
            last=len(drawn) - 1,
            first=first,
            width=_WIDTH,
            height=_HEIGHT,
        )
    )
