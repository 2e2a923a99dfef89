"""Word order: small models learn to copy, to reverse, and to find which of two letters comes first."""

from __future__ import annotations

import random
from typing import Any

from claims.measurement.samples import Samples
from claims.measurement.string_tasks import Draw, random_letters, train_on_strings
from dragoman.api.notebook.tutorial_strings import LETTERS, Pair, decode, translate
from dragoman.config import RnnConfig, TransformerConfig
from dragoman.models.base import Model

TRAINED, LONGER = (3, 8), (10, 12)
"""Lengths of the training, and of a test beyond them."""

_RATE = 3e-3


def word_order(seed: int, updates: int = 1000, test: int = 200) -> Samples:
    """Share of right letters of each test string, by model, task and length.

    Models: a bidirectional LSTM with attention, and Transformers with and without positions, of similar size.
    """
    samples: Samples = {}
    for task, draw in TASKS.items():
        for name, config in _models().items():
            model, _ = train_on_strings(config, draw(TRAINED), updates, seed=seed, rate=_RATE)
            for where, lengths in (("trained", TRAINED), ("longer", LONGER)):
                drawn = random.Random(10_000 + seed)
                samples[f"{name} {task} {where}"] = _shares(model, [draw(lengths)(drawn) for _ in range(test)])
    return samples


def _models() -> dict[str, RnnConfig | TransformerConfig]:
    part = {"layers": 1, "hidden": 64}
    small = {"family": "transformer", "dim": 64, "encoder_layers": 2, "decoder_layers": 2, "feedforward": 128}
    small |= {"dropout": 0.0}
    rnn = {"family": "rnn", "embedding": 64, "dropout": 0.0, "encoder": part, "decoder": part}
    transformers = {"transformer": "sinusoidal", "no-positions": "none"}
    return {
        "rnn": RnnConfig.model_validate(rnn),
        **{name: TransformerConfig.model_validate(small | {"positions": each}) for name, each in transformers.items()},
    }


def _copy(lengths: tuple[int, int]) -> Draw:
    def pair(draw: random.Random) -> Pair:
        text = random_letters(draw, *lengths, LETTERS)
        return text, text

    return pair


def _reverse(lengths: tuple[int, int]) -> Draw:
    def pair(draw: random.Random) -> Pair:
        text = random_letters(draw, *lengths, LETTERS)
        return text, text[::-1]

    return pair


def _first(lengths: tuple[int, int]) -> Draw:
    """Return pairs whose source has the last two letters of the alphabet once each; the target is the first of them."""

    def pair(draw: random.Random) -> Pair:
        others = list(random_letters(draw, lengths[0] - 2, lengths[1] - 2, LETTERS[:-2]))
        one, two = sorted(draw.sample(range(len(others) + 2), 2))
        first, second = draw.sample(LETTERS[-2:], 2)
        others.insert(one, first)
        others.insert(two, second)
        return "".join(others), first

    return pair


TASKS = {"copy": _copy, "reverse": _reverse, "first": _first}
"""Tasks by name."""


def _shares(model: Model[Any, Any], pairs: list[Pair]) -> list[float]:
    """Return for each string the share of letters that are right; an early end makes the rest wrong."""
    found = translate(model, [source for source, _ in pairs])
    return [
        sum(a == b for a, b in zip(expected, decode(each.tokens), strict=False)) / len(expected)
        for (_, expected), each in zip(pairs, found, strict=True)
    ]
