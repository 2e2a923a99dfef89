"""Statistics on hand-aligned sentences: links of attention, and how far a changed source word moves target words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.api.alignment.word_attention import word_attention
from dragoman.api.translation.translator import Translator
from dragoman.config.alignment import AttentionChoice
from dragoman.data.batch import Batch
from dragoman.evaluation.word_alignment import GoldLinks, Links, argmax_links
from dragoman.models.base import Model
from dragoman.text import Tokenizer, map_words
from dragoman.training.step import cross_entropy

LINK_COLUMNS = ("found", "sure", "found_sure", "found_possible")
"""Numbers of links per sentence: found; sure; found among the sure and the possible ones."""

CHANGE_COLUMNS = ("linked", "linked_pairs", "unlinked", "unlinked_pairs")
"""Sums per sentence of |Δ log p(y_t)| over pairs of a changed source word and a target word, and their numbers."""

_SEED = 1


@dataclass(frozen=True)
class GoldSentences:
    """Sentence pairs, words separated by spaces, with hand-made links."""

    sources: list[str]
    targets: list[str]
    links: list[GoldLinks]


def link_columns(translator: Translator, gold: GoldSentences) -> dict[str, list[list[int]]]:
    """Return the columns of `LINK_COLUMNS`, one value per sentence, for each method of finding links.

    ``predicted``: the largest attention weight of the step that predicts a word. ``posterior``: the same given the
    word. ``diagonal``: the source word at the same relative position, a control without a model.
    """
    found: dict[str, list[Links]] = {"diagonal": [diagonal_links(*pair) for pair in _lengths(gold)]}
    for reading in ("predicted", "posterior"):
        choice = AttentionChoice(reading=reading)
        maps = word_attention(translator, gold.sources, gold.targets, choice, by_spaces=True)
        found[reading] = [argmax_links(each.weights) for each in maps]
    return {name: link_counts(links, gold.links) for name, links in found.items()}


def link_counts(found: Sequence[Links], gold: Sequence[GoldLinks]) -> list[list[int]]:
    """Return the columns of `LINK_COLUMNS`. Paper: [och2003] (section 6)."""
    rows = [
        (len(links), len(each.sure), len(each.sure & set(links)), len(each.possible & set(links)))
        for links, each in zip(found, gold, strict=True)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def diagonal_links(source: int, target: int) -> Links:
    """Link every target word to the source word at the same relative position."""
    return tuple(sorted((min(source - 1, word * source // target), word) for word in range(target)))


def change_columns(
    model: Model[Any, Any], tokenizers: Mapping[str, Tokenizer], gold: GoldSentences
) -> list[list[float]]:
    """Change each source word to another word of the sentences, and measure the change of every target word.

    Returns the columns of `CHANGE_COLUMNS`, one value per sentence.
    """
    draws = random.Random(_SEED)
    vocabulary = sorted({word for source in gold.sources for word in source.split()})
    rows = []
    for source, target, links in zip(gold.sources, gold.targets, gold.links, strict=True):
        words = source.split()
        others = [draws.choice([word for word in vocabulary if word != given]) for given in words]
        changed = [" ".join([*words[:place], other, *words[place + 1 :]]) for place, other in enumerate(others)]
        losses = word_losses(model, tokenizers, [source, *changed], target)  # [1 + src, tgt]
        moved = np.abs(losses[1:] - losses[0])
        is_linked = np.zeros_like(moved, bool)
        for place, word in links.possible:
            is_linked[place, word] = True
        rows.append((moved[is_linked].sum(), is_linked.sum(), moved[~is_linked].sum(), (~is_linked).sum()))
    return [[round(float(value), 3) for value in column] for column in zip(*rows, strict=True)]


def word_losses(
    model: Model[Any, Any], tokenizers: Mapping[str, Tokenizer], sources: Sequence[str], target: str
) -> NDArray[np.float64]:
    """Return −log p of each target word given the words before it. Shapes: -> [sources, target words]."""
    reader, writer = tokenizers["source"], tokenizers["target"]
    ids = writer.encode(target)
    batch = Batch.from_pairs([(reader.encode(source), ids) for source in sources])
    with torch.inference_mode():
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths)
        tokens = cross_entropy(model.decoder.output, decoded.features, batch.labels, batch.target_lengths).losses
    word_of = map_words(writer.tokens(target), by_spaces=True).word_of
    losses = np.zeros((len(sources), len(target.split())))
    np.add.at(losses.T, list(word_of), tokens[:, : len(word_of)].double().numpy().T)
    return losses


def _lengths(gold: GoldSentences) -> list[tuple[int, int]]:
    return [
        (len(source.split()), len(target.split())) for source, target in zip(gold.sources, gold.targets, strict=True)
    ]
