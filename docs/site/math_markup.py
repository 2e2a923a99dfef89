"""Equations as MathML, which browsers draw without a script, and which wrap on narrow screens.

Browsers do not break a MathML equation into lines. Formulas side by side, separated by ``\\quad`` or ``\\qquad``, are
therefore elements of their own. A single formula that is still too wide scrolls in its box.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_SPACE = re.compile(r"(?:\\q?quad\b\s*)+")
_OPEN, _CLOSE = (re.compile(rf"{brace}|\\(?:{names})\b") for brace, names in (("{", "left|begin"), ("}", "right|end")))
# The padding keeps the height of tall formulas, which would otherwise scroll vertically.
_BOX = "display:flex;flex-wrap:wrap;justify-content:safe center;gap:.6em 2em;overflow-x:auto;padding-block:.7em"


def add_math_markup(app: Sphinx) -> None:
    """Register the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def split_formulas(equation: str) -> list[str]:
    """Split an equation at wide spaces; a space inside a group is no separator."""
    formulas = [""]
    start = 0
    for space in [*_SPACE.finditer(equation), None]:
        formulas[-1] += equation[start : space.start() if space else None]
        if space is None:
            break
        if len(_OPEN.findall(formulas[-1])) == len(_CLOSE.findall(formulas[-1])):
            formulas.append("")
        else:
            formulas[-1] += space.group()
        start = space.end()
    return [formula.strip() for formula in formulas if formula.strip()]


def block_markup(equation: str) -> str:
    """Return the HTML of an equation on lines of its own."""
    formulas = "".join(f"<div>{convert(formula, display='block')}</div>" for formula in split_formulas(equation))
    return f'<div class="math" style="{_BOX}">{formulas}</div>'


def _visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(block_markup(node.astext()))
    raise nodes.SkipNode
