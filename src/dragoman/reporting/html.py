"""Render self-contained HTML pages from Jinja2 templates with autoescaping.

A page loads nothing from the network, and its content security policy allows only the page's own script. Templates are
in ``templates``, style sheets and scripts in ``assets``. Jinja2 is imported when the first page is rendered.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from dragoman.reporting.number_format import (
    format_approximate,
    format_bytes,
    format_compact,
    format_count,
    format_duration,
    format_percent,
)
from dragoman.reporting.safe_display_text import DEFAULT_MAX_LENGTH, text_direction, visible, visible_parts

if TYPE_CHECKING:
    from jinja2 import Environment

_FILTERS = {
    "approximate": format_approximate,
    "bytes": format_bytes,
    "compact": format_compact,
    "counted": format_count,
    "direction": text_direction,
    "duration": format_duration,
    "percent": format_percent,
    "plain": visible,
}


def render(template: str, **values: object) -> Markup:
    """Render a template; strings among the values are escaped."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704 -- the template escapes


def render_page(
    template: str, *, title: str, styles: Sequence[str], script: str | None = None, **values: object
) -> str:
    """Render a page, to be written as UTF-8, with these style sheets and one script inlined."""
    parts = inlined(map(read_asset, styles), "" if script is None else read_asset(script))
    return str(render(template, title=title, **parts, **values))


def inlined(styles: Iterable[str], script: str) -> dict[str, Markup]:
    """Return the style, the script and the content security policy of a page, from their texts."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'; {scripts}base-uri 'none'; form-action 'none'"
    return {"style": Markup("\n".join(styles)), "script": Markup(script), "policy": Markup(policy)}  # noqa: S704


def visible_html(text: str, max_length: int = DEFAULT_MAX_LENGTH) -> Markup:
    """Escape and truncate a text; invisible characters become escape sequences in a different colour."""
    spelt = Markup('<span class="spelt">{}</span>')
    return Markup("").join(
        spelt.format(part) if is_escape else escape(part) for part, is_escape in visible_parts(text, max_length)
    )


def json_for_script(value: object) -> Markup:
    """Encode a value as ASCII JSON that can be placed in a ``script`` element."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(escaped)  # noqa: S704 -- no character with a meaning in HTML is left


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 -- slow to import

    environment = Environment(
        loader=PackageLoader("dragoman.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    environment.filters |= _FILTERS | {"visible": visible_html}
    return environment


@cache
def read_asset(name: str) -> str:
    """Return the text of a style sheet or script of the package."""
    return resources.files("dragoman.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def table_html(
    title: str, header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], *, notes: Sequence[str] = ()
) -> str:
    """Return a table of rows with a name and values; the header names the values, and notes follow the table."""
    return str(render("notebook_table.html", title=title, header=header, rows=rows, notes=notes))
