"""Counting for scores while translation goes on: engines leave this interpreter alone most of the time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

import numpy as np

from dragoman.evaluation.sentence_statistics import Statistics, corpus_statistics

__all__ = ["Counting"]

_WINDOW = 512  # lines that are counted without a break: who stops the program waits for no more

_Counted = tuple[tuple[Statistics, ...], float]


class Counting:
    """Counts translations as they come, in a thread of its own; used in a ``with`` statement."""

    def __init__(self, references: Sequence[str], *, metrics: Sequence[str], language: str) -> None:
        self._references = references
        self._metrics, self._language = metrics, language
        self._given = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="counting")
        self._futures: list[Future[_Counted]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def add(self, hypotheses: Sequence[str]) -> None:
        """Count these too: the translations that follow those given before."""
        for first in range(0, len(hypotheses), _WINDOW):
            some = hypotheses[first : first + _WINDOW]
            references = self._references[self._given : self._given + len(some)]
            self._given += len(some)
            self._futures.append(self._pool.submit(self._count, some, references))

    def cpu_seconds(self) -> float:
        """What counting has taken of the processor so far; what is under way is not in it."""
        return sum(future.result()[1] for future in self._futures if future.done())

    def statistics(self) -> tuple[Statistics, ...]:
        """Everything that was given, one for each metric."""
        parts = [future.result()[0] for future in self._futures]
        return tuple(
            Statistics(same[0].metric, same[0].language, np.concatenate([each.counts for each in same]))
            for same in zip(*parts, strict=True)
        )

    def _count(self, hypotheses: Sequence[str], references: Sequence[str]) -> _Counted:
        began = time.thread_time()
        found = corpus_statistics(hypotheses, references, metrics=self._metrics, language=self._language)
        return found, time.thread_time() - began
