"""Engine that begins every translation with given tokens, such as a language token, and does not return them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dragoman.config.search import SearchSettings
from dragoman.engines.incremental import IncrementalEngine
from dragoman.engines.protocol import AttentionEngine, Engine
from dragoman.search.decoding_protocol import DecodingState, Numbers, SearchMonitor, StepOutput
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchTrace, TraceNode

_Maps = list[NDArray[np.float32] | None]


def begin_translations(engine: Engine, prefix: Sequence[int]) -> Engine:
    """Return an engine that begins every translation with the prefix, and can do what the given one can."""
    if not prefix:
        return engine
    if not isinstance(engine, IncrementalEngine):
        return TargetPrefixEngine(engine, prefix)
    if isinstance(engine, AttentionEngine):
        return _AttentionTargetPrefixEngine(engine, prefix, engine)
    return _IncrementalTargetPrefixEngine(engine, prefix)


@dataclass(frozen=True)
class _WithoutPrefix:
    """Monitor that does not report the prefix."""

    monitor: SearchMonitor
    length: int

    def is_cancelled(self, sentence: int) -> bool:
        return self.monitor.is_cancelled(sentence)

    def is_streamed(self, sentence: int) -> bool:
        return self.monitor.is_streamed(sentence)

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        if len(tokens) > self.length:
            self.monitor.on_tokens(sentence, tokens[self.length :])


class TargetPrefixEngine:
    """Another engine, with `prefix` before every translation. Scores and log p include it."""

    def __init__(self, engine: Engine, prefix: Sequence[int]) -> None:
        self.engine, self.prefix = engine, tuple(prefix)
        self.name, self.precision, self.concurrency = engine.name, engine.precision, engine.concurrency
        self.longest = None if engine.longest is None else engine.longest - len(self.prefix)

    def unsupported(self, settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        """The first unsupported feature, in a few words; None if all are supported."""
        return self.engine.unsupported(settings, phrases=phrases, trace=trace)

    def search(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        *,
        return_attention: bool = False,
        monitor: SearchMonitor | None = None,
        trace: SearchTrace | None = None,
    ) -> list[list[Hypothesis]]:
        """See `Engine.search`."""
        found = self.engine.search(
            [replace(each, prefix=(*self.prefix, *each.prefix)) for each in sentences],
            settings,
            return_attention=return_attention,
            monitor=None if monitor is None else _WithoutPrefix(monitor, len(self.prefix)),
            trace=None if trace is None else (own := SearchTrace()),
        )
        if trace is not None:
            trace.trees |= {number: self._tree(nodes) for number, nodes in own.trees.items()}
        return [[self._without_prefix(each) for each in some] for some in found]

    def _tree(self, nodes: Sequence[TraceNode]) -> list[TraceNode]:
        """Return the tree of a search without the nodes of the prefix."""
        length = len(self.prefix)
        numbers: dict[int, int] = {}
        found: list[TraceNode] = []
        for number, node in enumerate(nodes):
            if node.step >= length:
                numbers[number] = len(found)
                found.append(replace(node, parent=numbers.get(node.parent, -1), step=node.step - length))
        return found

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        """See `Engine.score`."""
        begun = [(*self.prefix, *target) for target in targets]
        return [
            self._without_prefix(each) for each in self.engine.score(sources, begun, return_attention=return_attention)
        ]

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> NDArray[np.float32]:
        """See `Engine.first_token_log_probs`."""
        return self.engine.first_token_log_probs(sources, (*self.prefix, *prefix))

    def _without_prefix(self, hypothesis: Hypothesis) -> Hypothesis:
        length = len(self.prefix)
        alignment = None if hypothesis.alignment is None else hypothesis.alignment[length:]
        return replace(hypothesis, tokens=hypothesis.tokens[length:], alignment=alignment)


@dataclass(frozen=True)
class _StateBeforePrefix:
    """State of decoding whose first step decodes the prefix too."""

    state: DecodingState
    prefix: tuple[int, ...]

    def step(self, tokens: Numbers) -> StepOutput:
        found = self.state.step(tokens)
        for token in self.prefix:
            found = found.next_state.step(np.full(len(tokens), token, np.int64))
        return found

    def reorder(self, rows: Numbers) -> Self:
        return replace(self, state=self.state.reorder(rows))

    def select(self, rows: Numbers) -> Self:
        return replace(self, state=self.state.select(rows))


class _IncrementalTargetPrefixEngine(TargetPrefixEngine, IncrementalEngine):
    """For engines that run one step at a time."""

    def __init__(self, engine: IncrementalEngine, prefix: Sequence[int]) -> None:
        super().__init__(engine, prefix)
        self._incremental = engine

    def start(self, sources: Sequence[Sequence[int]], return_attention: bool) -> DecodingState:
        """See `IncrementalEngine.start`."""
        return _StateBeforePrefix(self._incremental.start(sources, return_attention), self.prefix)


class _AttentionTargetPrefixEngine(_IncrementalTargetPrefixEngine):
    """For engines that also have attention weights of every layer and head."""

    def __init__(self, engine: IncrementalEngine, prefix: Sequence[int], attentive: AttentionEngine) -> None:
        super().__init__(engine, prefix)
        self._attentive = attentive

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> _Maps:
        """See `AttentionEngine.attention`."""
        return self._without_rows(self._attentive.attention, sources, targets)

    def likelihoods(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> _Maps:
        """See `AttentionEngine.likelihoods`."""
        return self._without_rows(self._attentive.likelihoods, sources, targets)

    def _without_rows(
        self,
        show: Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], _Maps],
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
    ) -> _Maps:
        found = show(sources, [(*self.prefix, *target) for target in targets])
        return [None if each is None else each[..., len(self.prefix) :, :] for each in found]
