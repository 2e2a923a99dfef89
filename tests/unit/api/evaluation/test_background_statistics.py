"""Statistics computed in the background equal those computed at once."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from dragoman.api.evaluation import background_statistics as counting
from dragoman.api.evaluation.background_statistics import BackgroundStatistics
from dragoman.evaluation.metrics.sentence_statistics import Statistics, corpus_statistics

REFERENCES = [f"The {number}th cat of {number * 7} sat on the mat." for number in range(30)]
HYPOTHESES = [line.replace("cat", "dog").replace("mat", "mats") for line in REFERENCES]


@pytest.mark.parametrize("window", [1, 7, 512])
@pytest.mark.parametrize("given", [1, 10, 30])
def test_as_if_counted_at_once(window: int, given: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counting, "_BLOCK", window)
    with BackgroundStatistics(REFERENCES, metrics=("bleu", "chrf", "ter"), language="en") as some:
        some.add([])
        for first in range(0, len(HYPOTHESES), given):
            some.add(HYPOTHESES[first : first + given])
        found = some.statistics()
        assert some.cpu_seconds() > 0
    for one, other in zip(found, corpus_statistics(HYPOTHESES, REFERENCES, language="en"), strict=True):
        assert (one.metric, one.language) == (other.metric, other.language)
        np.testing.assert_array_equal(one.counts, other.counts)


def test_who_stops_it_waits_for_nothing(monkeypatch: pytest.MonkeyPatch):
    begun, go_on, calls = threading.Event(), threading.Event(), []

    def slow(hypotheses: list[str], *_: object, **__: object) -> tuple[Statistics, ...]:
        calls.append(len(hypotheses))
        begun.set()
        go_on.wait(30)
        return ()

    monkeypatch.setattr(counting, "corpus_statistics", slow)
    before = time.perf_counter()
    some = BackgroundStatistics([""] * 100_000, metrics=("ter",), language="")
    some.add([""] * 100_000)
    begun.wait(30)
    some.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    took = time.perf_counter() - before
    go_on.set()
    some._pool.shutdown(wait=True)
    assert took < 15
    assert calls == [512]  # the rest was cancelled
