"""Attention = score × alignment, over a memory."""

from __future__ import annotations

from torch import Tensor, nn

from dragoman.nn.attention.alignment import Aligner, Alignment
from dragoman.nn.attention.memory import Memory
from dragoman.nn.attention.score import Score
from dragoman.nn.noise import Noise

__all__ = ["Attention"]


class Attention(nn.Module):
    """Attend to a memory with any score and any alignment that go together (`build.attention` knows which do)."""

    def __init__(self, score: Score, aligner: Aligner) -> None:
        super().__init__()
        self.score = score
        self.aligner = aligner

    def remember(self, keys: Tensor, values: Tensor, lengths: Tensor) -> Memory:
        """Once a sentence. Shapes: keys [batch, *, src, key], values [batch, *, src, value], lengths [batch]."""
        prepared = self.score.prepare(keys)
        return Memory.of(prepared, values, lengths)

    def forward(
        self, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None = None
    ) -> tuple[Tensor, Alignment]:
        """Shapes: query [batch, *, tgt, query], positions [tgt] or [batch, tgt] -> context [batch, *, tgt, value]."""
        context, alignment = self.aligner(self.score, query, memory, positions, noise)
        return context, alignment
