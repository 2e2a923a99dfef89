"""Single-head attention: a score function combined with an alignment function."""

from __future__ import annotations

from torch import Tensor, nn

from dragoman.nn.attention.alignment import Aligner, Alignment
from dragoman.nn.attention.memory import Memory
from dragoman.nn.attention.score import ScoreFunction
from dragoman.nn.stateless_noise import Noise


class Attention(nn.Module):
    """Attend to a memory with a score function and an alignment function."""

    def __init__(self, score: ScoreFunction, aligner: Aligner) -> None:
        super().__init__()
        self.score = score
        self.aligner = aligner

    def make_memory(self, keys: Tensor, values: Tensor, lengths: Tensor) -> Memory:
        """Prepare keys and values, once per sentence.

        Shapes: keys [batch, *, src, key], values [batch, *, src, value], lengths [batch].
        """
        prepared = self.score.prepare(keys)
        return Memory.of(prepared, values, lengths)

    def forward(
        self, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None = None
    ) -> tuple[Tensor, Alignment]:
        """Shapes: query [batch, *, tgt, query], positions [tgt] or [batch, tgt] -> context [batch, *, tgt, value]."""
        context, alignment = self.aligner(self.score, query, memory, positions, noise)
        return context, alignment
