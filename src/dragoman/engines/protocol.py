"""What a translator knows about an engine: it translates and scores sentences that are already pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.protocol import Watch
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Trace

__all__ = ["Attentive", "Engine"]


class Engine(Protocol):
    """A loaded model. Safe to use from several threads at once."""

    @property
    def name(self) -> str:
        """torch, ctranslate2 or onnx."""

    @property
    def precision(self) -> str:
        """float32, bfloat16 or int8."""

    @property
    def lanes(self) -> int:
        """How many batches it works on at a time: so many calls of `search` may well be made at once."""

    @property
    def longest(self) -> int | None:
        """The most pieces of a sentence, its end among them, where there is such a limit."""

    def lacks(self, settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        """What of this it cannot do, in a few words; None where it can do all."""

    def search(
        self,
        sentences: Sequence[Sentence],
        settings: SearchSettings,
        *,
        show: bool = False,
        watch: Watch | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate sentences as one batch: for each its translations, the best first.

        With `show` alignments come too, where the model has any. A `trace` gets the search tree.
        """

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, show: bool = False
    ) -> list[Hypothesis]:
        """Forced decoding: how likely these translations are, their end among them, and where they look."""


@runtime_checkable
class Attentive(Protocol):
    """An engine that also shows every layer and head."""

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32] | None]:
        """Where translations look while they are written. Shapes: each [layers, heads, tgt + 1, src + 1]."""

    def likelihoods(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32] | None]:
        """log p of pieces, had each step seen one place of the source alone. Shapes: each [tgt + 1, src + 1]."""
