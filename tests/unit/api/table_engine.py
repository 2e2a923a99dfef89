"""An engine that translates by a table of sentences, and writes them step by step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dragoman.api.translation.translator import Translator
from dragoman.config import Config, load_config, parse_config
from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import SearchMonitor
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchTrace, TraceNode
from dragoman.text import Tokenizer, train_sentencepiece

TEXT = ["the house is small", "das Haus ist klein", "a small house 1 2 3", "你好。我很好！"] * 20


def subwords() -> dict[str, Tokenizer]:
    tokenizer = train_sentencepiece(TEXT, size=340)
    return {"source": tokenizer, "target": tokenizer}


def languages(source: str, target: str, model: str = "luong2015-desk") -> Config:
    data = {"source": source, "target": target, "train": [{"files": ["a", "b"]}]}
    return parse_config(load_config(model).model_dump(exclude_none=True) | {"data": data})


class TableEngine:
    """Translates by a table from text to text, and other texts by a function."""

    name, precision, concurrency, longest = "table", "exact", 1, None

    def __init__(
        self,
        tokenizers: Mapping[str, Tokenizer],
        table: Mapping[str, str] | None = None,
        other: Callable[[str], str] = str,
        *,
        attends: bool = True,
        seconds: float = 0.0,
        lack: str | None = None,
    ) -> None:
        self.tokenizers, self.table, self.other = tokenizers, dict(table or {}), other
        self.attends, self.seconds, self.lack = attends, seconds, lack
        self.batches: list[list[SearchInput]] = []
        self.scored: list[tuple[Any, Any]] = []
        self.first_tokens: list[list[str]] = []
        self.steps = 0
        self.flat = False
        self._lock = threading.Lock()

    def unsupported(self, settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        return self.lack if phrases or trace or settings.sample else None

    def search(
        self,
        sentences: Sequence[SearchInput],
        settings: SearchSettings,
        *,
        return_attention: bool = False,
        monitor: SearchMonitor | None = None,
        trace: SearchTrace | None = None,
    ) -> list[list[Hypothesis]]:
        with self._lock:
            self.batches.append(list(sentences))
        return [
            self._found(number, sentence, settings, return_attention=return_attention, monitor=monitor, trace=trace)
            for number, sentence in enumerate(sentences)
        ]

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, return_attention: bool = False
    ) -> list[Hypothesis]:
        self.scored.append((sources, targets))
        return [
            Hypothesis(list(target), -1.0 * len(target), self._map(len(source), len(target), return_attention), -1.0)
            for source, target in zip(sources, targets, strict=True)
        ]

    def first_token_log_probs(
        self, sources: Sequence[Sequence[int]], prefix: Sequence[int] = ()
    ) -> np.ndarray[Any, Any]:
        """Log p of 0 for the first token of the table's translation, and of -10 for others."""
        texts = [self.tokenizers["source"].decode(list(source)) for source in sources]
        self.first_tokens.append(texts)
        found = np.full((len(texts), self.tokenizers["target"].size), -10.0, np.float32)
        for row, text in enumerate(texts):
            if tokens := self.tokenizers["target"].encode(self.table.get(text, "")):
                found[row, tokens[0]] = 0.0
        return found

    def _found(
        self,
        number: int,
        sentence: SearchInput,
        settings: SearchSettings,
        *,
        return_attention: bool,
        monitor: SearchMonitor | None,
        trace: SearchTrace | None,
    ) -> list[Hypothesis]:
        text = self.tokenizers["source"].decode(sentence.tokens)
        tokens = self.tokenizers["target"].encode(self.table[text] if text in self.table else self.other(text))
        for phrase in sentence.phrases:
            tokens = [*tokens, *phrase]
        tokens = [*sentence.prefix, *tokens][: settings.max_length]
        for step in range(len(tokens)):
            if monitor is not None and monitor.is_cancelled(number):
                return []
            self.steps += 1
            if self.seconds:
                time.sleep(self.seconds)
            if monitor is not None:
                monitor.on_tokens(number, tokens[: step + 1])
        if trace is not None:
            trace.add(number, TraceNode(-1, tokens[0], 0, 0, -0.5))
        source = len(sentence.tokens)
        finished = settings.max_length is None or len(tokens) < settings.max_length
        return [
            Hypothesis(
                tokens[place:],
                -1.0 - place,
                self._map(source, len(tokens) - place, return_attention),
                -0.5 - place,
                finished,
            )
            for place in range(settings.nbest)
        ]

    def _map(self, source: int, target: int, return_attention: bool) -> np.ndarray[Any, Any] | None:
        if not (return_attention and self.attends):
            return None
        if self.flat:
            return np.full((target + 1, source + 1), 1 / (source + 1), np.float32)
        return np.eye(source + 1, dtype=np.float32)[[min(place, source) for place in range(target + 1)]]


def table_translator(
    table: Mapping[str, str] | None = None,
    other: Callable[[str], str] = str,
    *,
    tokenizers: dict[str, Tokenizer] | None = None,
    config: Config | None = None,
    engine: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Translator, TableEngine]:
    tokenizers = tokenizers or subwords()
    table_engine = TableEngine(tokenizers, table, other, **(engine or {}))
    return Translator(table_engine, config or languages("en", "de"), tokenizers, **options), table_engine
