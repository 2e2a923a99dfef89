"""Directions of a model with several: the tokenizers and the engine of each, which begin with its language tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from dragoman.config import Config, DataConfig
from dragoman.config.corpus import Direction
from dragoman.config.search import SearchSettings
from dragoman.engines.protocol import AttentionEngine, Engine, IncrementalEngine
from dragoman.errors import ConfigError
from dragoman.language_codes import match_language
from dragoman.search.decoding_protocol import DecodingState, MappedMonitor, Numbers, StepOutput
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchOptions, SearchTrace, TraceNode
from dragoman.text import PrefixedTokenizer, Tokenizer, language_token_id
from dragoman.text.language_tokens import begin_tokens

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
        self, sentences: Sequence[SearchInput], settings: SearchSettings, **options: Unpack[SearchOptions]
    ) -> list[list[Hypothesis]]:
        monitor, trace, own = options.get("monitor"), options.get("trace"), SearchTrace()
        length = len(self.prefix)
        if monitor is not None:
            options["monitor"] = MappedMonitor(monitor, lambda _, tokens: tokens[length:])
        if trace is not None:
            options["trace"] = own
        begun = [replace(each, prefix=(*self.prefix, *each.prefix)) for each in sentences]
        found = self.engine.search(begun, settings, **options)
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
        begun = [(*self.prefix, *target) for target in targets]
        return [
            self._without_prefix(each) for each in self.engine.score(sources, begun, return_attention=return_attention)
        ]

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> NDArray[np.float32]:
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
        return _StateBeforePrefix(self._incremental.start(sources, return_attention), self.prefix)


class _AttentionTargetPrefixEngine(_IncrementalTargetPrefixEngine):
    """For engines that also have attention weights of every layer and head."""

    def __init__(self, engine: IncrementalEngine, prefix: Sequence[int], attentive: AttentionEngine) -> None:
        super().__init__(engine, prefix)
        self._attentive = attentive

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> _Maps:
        return self._without_rows(self._attentive.attention, sources, targets)

    def likelihoods(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> _Maps:
        return self._without_rows(self._attentive.likelihoods, sources, targets)

    def _without_rows(
        self,
        show: Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], _Maps],
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
    ) -> _Maps:
        found = show(sources, [(*self.prefix, *target) for target in targets])
        return [None if each is None else each[..., len(self.prefix) :, :] for each in found]


_MAX_SHOWN = 20


class _Directed(Protocol):
    """A translator, which is defined above this package."""

    directions: tuple[Direction, ...]

    def direction(self, source: str | None = None, target: str | None = None) -> Self: ...


_Translator = TypeVar("_Translator", bound=_Directed)


def in_direction(translator: _Translator, direction: Direction) -> _Translator:
    """Return the translator of one direction of a model with several; one of a single direction is unchanged."""
    return translator.direction(*direction) if len(translator.directions) > 1 else translator


def choose_direction(directions: Sequence[Direction], source: str | None, target: str | None) -> Direction:
    """Return the direction between two languages, one of which may be left out; each must be trained on its side."""
    chosen = [
        None if given is None else match_language(given, dict.fromkeys(each[side] for each in directions))
        for side, given in enumerate((source, target))
    ]
    one, other = chosen
    trained: list[Direction] = []
    if all(given is None or found for given, found in zip((source, target), chosen, strict=True)):
        trained = [each for each in directions if one in (None, each[0]) and other in (None, each[1])]
    if len(trained) == 1:
        return trained[0]
    if not trained and one is not None and other is not None and one != other:
        return one, other
    got = f", got {source or '?'} → {target or '?'}" if source or target else ""
    raise ConfigError(
        f"source and target must be one direction of the model ({list_directions(trained or directions)}){got}; "
        + ("name both languages" if trained else "name one of these, or another model")
    )


def list_directions(directions: Sequence[Direction]) -> str:
    """Return directions as text; only the first of many."""
    shown = [" → ".join(filter(None, each)) for each in directions[:_MAX_SHOWN]]
    more = [f"and {len(directions) - _MAX_SHOWN:,} more"] if len(directions) > _MAX_SHOWN else []
    return ", ".join(shown + more)


def directed_tokenizers(
    data: DataConfig, direction: Direction, tokenizers: dict[str, Tokenizer]
) -> dict[str, Tokenizer]:
    """Return tokenizers whose sources begin with the language token of the direction, if it has one there."""
    source, _ = begin_tokens(data, direction)
    return tokenizers | {"source": PrefixedTokenizer(tokenizers["source"], source[0])} if source else tokenizers


def has_language_tokens(data: DataConfig, direction: Direction, tokenizers: dict[str, Tokenizer]) -> bool:
    """Return whether a vocabulary has the tokens that begin sentences of a direction."""
    return all(
        tokenizers[side].token_to_id(token) != tokenizers[side].unk_id
        for side, tokens in zip(("source", "target"), begin_tokens(data, direction), strict=True)
        for token in tokens
    )


def target_prefix(data: DataConfig, direction: Direction, tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the ids of the tokens that begin translations in a direction."""
    _, target = begin_tokens(data, direction)
    return tuple(language_token_id(tokenizer, token) for token in target)


def directed_parts(
    config: Config, direction: Direction, engine: Engine, tokenizers: dict[str, Tokenizer]
) -> tuple[Engine, dict[str, Tokenizer]]:
    """Return the engine and the tokenizers of a direction: they add the tokens that begin sentences."""
    assert config.data is not None
    prefix = target_prefix(config.data, direction, tokenizers["target"])
    return begin_translations(engine, prefix), directed_tokenizers(config.data, direction, tokenizers)


def only_direction(
    config: Config, engine: Engine, tokenizers: dict[str, Tokenizer]
) -> tuple[Engine, dict[str, Tokenizer]]:
    """Return the engine and the tokenizers of a model of one direction; those of a model with several are unchanged."""
    directions = config.data.all_directions() if config.data else []
    return directed_parts(config, directions[0], engine, tokenizers) if len(directions) == 1 else (engine, tokenizers)
