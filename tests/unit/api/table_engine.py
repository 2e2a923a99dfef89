"""An engine that knows a table of sentences by heart, writes a piece a step, and looks where one would expect."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dragoman.api.translator import Translator
from dragoman.config import Config, load_config, parse_config
from dragoman.search.hypothesis import Hypothesis, Sentence
from dragoman.search.protocol import Watch
from dragoman.search.settings import SearchSettings
from dragoman.search.trace import Node, Trace
from dragoman.text import Tokenizer, train_sentencepiece

TEXT = ["the house is small", "das Haus ist klein", "a small house 1 2 3", "你好。我很好！"] * 20


def subwords() -> dict[str, Tokenizer]:
    tokenizer = train_sentencepiece(TEXT, size=340)
    return {"source": tokenizer, "target": tokenizer}


def languages(source: str, target: str, model: str = "luong2015-desk") -> Config:
    data = {"source": source, "target": target, "train": [{"files": ["a", "b"]}]}
    return parse_config(load_config(model).model_dump(exclude_none=True) | {"data": data})


class TableEngine:
    """Translates by a table from text to text, and what is not there by a function."""

    name, precision, lanes, longest = "table", "exact", 1, None

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
        self.batches: list[list[Sentence]] = []
        self.scored: list[tuple[Any, Any]] = []
        self.steps = 0
        self._lock = threading.Lock()

    def lacks(self, settings: SearchSettings, *, phrases: bool = False, trace: bool = False) -> str | None:
        return self.lack if phrases or trace or settings.sample else None

    def search(
        self,
        sentences: Sequence[Sentence],
        settings: SearchSettings,
        *,
        show: bool = False,
        watch: Watch | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        with self._lock:
            self.batches.append(list(sentences))
        return [
            self._found(number, sentence, settings, show=show, watch=watch, trace=trace)
            for number, sentence in enumerate(sentences)
        ]

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, show: bool = False
    ) -> list[Hypothesis]:
        self.scored.append((sources, targets))
        return [
            Hypothesis(list(target), -1.0 * len(target), self._map(len(source), len(target), show), -1.0)
            for source, target in zip(sources, targets, strict=True)
        ]

    def _found(
        self,
        number: int,
        sentence: Sentence,
        settings: SearchSettings,
        *,
        show: bool,
        watch: Watch | None,
        trace: Trace | None,
    ) -> list[Hypothesis]:
        text = self.tokenizers["source"].decode(sentence.pieces)
        pieces = self.tokenizers["target"].encode(self.table[text] if text in self.table else self.other(text))
        for phrase in sentence.phrases:
            pieces = [*pieces, *phrase]
        pieces = [*sentence.prefix, *pieces][: settings.max_length]
        for step in range(len(pieces)):
            self.steps += 1
            if self.seconds:
                time.sleep(self.seconds)
            if watch is not None:
                if watch.is_cancelled(number):
                    return []
                watch.wrote(number, pieces[: step + 1])
        if trace is not None:
            trace.add(number, Node(-1, pieces[0], 0, 0, -0.5))
        source = len(sentence.pieces)
        finished = settings.max_length is None or len(pieces) < settings.max_length
        return [
            Hypothesis(
                pieces[place:], -1.0 - place, self._map(source, len(pieces) - place, show), -0.5 - place, finished
            )
            for place in range(settings.nbest)
        ]

    def _map(self, source: int, target: int, show: bool) -> np.ndarray[Any, Any] | None:
        if not (show and self.attends):
            return None
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
