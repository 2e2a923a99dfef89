"""Validation sets of a model with several directions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dragoman.api.training.translation_scorer import TranslationScorer
from dragoman.config import Config
from dragoman.config.corpus import Direction
from dragoman.data.batch import Batch
from dragoman.data.batch_plan import cut_by_tokens, order_by_length
from dragoman.data.directed_shards import DirectedShards
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.token_pairs import Pairs
from dragoman.engines.directions import directed_tokenizers, target_prefix
from dragoman.text import Tokenizer
from dragoman.training.validator import DirectionValidationSets, ValidationSet

__all__ = ["direction_validation"]


def direction_validation(
    prepared: PreparedData, config: Config, tokenizers: dict[str, Tokenizer]
) -> DirectionValidationSets:
    """Return a validation set for each direction that has one."""
    data = config.data
    assert data is not None
    shards = prepared.directed(config, "validation")
    assert isinstance(shards, DirectedShards)
    rows: dict[Direction, list[np.ndarray]] = {}
    first = 0
    for corpus in prepared.manifest["splits"]["validation"]["corpora"]:
        for source, target in corpus["directions"]:
            rows.setdefault((source, target), []).append(np.arange(first, first + corpus["rows"]))
            first += corpus["rows"]
    sets = {}
    for direction, parts in rows.items():
        mine = np.concatenate(parts)
        if not len(mine):
            continue
        count = min(config.training.validation_sentences // len(rows) or 1, len(mine))
        scorer = None
        if config.training.validation_sentences:
            some = mine[np.linspace(0, len(mine) - 1, count).astype(np.int64)]
            plain = shards.gather(some)
            sources = shards.with_language_tokens(plain, some).source
            scorer = TranslationScorer(
                Pairs(sources, plain.target),
                directed_tokenizers(data, direction, tokenizers),
                language=direction[1],
                samples=1,
                target_prefix=target_prefix(data, direction, tokenizers["target"]),
            )
        batches = _batches(shards, mine, config.training.batch_tokens)
        sets[":".join(direction)] = ValidationSet(batches, config.training, scorer)
    return DirectionValidationSets(sets)


def _batches(shards: DirectedShards, rows: np.ndarray, batch_tokens: int) -> list[Batch]:
    lengths = shards.lengths(rows) + 1
    order = order_by_length(lengths)
    ends = cut_by_tokens(lengths[order].max(axis=1), batch_tokens)
    cuts = [rows[order][first:end] for first, end in pairwise([0, *ends])]
    return [Batch.from_flat(shards.with_language_tokens(shards.gather(cut), cut), cut) for cut in cuts]
