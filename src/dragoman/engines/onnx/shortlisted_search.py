"""Search within the shortlists of sentences.

During the search the id of a token is its place in the shortlist of its sentence. The special tokens are in every
shortlist and come first, so that they keep their ids. Each sentence has its own shortlist, not that of the batch: its
translation does not depend on other sentences, and the output layer is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, Unpack

import numpy as np

from dragoman.bundle.shortlist import Shortlist, distinct
from dragoman.search import Hypothesis, SearchInput, SearchOptions, SearchSettings, SearchTrace, StartDecoding, search
from dragoman.search.decoding_protocol import MappedMonitor, Numbers
from dragoman.text import PAD_ID


@dataclass(frozen=True)
class ShortlistVocabulary:
    """The tokens that each sentence can write. Shapes: tokens [sentences, n], sorted, padded; counts [sentences]."""

    tokens: Numbers
    counts: Numbers

    @classmethod
    def of(cls, shortlist: Shortlist, sentences: Sequence[SearchInput]) -> Self:
        """The vocabulary of a batch."""
        each = [
            distinct(np.concatenate([shortlist.candidates(sentence.tokens), _required(sentence)]))
            for sentence in sentences
        ]
        counts = np.asarray([len(tokens) for tokens in each], np.int64)
        tokens = np.full((len(sentences), counts.max()), PAD_ID, np.int64)
        for row, own in zip(tokens, each, strict=True):
            row[: len(own)] = own
        return cls(tokens, counts)

    def number(self, sentence: int, tokens: Sequence[int]) -> list[int]:
        """Ids in the shortlist of tokens that are in it."""
        own = self.tokens[sentence, : self.counts[sentence]]
        found: list[int] = np.searchsorted(own, np.asarray(tokens, np.int64)).tolist()
        return found

    def name(self, sentence: int, numbers: Sequence[int]) -> list[int]:
        """Token ids of ids in the shortlist."""
        found: list[int] = self.tokens[sentence, np.asarray(numbers, np.int64)].tolist()
        return found

    def numbered(self, place: int, sentence: SearchInput) -> SearchInput:
        """Constraints of a sentence with ids in the shortlist; the source keeps its ids."""
        return replace(
            sentence,
            prefix=self.number(place, sentence.prefix),
            phrases=[self.number(place, phrase) for phrase in sentence.phrases],
            may_follow=None if sentence.may_follow is None else sentence.may_follow[self.tokens[place]],
        )


def search_shortlisted(
    start: StartDecoding,
    vocabulary: ShortlistVocabulary,
    sentences: Sequence[SearchInput],
    settings: SearchSettings,
    *,
    longest: int | None,
    **options: Unpack[SearchOptions],
) -> list[list[Hypothesis]]:
    """`dragoman.search.search` within a vocabulary of shortlists, whose token ids `start` takes."""
    monitor, trace, tree = options.get("monitor"), options.get("trace"), SearchTrace()
    if monitor is not None:
        options["monitor"] = MappedMonitor(monitor, vocabulary.name)
    if trace is not None:
        options["trace"] = tree
    numbered = [vocabulary.numbered(place, sentence) for place, sentence in enumerate(sentences)]
    found = search(start, numbered, settings, longest=longest, **options)
    if trace is not None:
        for sentence, nodes in tree.trees.items():
            for node, token in zip(nodes, vocabulary.name(sentence, [node.token for node in nodes]), strict=True):
                trace.add(sentence, replace(node, token=token))
    return [
        [replace(each, tokens=vocabulary.name(sentence, each.tokens)) for each in hypotheses]
        for sentence, hypotheses in enumerate(found)
    ]


def _required(sentence: SearchInput) -> Numbers:
    return np.asarray([*sentence.prefix, *(token for phrase in sentence.phrases for token in phrase)], np.int64)
