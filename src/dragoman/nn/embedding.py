"""Token embedding."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.stateless_noise import Dropout, Noise


class Embedding(nn.Module):
    """Token ids to vectors, with dropout; × √dim if `scaled`. Paper: [vaswani2017] (section 3.4).

    Shapes: [batch, n] -> [batch, n, dim].
    """

    def __init__(self, weight: nn.Parameter, dropout: float, *, scaled: bool) -> None:
        super().__init__()
        self.scale = math.sqrt(weight.size(1)) if scaled else 1.0
        self.weight = weight
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tensor, noise: Noise | None) -> Tensor:
        return self.dropout(self.vectors(tokens), noise)

    def vectors(self, tokens: Tensor) -> Tensor:
        """The vectors before dropout, for callers that add positions first. Shapes: [batch, n] -> [batch, n, dim]."""
        vectors = F.embedding(tokens, self.weight)
        return vectors if self.scale == 1.0 else vectors * self.scale

    def extra_repr(self) -> str:
        return f"vocab={self.weight.size(0)}, dim={self.weight.size(1)}"
