"""Translate text with tags and placeholders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.api.translation.translation import Translation
from dragoman.api.translation.translator import Translator
from dragoman.markup.masking import MaskedText, mask_protected
from dragoman.markup.protected_spans import locate_placeholders, placeholder_strings
from dragoman.markup.soft_alignment import SoftAlignment
from dragoman.markup.tag_projection import project_tags
from dragoman.markup.tagged_text import TaggedText

__all__ = ["MarkupTranslation", "shares_of", "translate_markup"]


class MarkupTranslation:
    """Two rounds of translation: all texts, then without their protected spans those whose spans were damaged.

    The `texts` of the first round, and those that `second_round` returns, must be translated with sentence splitting,
    alignment, attention and posterior. Tags are placed by attention weights, otherwise by links, otherwise by
    proportion. Texts whose only letters are in protected spans are in neither round.
    """

    def __init__(self, marked: Sequence[TaggedText]) -> None:
        self._marked = list(marked)
        self._first = [place for place, each in enumerate(marked) if each.has_words]
        self._second: list[tuple[int, MaskedText]] = []
        self._done: list[TaggedText] = list(marked)

    @property
    def first_places(self) -> list[int]:
        """Indices of the texts of the first round."""
        return list(self._first)

    @property
    def second_places(self) -> list[int]:
        """Indices of the texts of the second round, after `second_round`."""
        return [place for place, _ in self._second]

    @property
    def texts(self) -> list[str]:
        """Texts to translate in the first round."""
        return [self._marked[place].text for place in self._first]

    def second_round(self, first: Sequence[Translation]) -> list[str]:
        """Add the translations of the first round; return the texts of the second round, often none."""
        self._second = []
        for place, found in zip(self._first, first, strict=True):
            source = self._marked[place]
            if locate_placeholders(placeholder_strings(source.text, source.kept), source.text, found.text) is None:
                self._second.append((place, mask_protected(source)))
            else:
                self._done[place] = _projected(source, found)
        return [withheld.tagged.text for _, withheld in self._second]

    def finish(self, second: Sequence[Translation]) -> list[TaggedText]:
        """Add the translations of the second round; return the translations of all texts, in order."""
        for (place, withheld), found in zip(self._second, second, strict=True):
            self._done[place] = withheld.restore(_projected(withheld.tagged, found, withheld))
        return list(self._done)


def translate_markup(translator: Translator, marked: Sequence[TaggedText]) -> list[TaggedText]:
    """Translate texts with tags, sentence by sentence."""
    work = MarkupTranslation(marked)
    has_tags = any(each.spans for each in marked)
    first = translator.translate(work.texts, alignment=True, attention=True, posterior=has_tags)
    again = work.second_round(first)
    if not again:
        return work.finish([])
    return work.finish(translator.translate(again, alignment=True, attention=True, posterior=has_tags))


def _projected(source: TaggedText, found: Translation, withheld: MaskedText | None = None) -> TaggedText:
    spaced = withheld.spaced if withheld else None
    return project_tags(
        source,
        found.source_words,
        found.text,
        found.target_words,
        found.alignment,
        shares=shares_of(found) if source.spans else None,
        spaced=spaced,
    )


def shares_of(found: Translation) -> SoftAlignment | None:
    """What tags follow, where there are weights. In a sentence that has none, links stand for them."""
    sentences = found.sentences or (found,)
    if all(each.weights is None for each in sentences):
        return None
    return SoftAlignment((each.source_words, each.target_words, _weights(each)) for each in sentences)


def _weights(found: Translation) -> NDArray[np.float64]:
    """The weights between words. Shapes: [tgt, src]."""
    size = len(found.target_words), len(found.source_words)
    weights = np.array(found.weights or (), dtype=np.float64)
    if weights.shape == size:
        return weights
    weights = np.zeros(size)
    for source, target in found.alignment or ():
        weights[target, source] = 1.0
    return weights
