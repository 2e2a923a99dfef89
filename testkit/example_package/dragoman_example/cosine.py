"""A score function of attention: the cosine, multiplied by a learned number."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.config.attention_scores import ScoreRules
from dragoman.nn.attention.score import ScoreFunction


class CosineScore(ScoreFunction):
    """Cosine score, β h_t^T h̄_s / (|h_t| |h̄_s|) with β = exp(b).

    Shapes: [*, tgt, dim], [*, src, dim] -> [*, tgt, src].
    """

    rules = ScoreRules({"b": (1,)}, needs_equal_sizes=True)
    b: nn.Parameter

    def initialize(self) -> None:
        nn.init.zeros_(self.b)

    def prepare(self, keys: Tensor) -> Tensor:
        return F.normalize(keys, dim=-1)  # [*, src, dim]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return F.normalize(query, dim=-1) * self.b.exp() @ keys.transpose(-1, -2)  # [*, tgt, src]
