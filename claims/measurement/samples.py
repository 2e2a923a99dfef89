"""Samples of probes: one value per condition and round, and CPU times measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Samples = dict[str, list[float]]
"""Values by condition, one per round."""

_ROUNDS = 15


def interleaved(actions: Mapping[str, Callable[[], object]], *, rounds: int = _ROUNDS, repeats: int = 3) -> Samples:
    """Measure the CPU seconds of actions in rounds; of `repeats` runs in a round the fastest counts."""
    samples: Samples = {name: [] for name in actions}
    for action in actions.values():
        action()
    for _ in range(rounds):
        for name, action in actions.items():
            times = []
            for _ in range(repeats):
                began = time.thread_time()
                action()
                times.append(time.thread_time() - began)
            samples[name].append(min(times))
    return samples
