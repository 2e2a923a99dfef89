"""Add noise to sentences: drop, blank and move words. Paper: [edunov2018] (section 3)."""

from __future__ import annotations

import numpy as np

from dragoman.api.synthetic.settings import BLANK, NoiseSettings
from dragoman.text.characters import is_spaceless
from dragoman.text.words import word_spans

__all__ = ["noisy"]


def noisy(text: str, settings: NoiseSettings, number: int) -> str:
    """Return a text with noise, as a function of the text, the settings and its number; at least one word stays.

    A word is dropped, then replaced by a blank, with their probabilities; then word i is sorted by i + u, with u
    uniform in [0, swap + 1), so that no word moves by more than `swap` places.
    """
    words = [text[start:end] for start, end in word_spans(text)]
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence([settings.noise_seed, number])))
    drops, blanks, moves = generator.random((3, len(words)))
    kept = np.flatnonzero(drops >= settings.noise_drop)
    if not len(kept):
        return text
    order = kept[np.argsort(np.arange(len(kept)) + moves[kept] * (settings.noise_swap + 1), kind="stable")]
    return _join([BLANK if blanks[place] < settings.noise_blank else words[place] for place in order.tolist()])


def _join(words: list[str]) -> str:
    """Join words with spaces, except next to characters of scripts without spaces."""
    parts: list[str] = []
    for word in words:
        if parts and not (is_spaceless(parts[-1][-1]) or is_spaceless(word[0])):
            parts.append(" ")
        parts.append(word)
    return "".join(parts)
