"""Layer normalization that divides by the standard deviation plus ε, as in the Annotated Transformer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class DeviationNorm(nn.Module):
    """a (x − mean) / (s + ε) + b, with the unbiased standard deviation s. Shapes: [*, dim] -> [*, dim].

    `nn.LayerNorm` divides by √(variance + ε) instead, with the biased variance.
    """

    def __init__(self, dim: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        # Computed in float32, as nn.LayerNorm does; the norm of a vector has a gradient at 0, torch.std has none.
        centred = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
        centred = centred - centred.mean(-1, keepdim=True)
        deviation = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) / math.sqrt(max(x.size(-1) - 1, 1))
        return (self.weight * centred / (deviation + self.epsilon) + self.bias).to(x.dtype)
