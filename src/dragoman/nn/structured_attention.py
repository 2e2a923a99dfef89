"""Structured self-attention: a fixed number of weighted means of the source states. Paper: [lin2017]."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.batches import is_real, masked_softmax


class StructuredAttention(nn.Module):
    """A = softmax(W_2 tanh(W_1 Hᵀ)) over the real words, M = A H. Paper: [lin2017] (6)-(7)."""

    def __init__(self, dim: int, hidden: int, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.W_1 = nn.Parameter(torch.empty(hidden, dim))
        self.W_2 = nn.Parameter(torch.empty(rows, hidden))
        nn.init.xavier_uniform_(self.W_1)
        nn.init.xavier_uniform_(self.W_2)

    def forward(self, states: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """M and A. Shapes: states [batch, src, dim], lengths [batch] -> [batch, rows, dim], [batch, rows, src]."""
        scores = F.linear(F.linear(states, self.W_1).tanh(), self.W_2)  # [batch, src, rows]
        real = is_real(lengths.to(states.device), states.size(1)).unsqueeze(1)  # [batch, 1, src]
        weights = masked_softmax(scores.transpose(1, 2), real)  # [batch, rows, src]
        return weights.to(states.dtype) @ states, weights


def redundancy_penalty(weights: Tensor) -> Tensor:
    """‖A Aᵀ − I‖²_F, the mean over sentences. Paper: [lin2017] (8). Shapes: [batch, rows, src] -> a scalar."""
    products = weights @ weights.transpose(1, 2)  # [batch, rows, rows]
    identity = torch.eye(weights.size(1), dtype=weights.dtype, device=weights.device)
    return (products - identity).square().sum((1, 2)).mean()
