"""Texts with tags and placeholders, translated: tags follow their words, and placeholders come out byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.api.request import Options
from dragoman.api.translation import Translation
from dragoman.api.translator import Translator
from dragoman.api.word_alignment import Links
from dragoman.evaluation.symmetrization import argmax_links
from dragoman.markup.marked import Marked
from dragoman.markup.placeholders import kept_strings, places_of
from dragoman.markup.projection import project
from dragoman.markup.withheld import Withheld, withhold

__all__ = ["MarkedTranslation", "tag_links", "translate_marked"]

_LEAST_SUM = 0.3  # a source word that is looked at less in all is not raised to the others' level


class MarkedTranslation:
    """Two rounds of translating: texts as they are, and again without their kept parts those where these were damaged.

    The `texts` of the first round, and those that `again` gives, are to be translated with ``split=True``,
    ``alignments=True`` and ``weights=True``. Without weights tags follow the links, which are coarser, and without
    links they go by proportion. What has no letters but in its kept parts is in neither round.
    """

    def __init__(self, marked: Sequence[Marked]) -> None:
        self._marked = list(marked)
        self._first = [place for place, each in enumerate(marked) if _has_letters(each)]
        self._second: list[tuple[int, Withheld]] = []
        self._done: list[Marked] = list(marked)

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
    return project(source, found.source_words, found.text, found.target_words, tag_links(found), spaced=spaced)


def tag_links(found: Translation) -> Links | None:
    """Links for tags: those of the weights where there are any, because then each source word that counts has one.

    Weights are first shared out among the target words that look at a source word, so that a word which all look at a
    little, such as a full stop, does not win everywhere. Then each target word is linked to the word it looks at most,
    and each source word that is left to the one that looks at it most.
    """
    links: list[tuple[int, int]] = []
    before = [0, 0]
    for each in found.sentences or (found,):
        if each.weights is None and each.alignment is None:
            return found.alignment
        weights = np.array(each.weights or (), dtype=np.float64)  # [tgt, src]
        some = _shared_out(weights) if weights.size else each.alignment or ()
        links += [(before[0] + source, before[1] + target) for source, target in some]
        before = [before[0] + len(each.source_words), before[1] + len(each.target_words)]
    return tuple(links)


def _shared_out(weights: NDArray[np.float64]) -> Links:
    shared = weights / np.maximum(weights.sum(axis=0), _LEAST_SUM)
    links = argmax_links(shared)
    linked = {source for source, _ in links}
    left = (source for source in range(shared.shape[1]) if source not in linked)
    return links + tuple((source, int(shared[:, source].argmax())) for source in left)


def _has_letters(marked: Marked) -> bool:
    at, pieces = 0, []
    for start, end in marked.kept:
        pieces.append(marked.text[at:start])
        at = end
    return any(char.isalpha() for piece in (*pieces, marked.text[at:]) for char in piece)
