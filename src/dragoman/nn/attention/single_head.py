"""Single-head attention: a score function and an alignment function, as configured."""

from collections.abc import Callable

from torch import Tensor, nn

from dragoman.config import AttentionConfig
from dragoman.config.attention_scores import plugin_score
from dragoman.nn.attention.alignment import (
    Aligner,
    Alignment,
    GlobalAligner,
    HardAligner,
    LocalMonotoneAligner,
    LocalPredictiveAligner,
)
from dragoman.nn.attention.memory import Memory
from dragoman.nn.attention.score import SCORES, ScoreFunction
from dragoman.nn.stateless_noise import Noise

ALIGNERS: dict[str, Callable[[AttentionConfig, int], Aligner]] = {
    "global": lambda config, query: GlobalAligner(),
    "local-m": lambda config, query: LocalMonotoneAligner(config.window),
    "local-p": lambda config, query: LocalPredictiveAligner(config.window, query, config.hidden or query),
    "hard": lambda config, query: HardAligner(),
}


class Attention(nn.Module):
    """Attend to a memory with a score function and an alignment function."""

    def __init__(self, score: ScoreFunction, aligner: Aligner) -> None:
        super().__init__()
        self.score = score
        self.aligner = aligner

    def make_memory(self, keys: Tensor, values: Tensor, lengths: Tensor) -> Memory:
        """Shapes: keys [batch, *, src, key], values [batch, *, src, value], lengths [batch]."""
        prepared = self.score.prepare(keys)
        return Memory.of(prepared, values, lengths)

    def forward(
        self, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None = None
    ) -> tuple[Tensor, Alignment]:
        """Shapes: query [batch, *, tgt, query], positions [tgt] or [batch, tgt] -> context [batch, *, tgt, value]."""
        context, alignment = self.aligner(self.score, query, memory, positions, noise)
        return context, alignment


def build_attention(config: AttentionConfig, query_size: int, key_size: int) -> Attention:
    """Build the attention of a validated configuration, for queries and keys of these sizes."""
    score = SCORES[config.score] if config.score in SCORES else plugin_score(config.score)
    hidden = config.hidden or query_size
    built = score(query=query_size, key=key_size, hidden=hidden, positions=config.positions)
    return Attention(built, ALIGNERS[config.alignment](config, query_size))
