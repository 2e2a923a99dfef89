"""A plain beam search over the model protocol, to measure with until the product has its own.

Hypotheses end at the end of a sentence; the score that decides is the mean log-probability of a piece, its end among
them. Nothing clever: every hypothesis of every sentence takes part in every step until all sentences are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dragoman.data.batch import Batch
from dragoman.models import Model
from dragoman.text import BOS_ID, EOS_ID

__all__ = ["beam_search"]


@torch.inference_mode()
def beam_search(model: Model[Any, Any], sources: Sequence[Sequence[int]], beam: int) -> list[list[int]]:
    """The best translation of each source: pieces without specials."""
    count = len(sources)
    batch = Batch.of([(source, ()) for source in sources])
    memory = model.encode(batch.source, batch.source_lengths)
    state = model.decoder.start(memory)
    rows = torch.arange(count).repeat_interleave(beam)
    memory, state = memory.select(rows), state.select(rows)
    scores = torch.full((count, beam), float("-inf"))
    scores[:, 0] = 0.0
    written = torch.full((count, beam, 1), BOS_ID)
    best: list[tuple[float, list[int]]] = [(float("-inf"), []) for _ in sources]
    for length in range(1, 2 * batch.source.size(1) + 20):
        step = model.decoder.step(written[:, :, -1].flatten(), state, memory, show=False)
        total = scores.unsqueeze(-1) + step.log_probs.view(count, beam, -1)  # [batch, beam, vocab]
        finish(best, written, total[:, :, EOS_ID], length)
        total[:, :, EOS_ID] = float("-inf")
        scores, flat = total.flatten(1).topk(beam)
        parents, pieces = flat // total.size(-1), flat % total.size(-1)  # each [batch, beam]
        state = step.state.select((parents + beam * torch.arange(count).unsqueeze(1)).flatten())
        kept = written.gather(1, parents.unsqueeze(-1).expand(-1, -1, written.size(-1)))
        written = torch.cat([kept, pieces.unsqueeze(-1)], -1)
        if all(score >= float(running) / length for (score, _), running in zip(best, scores[:, 0], strict=True)):
            break
    return [pieces for _, pieces in best]


def finish(best: list[tuple[float, list[int]]], written: Tensor, ended: Tensor, length: int) -> None:
    """Keep the best of what ends here. Shapes: written [batch, beam, length], ended [batch, beam]."""
    scores, places = (ended / length).max(1)
    for row, (score, place) in enumerate(zip(scores.tolist(), places.tolist(), strict=True)):
        if score > best[row][0]:
            best[row] = (score, written[row, place, 1:].tolist())
