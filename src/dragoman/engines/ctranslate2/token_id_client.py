"""Import CTranslate2 without torch, call it with token ids, and convert its results to hypotheses.

If torch is installed, parts of CTranslate2 import it to convert torch tensors: `ctranslate2.specs`, and in older
versions the package itself. We pass numpy arrays, and torch takes seconds and hundreds of megabytes to load.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from dragoman.environment import import_package
from dragoman.search.decoding_protocol import Floats, SearchMonitor
from dragoman.search.hypothesis import Hypothesis, Penalties
from dragoman.text import EOS_ID

_lock = threading.Lock()


def import_ctranslate2(module: str = "ctranslate2") -> Any:
    """Import the package or one of its modules. Torch is not loaded for it, but used if already loaded."""
    what = "the CTranslate2 engine"
    if module in sys.modules:
        return import_package(module, "export", what)
    with _lock, _without_torch():
        return import_package(module, "export", what)


@contextmanager
def _without_torch() -> Iterator[None]:
    """Block the import of torch in this thread only."""
    if "torch" in sys.modules:
        yield
        return
    hidden = _Hidden("torch", threading.get_ident())
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)


class _Hidden(MetaPathFinder):
    """Raises ModuleNotFoundError for one module in one thread."""

    def __init__(self, name: str, thread: int) -> None:
        self.name = name
        self.thread = thread

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self.name and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"{fullname} is not imported for CTranslate2", name=fullname)
        return None


@dataclass
class EngineHypothesis:
    """A translation without the end; `attention` has a row for the end, and no column for that of the source."""

    tokens: list[int]
    log_prob: float
    attention: list[list[float]] | Floats | None
    is_finished: bool

    @property
    def length(self) -> int:
        """Number of words including the end."""
        return len(self.tokens) + self.is_finished

    def cut(self, limit: int) -> EngineHypothesis:
        """The first words; their log p must be computed."""
        attention = None if self.attention is None else self.attention[:limit]
        return EngineHypothesis(self.tokens[:limit], 0.0, attention, is_finished=False)


def read_result(result: Any, numbers: Mapping[str, int], exponent: float) -> list[EngineHypothesis]:
    """The translations of one sentence; CTranslate2's score is log p / length^exponent."""
    found = []
    attentions = result.attention  # every access copies all of it
    for place, (words, score) in enumerate(zip(result.hypotheses, result.scores, strict=True)):
        tokens = [numbers[word] for word in words]
        is_finished = bool(tokens) and tokens[-1] == EOS_ID
        log_prob = score * len(tokens) ** exponent if exponent else score
        attention = attentions[place] if attentions else None
        found.append(EngineHypothesis(tokens[:-1] if is_finished else tokens, log_prob, attention, is_finished))
    return found


def complete_attention(attention: Sequence[Sequence[float]] | Floats | None, length: int) -> Floats:
    """Add the end's column, the difference from a sum of one. Shapes: [tgt, src] -> [tgt, src + 1]."""
    if attention is None:
        return np.ones((length, 1), np.float32)
    weights = np.asarray(attention, np.float32).reshape(length, -1)
    rest = (1.0 - weights.sum(1, dtype=np.float64, keepdims=True)).clip(0.0, 1.0)
    return np.concatenate([weights, rest.astype(np.float32)], 1)


def hypothesis(
    tokens: list[int], log_prob: float, alignment: Floats | None, penalties: Penalties, *, is_finished: bool
) -> Hypothesis:
    """Build a hypothesis with its score. Shapes: alignment [tgt, src + 1]."""
    covered = None if alignment is None else alignment[:, :-1]
    score = penalties.score(log_prob, len(tokens) + is_finished, covered)
    return Hypothesis(tokens, log_prob, alignment, score, is_finished)


class CancellationOnly:
    """A monitor of some sentences of a batch that only passes on cancellations: their tokens may still change."""

    def __init__(self, monitor: SearchMonitor, places: Sequence[int]) -> None:
        self._monitor, self._places = monitor, places

    def is_cancelled(self, sentence: int) -> bool:
        """Whether a sentence is cancelled."""
        return self._monitor.is_cancelled(self._places[sentence])

    def is_streamed(self, sentence: int) -> bool:
        """Return False: tokens are not final."""
        return False

    def on_tokens(self, sentence: int, tokens: list[int]) -> None:
        """Ignore tokens."""


