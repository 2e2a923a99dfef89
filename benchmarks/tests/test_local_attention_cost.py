"""Cost of a step of local attention: the same at any source length.

`benchmarks/local_attention.py` measures it up to 32,768 words. These tests compare counts that do not depend on the
machine, and a ratio of CPU times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.local_attention import BATCH, HIDDEN, MadeBytes, decoding_step, make_model, training_step

LOCAL = ["local-m", "local-p"]


def flops(step: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        step()
    return int(counter.get_total_flops())


def made(step: Callable[[], object]) -> int:
    with MadeBytes() as counter:
        step()
    return int(counter.total)


def least_seconds(steps: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The least CPU time of each step; the steps alternate, so that other processes affect both equally."""
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(repeats):
        for step, found in zip(steps, times, strict=True):
            began = time.process_time()
            step()
            found.append(time.process_time() - began)
    return [min(found) for found in times]


@pytest.mark.parametrize("alignment", LOCAL)
def test_a_decoding_step_does_and_makes_the_same_at_any_length(alignment: str):
    model = make_model(alignment)
    short, long = decoding_step(model, 64), decoding_step(model, 4096)
    assert flops(short) == flops(long)
    assert made(short) == made(long)


@pytest.mark.parametrize("alignment", LOCAL)
def test_a_training_step_makes_only_the_gradient_of_the_source_more(alignment: str):
    model = make_model(alignment)
    short, long = training_step(model, 64, words=8), training_step(model, 4096, words=8)
    assert flops(short) == flops(long)
    gradient = BATCH * (4096 - 64) * HIDDEN * 4
    masks = BATCH * (4096 - 64) * 32  # of integers and booleans, once per pass
    assert gradient <= made(long) - made(short) <= gradient + masks


def test_global_attention_would_be_caught():
    """The negative control."""
    model = make_model("global")
    short, long = decoding_step(model, 64), decoding_step(model, 4096)
    assert flops(long) > 2 * flops(short)
    assert made(long) > 2 * made(short)


@pytest.mark.slow
@pytest.mark.parametrize("alignment", LOCAL)
def test_a_decoding_step_takes_the_same_time_at_any_length(alignment: str):
    model = make_model(alignment)
    short, long = decoding_step(model, 512), decoding_step(model, 32_768)
    of_short, of_long = least_seconds([short, long], 60)
    assert of_long <= 1.5 * of_short
