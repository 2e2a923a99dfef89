"""Random toy models that end at different steps, and exhaustive search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import torch

from dragoman.engines.torch_engine import TorchEngine
from dragoman.models import Model
from dragoman.search import Hypothesis, SearchInput
from dragoman.text import BOS_ID, EOS_ID, PAD_ID
from testkit.presets import TARGET_VOCAB, tiny_model

SOURCES = [[5, 6, 7], [], [4, 9, 10, 8, 7, 6], [10], [6, 6], [8, 4, 5, 9, 10]]
WORDS = [word for word in range(TARGET_VOCAB) if word not in (PAD_ID, BOS_ID, EOS_ID)]
"""What a translation can be made of."""


def eager_to_end(name: str, seed: int = 0, push: float = 1.5) -> Model[Any, Any]:
    """A random model that ends some sentences early: what it writes ends at different steps."""
    model = tiny_model(name, seed=seed)
    with torch.no_grad():
        for parameter, values in model.decoder.output.named_parameters():
            if parameter.endswith("bias"):
                values[EOS_ID] += push
    return model


def toy_engine(name: str, seed: int = 0, push: float = 1.5) -> TorchEngine:
    return TorchEngine(eager_to_end(name, seed, push))


def sentences(sources: Sequence[Sequence[int]] = SOURCES, **what: Any) -> list[SearchInput]:
    return [SearchInput(source, number=number, **what) for number, source in enumerate(sources)]


def every_translation(longest: int) -> list[list[int]]:
    """All sequences up to a length, including the end."""
    return [list(words) for length in range(longest) for words in product(WORDS, repeat=length)]


def exhaustive(engine: TorchEngine, source: Sequence[int], longest: int) -> list[Hypothesis]:
    """Every translation that ends, scored by forced decoding, the best first."""
    translations = every_translation(longest)
    scored = engine.score([source] * len(translations), translations)
    return sorted(scored, key=lambda each: -each.score)
