"""HTML from values. Whatever comes from a corpus goes through `shown`; every other function takes finished HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from dragoman.data.check.visible import LONGEST, visible_parts

__all__ = ["figures", "plain", "shown", "table"]


def shown(text: str, longest: int = LONGEST) -> str:
    """Text as HTML: escaped, cut, and with what cannot be seen spelt out in a colour of its own."""
    return "".join(
        f'<span class="spelt">{escape(part)}</span>' if is_spelt else escape(part)
        for part, is_spelt in visible_parts(text, longest)
    )


def plain(text: str, longest: int = LONGEST) -> str:
    """Text as HTML without any markup, for attributes and for titles."""
    return escape("".join(part for part, _ in visible_parts(text, longest)))


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    classes: Sequence[str] = (),
    name: str = "",
) -> str:
    """A table whose first column names its rows; `classes` are those of the columns, `name` that of the table.

    The keyboard reaches it, to move what does not fit.
    """
    classes = [*classes, *[""] * (len(head) - len(classes))]
    heads = "".join(f'<th scope="col"{_class(kind)}>{cell}</th>' for cell, kind in zip(head, classes, strict=True))
    lines = [
        f'<tr><th scope="row"{_class(classes[0])}>{first}</th>'
        + "".join(f"<td{_class(kind)}>{cell}</td>" for cell, kind in zip(rest, classes[1:], strict=True))
        + "</tr>"
        for first, *rest in rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="scroll" tabindex="0"><table{_class(name)}><caption><span>{caption}</span></caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def figures(entries: Iterable[tuple[str, str, str]]) -> str:
    """A few large numbers: what each is, its value, and a remark."""
    cells = "\n".join(
        f"<div><dt>{name}</dt><dd>{value}{f'<small>{remark}</small>' if remark else ''}</dd></div>"
        for name, value, remark in entries
    )
    return f'<dl class="figures">\n{cells}\n</dl>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
