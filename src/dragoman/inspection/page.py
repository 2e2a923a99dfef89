"""Attention maps as one HTML file that needs nothing else: no network, no fonts but the reader's own.

Each sample is the source, the translation and a heat map. A word under the pointer, or reached with the keyboard,
lights up the words that it looks at, or that look at it. Without its script the page still shows the maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from numpy.typing import ArrayLike

from dragoman.data.check.markup import shown
from dragoman.inspection.direction import direction
from dragoman.inspection.frame import html_page
from dragoman.inspection.heat_map import heat_map
from dragoman.inspection.page_script import SCRIPT
from dragoman.inspection.page_style import STYLE
from dragoman.inspection.weights import checked_weights

__all__ = ["Aligned", "alignment_page"]

_FOOTER = (
    "The stronger the colour of a cell, the more the target word on its left looks at the source word above it. Point "
    "at a word, or go to it with Tab and the arrow keys."
)


class Aligned(Protocol):
    """A translation to show: the words of both sides, and what the model should have written, if that is known.

    Shapes: weights [target words, source words], numbers from 0 to 1; None where the model has no attention.
    """

    @property
    def source_words(self) -> Sequence[str]:
        """Words or pieces; a space may be one."""

    @property
    def target_words(self) -> Sequence[str]:
        """As for the source."""

    @property
    def weights(self) -> ArrayLike | None:
        """How much each target word looks at each source word."""

    @property
    def source(self) -> str:
        """The source as text."""

    @property
    def translation(self) -> str:
        """The translation as text."""

    @property
    def reference(self) -> str:
        """What was to be written; empty where nobody knows."""


def alignment_page(samples: Sequence[Aligned], *, title: str, introduction: str = "") -> str:
    """The whole page, to be written as UTF-8. All texts are plain: whatever they hold is shown, never run."""
    drawn = "\n".join(_sample(number, len(samples), sample) for number, sample in enumerate(samples, start=1))
    return html_page(title, f"{_introduction(introduction)}\n{drawn}", style=STYLE, footer=_FOOTER, script=SCRIPT)


def _introduction(text: str) -> str:
    return f'<p class="introduction">{shown(text, 1000)}</p>' if text else ""


def _sample(number: int, samples: int, sample: Aligned) -> str:
    """One translation: its two sentences, word by word, and its map."""
    picture, data = "", ""
    if sample.weights is not None:
        weights = checked_weights(sample.weights, sample.source_words, sample.target_words)
        title = f"Attention map: {sample.translation}, from {sample.source}"
        picture = (
            f'<div class="scroll">{heat_map(sample.source_words, sample.target_words, weights, title=title)}</div>'
        )
        data = ";".join(",".join(f"{weight:.3f}" for weight in row) for row in weights.tolist())
    return (
        f'<section class="card sample" aria-labelledby="sample-{number}" data-weights="{data}">\n'
        f'<h2 id="sample-{number}">{number} of {samples}{_verdict(sample)}</h2>\n'
        f"{_sentence('source', sample.source_words)}\n{_sentence('target', sample.target_words)}\n"
        f"{picture}\n"
        '<p class="says" aria-live="polite"></p>\n</section>'
    )


def _sentence(side: str, words: Sequence[str]) -> str:
    """The words of a side in a row; the script makes one stop for the Tab key of them."""
    kind = " letters" if all(len(word) <= 2 for word in words) else ""
    buttons = "".join(
        f'<button type="button" class="word" data-side="{side}" data-word="{number}">'
        f"<bdi>{shown(word, 60) if word.strip() else '&#160;'}</bdi></button>"
        for number, word in enumerate(words)
    )
    return f'<p class="sentence {side}{kind}" role="group" aria-label="{side}" dir="{direction(words)}">{buttons}</p>'


def _verdict(sample: Aligned) -> str:
    """Whether the translation is its reference; nothing where there is none."""
    if not sample.reference:
        return ""
    if sample.reference == sample.translation:
        return '<span class="verdict right">✓ as it should be</span>'
    return f'<span class="verdict">should be <bdi dir="auto">{shown(sample.reference)}</bdi></span>'
