"""A toy language whose word links are known: one vector against attention, by length and by changed source word.

Nouns are `a` to `h`, adjectives `i` to `p`. In the source an adjective is before its noun, in the target after it.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from claims.measurement.samples import Samples
from claims.measurement.string_tasks import train_on_strings
from dragoman.api.notebook.tutorial_strings import Pair, decode, encode, small_config, translate
from dragoman.data.batch import Batch
from dragoman.models.base import Model
from dragoman.training.step import cross_entropy

GROUPS = ((1, 4), (5, 8), (9, 12), (13, 16))
"""Lengths of the training, in groups."""

_NOUNS, _ADJECTIVES = "abcdefgh", "ijklmnop"
_SHORT = (3, 6)  # words of the sentences in which a word is changed
_MODELS: dict[str, dict[str, Any]] = {
    "vector": {"decoder": {"context": "every-step"}},
    "attention": {"decoder": {"attend": "before"}, "attention": {"score": "concat"}},
}


def toy_language(seed: int, updates: int = 1500, test: int = 200) -> Samples:
    """Right translations by model and length, and log2 of the change by an unlinked word over that by a linked one.

    Lengths are groups, named by their longest one. The changes are those of −log p of target words on sentences of 3 to
    6 words that both models translate right; ``linked`` are those by linked words, in nats, and ``both right`` is the
    share of these sentences.
    """
    models = {
        name: train_on_strings(small_config(64, encoder={"bidirectional": True}, **parts), _pair, updates, seed=seed)[0]
        for name, parts in _MODELS.items()
    }
    draw = random.Random(10_000 + seed)
    samples: Samples = {}
    for group in GROUPS:
        sentences = [sentence(draw.randint(*group), draw) for _ in range(test)]
        for name, model in models.items():
            samples[f"{name} {group[1]}"] = [float(right) for right in are_right(model, sentences)]
    short = [sentence(draw.randint(*_SHORT), draw) for _ in range(test)]
    is_right = np.all([are_right(model, short) for model in models.values()], axis=0)
    samples["both right"] = [float(is_right.mean())]
    both = [each for each, right in zip(short, is_right, strict=True) if right]
    for name, model in models.items():
        linked, unlinked = changes(model, both, random.Random(seed)) if both else (math.nan, math.nan)
        samples[f"{name} linked"] = [linked]
        samples[f"{name} ratio"] = [math.log2(unlinked / linked)]
    return samples


def sentence(length: int, draw: random.Random) -> tuple[str, str, list[int]]:
    """Return a sentence of this length, its translation, and the source position of each target word."""
    source, order = "", []
    while len(source) < length:
        if draw.random() < 0.5 and len(source) + 2 <= length:
            order += [len(source) + 1, len(source)]
            source += draw.choice(_ADJECTIVES) + draw.choice(_NOUNS)
        else:
            order.append(len(source))
            source += draw.choice(_NOUNS)
    return source, "".join(source[place] for place in order), order


def are_right(model: Model[Any, Any], sentences: list[tuple[str, str, list[int]]]) -> list[bool]:
    """Whether greedy search translates each sentence without a mistake."""
    found = translate(model, [source for source, _, _ in sentences])
    return [decode(each.tokens) == target for each, (_, target, _) in zip(found, sentences, strict=True)]


def changes(
    model: Model[Any, Any], sentences: list[tuple[str, str, list[int]]], draw: random.Random
) -> tuple[float, float]:
    """Replace each source word by another one of its kind; return the mean change of log p of target words.

    The first mean is that of words that translate the replaced word, the second that of all others. The target words
    before a word are given.
    """
    linked, unlinked = [], []
    for source, target, order in sentences:
        sources = [source]
        for place, word in enumerate(source):
            kind = _NOUNS if word in _NOUNS else _ADJECTIVES
            sources.append(source[:place] + draw.choice(kind.replace(word, "")) + source[place + 1 :])
        losses = _losses(model, sources, target)
        moved = np.abs(losses[1:] - losses[0])  # [source words, target words]
        is_linked = np.arange(len(source))[:, None] == np.array(order)
        linked.append(moved[is_linked])
        unlinked.append(moved[~is_linked])
    return float(np.concatenate(linked).mean()), float(np.concatenate(unlinked).mean())


def _losses(model: Model[Any, Any], sources: list[str], target: str) -> NDArray[np.float64]:
    """Return −log p of each word of a target for several sources. Shapes: -> [sources, target words]."""
    batch = Batch.from_pairs([(encode(source), encode(target)) for source in sources])
    with torch.inference_mode():
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
        found = cross_entropy(model.decoder.output, decoded.features, batch.labels, batch.target_lengths)
    losses: NDArray[np.float64] = found.losses[:, : len(target)].double().numpy()
    return losses


def _pair(draw: random.Random) -> Pair:
    return sentence(draw.randint(GROUPS[0][0], GROUPS[-1][1]), draw)[:2]
