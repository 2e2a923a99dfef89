"""Texts with tags and placeholders, translated: tags follow their words, and placeholders come out byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.api.request import Options
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.markup.marked import Marked
from dragoman.markup.placeholders import kept_strings, places_of
from dragoman.markup.projection import project
from dragoman.markup.shares import Shares
from dragoman.markup.withheld import Withheld, withhold

__all__ = ["MarkedTranslation", "shares_of", "translate_marked"]


class MarkedTranslation:
    """Two rounds of translating: texts as they are, and again without their kept parts those where these were damaged.

    The `texts` of the first round, and those that `again` gives, are to be translated with ``split=True``,
    ``alignments=True`` and ``weights=True``. Without weights tags follow the links, which are coarser, and without
    links they go by proportion. What has no letters but in its kept parts is in neither round.
    """

    def __init__(self, marked: Sequence[Marked]) -> None:
        self._marked = list(marked)
        self._first = [place for place, each in enumerate(marked) if each.has_words]
        self._second: list[tuple[int, Withheld]] = []
        self._done: list[Marked] = list(marked)

    @property
    def first_places(self) -> list[int]:
        """Which of the texts are in the first round."""
        return list(self._first)

    @property
    def second_places(self) -> list[int]:
        """Which of the texts are in the second round, once `again` has said so."""
        return [place for place, _ in self._second]

    @property
    def texts(self) -> list[str]:
        """What to translate in the first round."""
        return [self._marked[place].text for place in self._first]

    def again(self, first: Sequence[Translation]) -> list[str]:
        """Take what the first round gave, and return what to translate in a second one: often nothing."""
        self._second = []
        for place, found in zip(self._first, first, strict=True):
            source = self._marked[place]
            if places_of(kept_strings(source.text, source.kept), source.text, found.text) is None:
                self._second.append((place, withhold(source)))
            else:
                self._done[place] = _projected(source, found)
        return [withheld.marked.text for _, withheld in self._second]

    def finish(self, second: Sequence[Translation]) -> list[Marked]:
        """Take what the second round gave, and return the translations of all texts, in their order."""
        for (place, withheld), found in zip(self._second, second, strict=True):
            self._done[place] = withheld.given_back(_projected(withheld.marked, found, withheld))
        return list(self._done)


def translate_marked(translator: Translator, marked: Sequence[Marked], **options: Unpack[Options]) -> list[Marked]:
    """Translate texts with tags, sentence by sentence; options are those of `Translator.translate_batch`."""
    options = {"split": True, **options, "alignments": True, "weights": True}
    work = MarkedTranslation(marked)
    again = work.again(translator.translate_batch(work.texts, **options))
    return work.finish(translator.translate_batch(again, **options) if again else [])


def _projected(source: Marked, found: Translation, withheld: Withheld | None = None) -> Marked:
    spaced = withheld.spaced if withheld else None
    return project(
        source,
        found.source_words,
        found.text,
        found.target_words,
        found.alignment,
        shares=shares_of(found) if source.spans else None,
        spaced=spaced,
    )


def shares_of(found: Translation) -> Shares | None:
    """What tags follow, where there are weights. In a sentence that has none, links stand for them."""
    sentences = found.sentences or (found,)
    if all(each.weights is None for each in sentences):
        return None
    return Shares((each.source_words, each.target_words, _weights(each)) for each in sentences)


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
