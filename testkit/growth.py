"""Growth of CPU time with the size of the input, as a ratio: a busy machine or a coverage tracer does not change it."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence

_SHORTEST_RUN = 5e-3  # seconds: a shorter run has fixed costs and a cold cache
_LINEAR = 2.4  # a ratio below this needs no second measurement
_ROUNDS = 12
_SHORTEST = 1e-4  # seconds: below this the clock measures itself


def cpu_seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """Return the smallest CPU time of several calls, without the garbage collector."""
    best = float("inf")
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            began = time.process_time()
            run()
            best = min(best, time.process_time() - began)
    finally:
        if collecting:
            gc.enable()
    return best


def doubling(run: Callable[[int], object], size: int, *, largest: int, seconds: float = 0.005) -> float:
    """Return how many times longer twice the input takes; about 2 for linear time, 4 for quadratic time.

    The size is raised, up to `largest`, until a run takes some time. While the ratio is high, both inputs are run
    again in turn, and the lower of two estimates counts: the fastest runs of both, and the median of the ratios of
    neighbours. Another program on the same core slows down some runs, or all for some time, and seldom disturbs both.
    """
    small = cpu_seconds(lambda: run(size), 1)
    while small < seconds and size < largest:
        size = min(4 * size, largest)
        small = cpu_seconds(lambda: run(size), 1)  # noqa: B023 -- called at once
    pairs = [(small, cpu_seconds(lambda: run(2 * size), 1))]
    while len(pairs) < _ROUNDS and _doubling_of(pairs) >= _LINEAR:
        pairs.append((cpu_seconds(lambda: run(size), 1), cpu_seconds(lambda: run(2 * size), 1)))
    return _doubling_of(pairs)


def _doubling_of(pairs: Sequence[tuple[float, float]]) -> float:
    ratios = [large / max(small, _SHORTEST_RUN) for small, large in pairs]
    small, large = min(small for small, _ in pairs), min(large for _, large in pairs)
    return min(large / max(small, _SHORTEST_RUN), statistics.median(ratios))


def growth(run: Callable[[int], object], size: int, *, factor: int = 10, rounds: int = 3) -> float:
    """Return how many times longer an input of ``factor * size`` takes than one of ``size``.

    Linear time gives about ``factor``, quadratic time its square.
    """
    small = cpu_seconds(lambda: run(size), rounds)
    large = cpu_seconds(lambda: run(factor * size), rounds)
    return large / max(small, _SHORTEST)