class StepCallback:
    """Called by CTranslate2 after each word of greedy search; true ends the sentence.

    CTranslate2 does not identify the sentence of a word. Therefore tokens are reported only for a single sentence, and
    several sentences are cancelled together, when all of them are cancelled.
    """

    def __init__(self, monitor: SearchMonitor, numbers: Sequence[int], *, is_streamed: bool) -> None:
        self.monitor = monitor
        self.numbers = numbers
        self.is_streamed = is_streamed
        self.tokens: list[int] = []
        self.step = -1
        self.is_over = False
        self.error: BaseException | None = None

    def __call__(self, result: Any) -> bool:
        try:
            if self.is_streamed and result.token_id != EOS_ID:
                self.tokens.append(result.token_id)
                self.monitor.on_tokens(self.numbers[0], list(self.tokens))
            if result.step != self.step:
                self.step = result.step
                self.is_over = all(self.monitor.is_cancelled(number) for number in self.numbers)
        except BaseException as error:  # noqa: BLE001 -- raised again in the calling thread by raise_error
            self.error, self.is_over = error, True
        return self.is_over

    def raise_error(self) -> None:
        """Raise an error of the monitor in the calling thread: CTranslate2 calls from its own thread."""
        if self.error is not None:
            raise self.error


class TranslatorClient:
    """A CTranslate2 translator. `source` and `target` are its vocabularies, by token id."""

    def __init__(self, translator: Any, source: list[str], target: list[str]) -> None:
        self.translator = translator
        self.source = source
        self.target = target
        self.numbers = {word: number for number, word in enumerate(target)}

    def gains(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """log p of every target token, and of the end."""
        scored = self.translator.score_batch(self._sources(sources), self._targets(targets), max_input_length=0)
        return [each.log_probs for each in scored]

    def translate(self, sources: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]], **options: Any) -> Any:
        """Results of CTranslate2. Either all sentences have a prefix or none: prefixes change its first step."""
        given = self._targets(prefixes) if any(prefixes) else None
        return self.translator.translate_batch(
            self._sources(sources), given, max_input_length=0, return_end_token=True, return_scores=True, **options
        )

    def next_tokens(self, source: Sequence[int], prefix: Sequence[int], most: int = 64) -> list[int]:
        """The most likely tokens after a prefix, the best first."""
        (result,) = self.translate(
            [source],
            [prefix],
            beam_size=1,
            num_hypotheses=min(most, len(self.target)),
            max_decoding_length=len(prefix) + 1,
            return_alternatives=True,
        )
        found = [each.tokens[len(prefix)] for each in self.read(result, 0.0) if len(each.tokens) > len(prefix)]
        return list(dict.fromkeys(found))

    def first_token_log_probs(self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()) -> Floats:
        """log p of every token as the first one, after `prefix`, of a translation. Shapes: [sources, vocab]."""
        results = self.translate(
            sources,
            [prefix] * len(sources),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=len(prefix) + 1,
            return_logits_vocab=True,
        )
        logits = np.stack([np.array(result.logits[0][-1], np.float32) for result in results])[:, : len(self.target)]
        logits -= logits.max(1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(1, keepdims=True))
        return logits

    def read(self, result: Any, exponent: float) -> list[EngineHypothesis]:
        """Parse the result of a sentence."""
        return read_result(result, self.numbers, exponent)

    def forced_maps(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[Floats]:
        """Attention of given translations: each is passed as a prefix with its end, and later tokens are dropped."""
        ended = [[*target, EOS_ID] for target in targets]
        longest = max(map(len, ended))
        results = self.translate(sources, ended, beam_size=1, max_decoding_length=longest, return_attention=True)
        return [
            complete_attention(result.attention[0][: len(target)] if source else None, len(target))
            for result, source, target in zip(results, sources, ended, strict=True)
        ]

    def _sources(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.source[token] for token in sentence] for sentence in sentences]

    def _targets(self, sentences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[self.target[token] for token in sentence] for sentence in sentences]
