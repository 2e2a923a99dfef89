"""Simpler simple recurrent unit (SSRU), which replaces self-attention in a Transformer decoder. Paper: [kim2019]."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.row_selection import Rows


@dataclass(frozen=True)
class SsruState(Rows):
    """The cell after the previous target words, for one layer. Shapes: cell [batch, dim]."""

    cell: Tensor


class Ssru(nn.Module):
    """f_t = σ(W_f x_t + b_f);  c_t = f_t ⊙ c_{t−1} + (1 − f_t) ⊙ W x_t;  o_t = max(0, c_t).

    Paper: [kim2019] (section 3.1).
    Decoding holds one vector per layer, for any length. All steps at once take a parallel scan of log₂(tgt) products.
    Shapes: [batch, tgt, dim] -> [batch, tgt, dim].
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.W = nn.Parameter(torch.empty(dim, dim))
        self.W_f = nn.Parameter(torch.empty(dim, dim))
        self.b_f = nn.Parameter(torch.zeros(dim))
        nn.init.xavier_uniform_(self.W)
        nn.init.xavier_uniform_(self.W_f)

    def start(self, like: Tensor) -> SsruState:
        """The state before the first word, c_0 = 0. Shapes: like [batch, *] -> cell [batch, dim]."""
        return SsruState(like.new_zeros(like.size(0), self.dim))

    def forward(self, x: Tensor) -> Tensor:
        """All target positions at once."""
        forget, added = self._gates(x)
        return linear_recurrence(forget, added).relu().to(x.dtype)

    def step(self, x: Tensor, state: SsruState) -> tuple[Tensor, SsruState]:
        """One target position. Shapes: x [batch, 1, dim] -> [batch, 1, dim]."""
        forget, added = self._gates(x.squeeze(1))
        cell = forget * state.cell + added
        return cell.relu().unsqueeze(1).to(x.dtype), SsruState(cell.to(state.cell.dtype))

    def _gates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        forget = F.linear(x, self.W_f, self.b_f).sigmoid()
        return forget, (1.0 - forget) * F.linear(x, self.W)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


def linear_recurrence(factors: Tensor, terms: Tensor) -> Tensor:
    """c_t = a_t c_{t−1} + b_t with c_0 = 0, for all t, by recursive doubling. Shapes: [batch, n, dim] -> the same.

    After the pass with distance d, position t has the product of the last d factors and the sum of their terms.
    """
    distance = 1
    while distance < factors.size(1):
        before = F.pad(terms, (0, 0, distance, 0))[:, : terms.size(1)]
        terms = terms + factors * before
        factors = factors * F.pad(factors, (0, 0, distance, 0))[:, : factors.size(1)]
        distance *= 2
    return terms
