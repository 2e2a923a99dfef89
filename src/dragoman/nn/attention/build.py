"""Build an attention layer (score function and alignment) from its configuration."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.config.schema import AttentionConfig
from dragoman.nn.attention.alignment import (
    Aligner,
    GlobalAligner,
    HardAligner,
    LocalMonotoneAligner,
    LocalPredictiveAligner,
)
from dragoman.nn.attention.score import (
    ConcatScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ScaledDotScore,
    ScoreFunction,
)
from dragoman.nn.attention.single_head import Attention

SCORES: dict[str, Callable[[AttentionConfig, int, int], ScoreFunction]] = {
    "dot": lambda config, query, key: DotScore(),
    "scaled-dot": lambda config, query, key: ScaledDotScore(),
    "general": lambda config, query, key: GeneralScore(query, key),
    "concat": lambda config, query, key: ConcatScore(query, key, config.hidden or query),
    "location": lambda config, query, key: LocationScore(query, config.positions),
}

ALIGNERS: dict[str, Callable[[AttentionConfig, int], Aligner]] = {
    "global": lambda config, query: GlobalAligner(),
    "local-m": lambda config, query: LocalMonotoneAligner(config.window),
    "local-p": lambda config, query: LocalPredictiveAligner(config.window, query, config.hidden or query),
    "hard": lambda config, query: HardAligner(),
}


def build_attention(config: AttentionConfig, query_size: int, key_size: int) -> Attention:
    """Build the attention of a validated configuration, for queries and keys of these sizes."""
    score = SCORES[config.score](config, query_size, key_size)
    return Attention(score, ALIGNERS[config.alignment](config, query_size))
