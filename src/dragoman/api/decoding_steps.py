"""What a model thought at every step of a translation that is given: how likely each piece of its vocabulary was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.engines.protocol import Engine
from dragoman.engines.stepping import SteppingEngine
from dragoman.errors import ConfigError
from dragoman.inspection.inspected import Candidate
from dragoman.search.protocol import Floats
from dragoman.text import BOS_ID, EOS_ID, PAD_ID, Tokenizer

__all__ = ["likeliest", "step_candidates", "step_log_probs", "stepping"]


def stepping(engine: Engine) -> SteppingEngine:
    """The engine, if its every step is open; a `ConfigError` else."""
    if not isinstance(engine, SteppingEngine):
        raise ConfigError(
            f"engine must show every step that it takes, got {engine.name}, which does not; open the translator with "
            "engine='torch'"
        )
    return engine


def step_log_probs(engine: SteppingEngine, source: Sequence[int], target: Sequence[int]) -> Floats:
    """Write a translation, piece numbers without specials, and its end. Shapes: -> [tgt + 1, vocab]."""
    writing = engine.start([source], False)
    rows = []
    for token in (BOS_ID, *target):
        prediction = writing.step(np.array([token], np.int64))
        writing = prediction.after
        rows.append(prediction.log_probs[0].copy())
    log_probs: Floats = np.stack(rows)
    log_probs[:, [PAD_ID, BOS_ID]] = -np.inf  # no search ever writes them
    return log_probs


def likeliest(log_probs: Floats, most: int) -> list[int]:
    """The numbers of the likeliest pieces, the likeliest first. Shapes: log_probs [vocab]."""
    most = min(most, log_probs.size)
    found = np.argpartition(-log_probs, most - 1)[:most]
    ordered: list[int] = found[np.lexsort((found, -log_probs[found]))].tolist()
    return ordered


def step_candidates(
    log_probs: Floats, target: Sequence[int], tokenizer: Tokenizer, most: int
) -> tuple[tuple[Candidate, ...], ...]:
    """The likeliest pieces of every step; the one that was written is among them, as the last if it must be.

    Shapes: log_probs [tgt + 1, vocab].
    """
    steps = []
    for row, chosen in zip(log_probs, (*target, EOS_ID), strict=True):
        found = likeliest(row, most)
        if chosen not in found:
            found.append(chosen)
        steps.append(tuple(Candidate(tokenizer.id_to_piece(each), float(np.exp(row[each]))) for each in found))
    return tuple(steps)
