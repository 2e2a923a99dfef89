"""Incremental engines: decode one token at a time with the search algorithms of `dragoman.search`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.search import (
    DecodingState,
    Hypothesis,
    SearchInput,
    SearchOptions,
    SearchSettings,
    ensemble_start,
    forced_decode,
    search,
)
from dragoman.text import BOS_ID


class IncrementalEngine(ABC):
    """Base class; supports every search."""

    name: str
    precision: str
    concurrency = 1
    longest: int | None = None
    """Maximum target length including the end; None if unlimited."""

    @abstractmethod
    def start(self, sources: Sequence[Sequence[int]], return_attention: bool) -> DecodingState:
        """Start decoding of sources (token ids without specials), one row each."""

    @staticmethod
    def unsupported(settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        return None

    def search(
        self, sentences: Sequence[SearchInput], settings: SearchSettings, **options: Unpack[SearchOptions]
    ) -> list[list[Hypothesis]]:
        return search(self.start, sentences, settings, longest=self.longest, **options)

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        return forced_decode(self.start, sources, targets, return_attention=return_attention)

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> NDArray[np.float32]:
        found = self.start(sources, False).step(np.full(len(sources), BOS_ID))
        for token in prefix:
            found = found.next_state.step(np.full(len(sources), token))
        return found.log_probs


class EnsembleEngine(IncrementalEngine):
    """Ensemble of engines; their models may be of different families."""

    def __init__(self, members: Sequence[IncrementalEngine]) -> None:
        self.members = tuple(members)
        self.name = " + ".join(dict.fromkeys(member.name for member in members))
        self.precision = " + ".join(dict.fromkeys(member.precision for member in members))
        self.longest = min((member.longest for member in members if member.longest is not None), default=None)
        self.start_all = ensemble_start([member.start for member in members])

    def start(self, sources: Sequence[Sequence[int]], return_attention: bool) -> DecodingState:
        return self.start_all(sources, return_attention)
