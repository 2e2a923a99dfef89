"""Compute metric statistics in a background thread while translation continues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

import numpy as np

from dragoman.evaluation.metrics.sentence_statistics import Statistics, corpus_statistics

__all__ = ["BackgroundStatistics"]

_BLOCK = 512  # lines per task: an interrupt waits for at most one block

_Computed = tuple[tuple[Statistics, ...], float]


class BackgroundStatistics:
    """Computes the statistics of translations as they arrive; a context manager."""

    def __init__(self, references: Sequence[str], *, metrics: Sequence[str], language: str) -> None:
        self._references = references
        self._metrics, self._language = metrics, language
        self._added = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="statistics")
        self._futures: list[Future[_Computed]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def add(self, hypotheses: Sequence[str]) -> None:
        """Add the translations that follow those added before."""
        for first in range(0, len(hypotheses), _BLOCK):
            block = hypotheses[first : first + _BLOCK]
            references = self._references[self._added : self._added + len(block)]
            self._added += len(block)
            self._futures.append(self._pool.submit(self._compute, block, references))

    def cpu_seconds(self) -> float:
        """Return the CPU time of the finished tasks."""
        return sum(future.result()[1] for future in self._futures if future.done())

    def statistics(self) -> tuple[Statistics, ...]:
        """Return the statistics of all added translations, one per metric."""
        parts = [future.result()[0] for future in self._futures]
        return tuple(
            Statistics(same[0].metric, same[0].language, np.concatenate([each.counts for each in same]))
            for same in zip(*parts, strict=True)
        )

    def _compute(self, hypotheses: Sequence[str], references: Sequence[str]) -> _Computed:
        began = time.thread_time()
        found = corpus_statistics(hypotheses, references, metrics=self._metrics, language=self._language)
        return found, time.thread_time() - began
