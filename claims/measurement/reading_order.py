"""Copying strings without attention: does reading the source backwards help? Paper: [sutskever2014] (section 3.3)."""

from __future__ import annotations

import math
import random
from statistics import fmean

from claims.measurement.samples import Samples
from claims.measurement.string_tasks import random_letters, train_on_strings
from dragoman.api.notebook.tutorial_strings import Pair, share_right, small_config

_LOW = 0.105  # nats per token: a mean probability of 0.9
_MEAN = 50  # updates


def reading_order(seed: int, updates: int = 3000, test: int = 400) -> Samples:
    """Share of strings of 3 to 12 letters copied without a mistake, and log2 of the updates that learning takes.

    Learning takes the updates until the mean loss of 50 updates is 0.105 nats per token; twice the whole training if it
    is never reached. ``best`` is the larger share of both reading orders.
    """
    draw = random.Random(10_000 + seed)
    pairs = [_pair(draw) for _ in range(test)]
    samples: Samples = {}
    for name, is_reversed in (("forward", False), ("reversed", True)):
        config = small_config(48, 1, "lstm", reverse_source=is_reversed, decoder={"start": "copy"})
        model, losses = train_on_strings(config, _pair, updates, seed=seed)
        samples[name] = [share_right(model, pairs)]
        samples[f"{name} updates"] = [math.log2(updates_to(losses))]
    samples["best"] = [max(samples["forward"][0], samples["reversed"][0])]
    return samples


def updates_to(losses: list[float]) -> int:
    """Return the first update at which the mean of the last losses is low."""
    for update in range(_MEAN, len(losses) + 1):
        if fmean(losses[update - _MEAN : update]) <= _LOW:
            return update
    return 2 * len(losses)


def _pair(draw: random.Random) -> Pair:
    text = random_letters(draw, 3, 12)
    return text, text
