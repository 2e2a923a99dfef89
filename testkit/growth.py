"""Growth of CPU time with the size of the input, as a ratio: a busy machine or a coverage tracer does not change it."""

from __future__ import annotations

import time
from collections.abc import Callable

_SHORTEST = 1e-4  # seconds: below this the clock measures itself


def cpu_seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """Return the smallest CPU time of several calls."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return best


def growth(run: Callable[[int], object], size: int, *, factor: int = 10, rounds: int = 3) -> float:
    """Return how many times longer an input of ``factor * size`` takes than one of ``size``.

    Linear time gives about ``factor``, quadratic time its square.
    """
    small = cpu_seconds(lambda: run(size), rounds)
    large = cpu_seconds(lambda: run(factor * size), rounds)
    return large / max(small, _SHORTEST)
