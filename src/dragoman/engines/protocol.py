"""Engine protocol: translate and score tokenized sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import SearchMonitor
from dragoman.search.hypothesis import Hypothesis, SearchInput
from dragoman.search.trace import SearchTrace


class Engine(Protocol):
    """A loaded model. Safe to use from several threads at once."""

    @property
    def name(self) -> str:
        """torch, ctranslate2 or onnx."""

    @property
    def precision(self) -> str:
        """float32, bfloat16 or int8."""

    @property
    def concurrency(self) -> int:
        """Number of batches that it processes in parallel: the useful number of concurrent calls of `search`."""

    @property
    def longest(self) -> int | None:
        """Maximum length of a sentence including the end; None if unlimited."""

    def unsupported(self, settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        """The first unsupported feature, in a few words; None if all are supported."""

    def search(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        *,
        return_attention: bool = False,
        monitor: SearchMonitor | None = None,
        trace: SearchTrace | None = None,
    ) -> list[list[Hypothesis]]:
        """Translate sentences as one batch: for each its translations, the best first.

        With `return_attention` hypotheses have alignments, if the model has attention. `trace` receives the tree.
        """

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        """Forced decoding: log p of given translations including the end, and their alignment."""

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> NDArray[np.float32]:
        """log p of every token as the first one, after `prefix`, of the translation of each source.

        Shapes: [sources, vocab].
        """


@runtime_checkable
class AttentionEngine(Protocol):
    """An engine with attention weights of every layer and head."""

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32] | None]:
        """Attention weights of given translations. Shapes: each [layers, heads, tgt + 1, src + 1]."""

    def likelihoods(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32] | None]:
        """log p of tokens if each step attends to a single source position. Shapes: each [tgt + 1, src + 1]."""
