"""Translations, opened, as one HTML file that needs nothing else: no network, no fonts but the reader's own.

For each translation: what it looks at, as a heat map and as links, by layer, head and reading; how it was written, step
by step, with the candidates of each; what would have come of other words; and the tree of the beam. Without its script
the page still shows each translation and one map of it. A source that is written from right to left has its columns in
that order too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import resources

from dragoman.data.check.markup import shown
from dragoman.inspection.direction import as_read, direction
from dragoman.inspection.frame import html_page
from dragoman.inspection.heat_map import heat_map
from dragoman.inspection.inspected import END, Inspected
from dragoman.inspection.inspection_page_values import checked_maps, page_values
from dragoman.inspection.page_style import STYLE

__all__ = ["inspection_page"]

_SCRIPTS = ("core", "words", "heat_map", "links", "heads", "steps", "what_if", "tree", "main")
_FOOTER = (
    "Attention is where the model looks, not why it decides: a word may matter that was hardly looked at. This file "
    "needs no network and sends nothing."
)
_WITHOUT_SCRIPT = (
    '<noscript><p class="introduction">In a map each row is a word of the translation and each column a word of the '
    "source; the stronger the colour of a cell, the more the model looked at that word when it wrote the other. With "
    "scripting allowed this page shows more: every layer and head, how the translation was written step by step, what "
    "would have come of other words, and the beam.</p></noscript>"
)
_LONGEST = 4000


def inspection_page(inspected: Sequence[Inspected], *, title: str) -> str:
    """The whole page, to be written as UTF-8. All texts are plain: whatever they hold is shown, never run."""
    static = "\n".join(_static(number, len(inspected), one) for number, one in enumerate(inspected, start=1))
    body = (
        f'<div id="static">\n{_WITHOUT_SCRIPT}\n{static or "<p>There is no translation to show.</p>"}\n</div>\n'
        '<div id="live"></div>\n'
        f'<script type="application/json" id="values">{page_values(inspected)}</script>'
    )
    script = "\n".join(_asset(f"inspection_{name}.js") for name in _SCRIPTS)
    return html_page(title, body, style=STYLE + _asset("inspection.css"), footer=_FOOTER, script=script)


@cache
def _asset(name: str) -> str:
    return resources.files("dragoman.inspection").joinpath("assets", name).read_text(encoding="utf-8")


def _static(number: int, count: int, one: Inspected) -> str:
    """What is seen without scripting: the texts, and the map of the usual layer."""
    flags = "".join(f'<li class="flag">{shown(flag)}</li>' for flag in one.flags)
    model = f" · {shown(one.model)}" if one.model else ""
    return (
        f'<section class="card sample" aria-labelledby="sample-{number}">\n'
        f'<h2 id="sample-{number}">{number} of {count}{model}</h2>\n'
        f"{_sentence('source', one.source)}\n{_sentence('target', one.translation)}\n"
        f'<ul class="flags">{flags}</ul>\n{_static_map(one)}\n</section>'
    )


def _sentence(side: str, text: str) -> str:
    return f'<p class="sentence {side}" dir="{direction(text)}">{shown(text, _LONGEST)}</p>'


def _static_map(one: Inspected) -> str:
    """The mean of the heads of the default layer; the columns in the order in which the source is read."""
    if not one.has_attention:
        return ""
    weights = checked_maps(one).predicted[one.default_layer].mean(0)
    columns, weights = as_read(one.source, (*one.source_words, END), weights)
    drawn = heat_map(
        columns, (*one.target_words, END), weights, title=f"Attention map: {one.translation}, from {one.source}"
    )
    heads = ", mean of its heads" if one.predicted.shape[1] > 1 else ""
    return f'<div class="scroll">{drawn}</div>\n<p class="says">Layer {one.default_layer + 1}{heads}.</p>'
