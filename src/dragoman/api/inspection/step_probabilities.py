"""Compute the token probabilities at each decoding step of a given translation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.engines.incremental import IncrementalEngine
from dragoman.engines.protocol import Engine
from dragoman.errors import ConfigError
from dragoman.inspection.result import Candidate
from dragoman.search.decoding_protocol import Floats
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, Tokenizer

__all__ = ["require_incremental", "step_candidates", "step_log_probs", "topk"]


def require_incremental(engine: Engine) -> IncrementalEngine:
    """Return the engine if it runs one step at a time; raise `ConfigError` otherwise."""
    if not isinstance(engine, IncrementalEngine):
        raise ConfigError(
            f"engine must run one step at a time, got {engine.name}, which does not; open the translator with "
            "engine='torch'"
        )
    return engine


def step_log_probs(engine: IncrementalEngine, source: Sequence[int], target: Sequence[int]) -> Floats:
    """Decode a given translation, token ids without specials, and its end. Shapes: -> [tgt + 1, vocab]."""
    state = engine.start([source], False)
    rows = []
    for token in (BOS_ID, *target):
        output = state.step(np.array([token], np.int64))
        state = output.next_state
        rows.append(output.log_probs[0].copy())
    log_probs: Floats = np.stack(rows)
    log_probs[:, [PAD_ID, BOS_ID]] = -np.inf  # no search ever writes them
    return log_probs


def topk(log_probs: Floats, most: int) -> list[int]:
    """Return the ids of the most likely tokens, the most likely first. Shapes: log_probs [vocab]."""
    most = min(most, log_probs.size)
    found = np.argpartition(-log_probs, most - 1)[:most]
    ordered: list[int] = found[np.lexsort((found, -log_probs[found]))].tolist()
    return ordered


def step_candidates(
    log_probs: Floats, target: Sequence[int], tokenizer: Tokenizer, most: int
) -> tuple[tuple[Candidate, ...], ...]:
    """Return the most likely tokens of every step; the token of the translation is added where it is not among them.

    Shapes: log_probs [tgt + 1, vocab].
    """
    steps = []
    for row, chosen in zip(log_probs, (*target, EOS_ID), strict=True):
        found = topk(row, most)
        if chosen not in found:
            found.append(chosen)
        steps.append(tuple(Candidate(tokenizer.id_to_token(each), float(np.exp(row[each]))) for each in found))
    return tuple(steps)
