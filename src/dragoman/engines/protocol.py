"""Engine protocol: translate and score tokenized sentences; engines that decode by steps. Imports no torch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, Unpack, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dragoman.config.engine import DeviceName
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError
from dragoman.search import DecodingState, ensemble_start, forced_decode, search
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchOptions
from dragoman.text import BOS_ID

Device = Literal["cpu", "cuda"]

_FIXES = {
    "torch": "install a build of torch for CUDA",
    "ctranslate2": "install NVIDIA's driver, CUDA 12 and cuDNN",
    "onnx": "install onnxruntime-gpu in place of onnxruntime",
}


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
        self, sentences: Sequence[SearchInput], settings: SearchSettings, **options: Unpack[SearchOptions]
    ) -> list[list[Hypothesis]]:
        """Translate sentences as one batch: for each its translations, the best first."""

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        """Forced decoding: log p of given translations including the end, and their alignment."""

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> NDArray[np.float32]:
        """log p of every token as the first one, after `prefix`, of each translation. Shapes: -> [sources, vocab]."""


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


def resolve_device(engine: str, device: DeviceName, has_cuda: Callable[[], bool]) -> Device:
    """Return the device of an engine: `auto` is cuda if it has one; cuda without one is a `ConfigError`."""
    if device == "cpu":
        return "cpu"
    found = has_cuda()
    if device == "cuda" and not found:
        raise no_cuda_error(engine)
    return "cuda" if found else "cpu"


def no_cuda_error(engine: str) -> ConfigError:
    """Return the error for an engine that cannot use a CUDA device."""
    return ConfigError(
        f"device must be cpu or auto where {engine} finds no CUDA device, got cuda; leave --device out, or "
        f"{_FIXES[engine]}"
    )


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
