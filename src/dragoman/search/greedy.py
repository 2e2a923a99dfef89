"""Greedy search: the likeliest piece at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data.batch import Batch
from dragoman.errors import ConfigError
from dragoman.models.protocol import Model, Step
from dragoman.text import BOS_ID, EOS_ID

__all__ = ["Hypothesis", "greedy"]


@dataclass(frozen=True)
class Hypothesis:
    """One translation: its pieces without specials, and log p of all that was written, its end among it.

    Shapes: alignment [tgt, src], the mean over layers and heads where there are any. Its last row is that of the end
    of the sentence, unless `max_length` came first; its last column is the end of the source.
    """

    pieces: list[int]
    log_prob: float
    alignment: NDArray[np.float32] | None


@torch.no_grad()
def greedy(
    model: Model[Any, Any],
    sources: Sequence[Sequence[int]],
    *,
    max_length: Callable[[int], int] | int,
    show: bool = False,
) -> list[Hypothesis]:
    """Translate sources (piece numbers without specials) as one batch, which finished sentences leave.

    y_t = argmax p(y | y_<t, x). `max_length` is the most pieces of a translation, its end among them: one number, or
    a function of the pieces of the source. With `show` the alignments come too, where the model has any.
    """
    if not sources:
        return []
    drafts = [_Draft(len(source) + 1, _limit(max_length, len(source))) for source in sources]
    device = next(model.parameters()).device
    batch = Batch.of([(source, ()) for source in sources]).to(device)
    memory = model.encode(batch.source, batch.source_lengths)
    state = model.decoder.start(memory)
    tokens = torch.full((len(sources),), BOS_ID, device=device)
    running = list(range(len(sources)))
    while running:
        step = model.decoder.step(tokens, state, memory, show=show)
        tokens, state = _write(step, [drafts[row] for row in running], batch.source.size(1), show=show), step.state
        left = [place for place, row in enumerate(running) if not drafts[row].is_finished]
        if len(left) < len(running):
            rows = torch.tensor(left, dtype=torch.long, device=device)
            running = [running[place] for place in left]
            tokens, state, memory = tokens[rows], state.select(rows), memory.select(rows)
    return [draft.hypothesis() for draft in drafts]


@dataclass
class _Draft:
    """A translation in the making. Shapes: a row of the alignment is [src]."""

    src: int
    limit: int
    pieces: list[int] = field(default_factory=list)
    log_prob: float = 0.0
    rows: list[NDArray[np.float32]] = field(default_factory=list)

    @property
    def is_finished(self) -> bool:
        return len(self.pieces) == self.limit or self.pieces[-1] == EOS_ID

    def hypothesis(self) -> Hypothesis:
        pieces = self.pieces[:-1] if self.pieces[-1] == EOS_ID else self.pieces
        return Hypothesis(pieces, self.log_prob, np.stack(self.rows) if self.rows else None)


def _limit(max_length: Callable[[int], int] | int, source: int) -> int:
    limit = max_length(source) if callable(max_length) else max_length
    if limit < 1:
        raise ConfigError(
            f"max_length must be at least 1, the end of a sentence, got {limit} for a source of {source} pieces; "
            "leave room for a translation"
        )
    return limit


def _write(step: Step[Any], drafts: Sequence[_Draft], src: int, *, show: bool) -> Tensor:
    """Add the likeliest piece to each draft, and return it. Shapes: -> [batch]."""
    best, tokens = step.log_probs.max(-1)  # each [batch]
    for draft, piece, log_prob in zip(drafts, tokens.tolist(), best.tolist(), strict=True):
        draft.pieces.append(piece)
        draft.log_prob += log_prob
    if show and step.alignment is not None:
        weights = step.alignment.averaged(src)[:, 0].float().cpu().numpy()  # [batch, src]
        for draft, row in zip(drafts, weights, strict=True):
            draft.rows.append(row[: draft.src].copy())
    return tokens
