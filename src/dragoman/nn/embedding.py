"""Embedding of tokens and positions, and the output layer, which may have the same weights."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.errors import DataError
from dragoman.nn.batches import at_least_float32
from dragoman.nn.stateless_noise import Dropout, Noise


class Embedding(nn.Module):
    """Token vectors × √dim (`scaled`), dropout. [vaswani2017] (section 3.4). Shapes: [batch, n] -> [batch, n, dim]."""

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


class Output(nn.Module):
    """log p(y_t) = log softmax(W_s features + b). Paper: [luong2015] (6). Shapes: [*, dim] -> [*, vocab].

    Its weight may be the target embedding's ([press2017]). Training does not call it: the loss takes `weight` and
    `bias` and never holds the scores of all words for all steps at once.
    """

    def __init__(self, dim: int, vocab: int, weight: nn.Parameter | None = None) -> None:
        super().__init__()
        if weight is None:
            weight = nn.Parameter(torch.empty(vocab, dim))
            nn.init.uniform_(weight, -1.0 / math.sqrt(dim), 1.0 / math.sqrt(dim))
        self.weight = weight
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, features: Tensor) -> Tensor:
        return at_least_float32(F.linear(features, self.weight, self.bias)).log_softmax(-1)

    def extra_repr(self) -> str:
        return f"dim={self.weight.size(1)}, vocab={self.weight.size(0)}"


class DeepOutput(nn.Module):
    """Deep output with maxout. Paper: [bahdanau2015] (appendix A.2.2), [cho2014] (appendix A), [goodfellow2013].

    t̃ = U_o s_t + V_o y_{t-1} + C_o c_t;  t_j = max(t̃_{2j-1}, t̃_{2j}).
    [bahdanau2015]'s appendix writes s_{t-1} here while its equation (4) and figure 1 say s_t; we follow equation (4).

    Shapes: state [*, hidden], previous [*, embedding], context [*, context] (or broadcastable) -> [*, dim].
    """

    def __init__(self, hidden: int, embedding: int, context: int, dim: int) -> None:
        super().__init__()
        self.U_o = nn.Linear(hidden, 2 * dim)
        self.V_o = nn.Linear(embedding, 2 * dim, bias=False)
        self.C_o = nn.Linear(context, 2 * dim, bias=False)

    def forward(self, state: Tensor, previous: Tensor, context: Tensor) -> Tensor:
        pre = self.U_o(state) + self.V_o(previous) + self.C_o(context)  # [*, 2 * dim]
        return pre.unflatten(-1, (-1, 2)).amax(-1)  # [*, dim]


class Positions(nn.Module, ABC):
    """A positional encoding."""

    longest: int | None = None
    """Maximum number of positions; None if unlimited."""

    @abstractmethod
    def forward(self, positions: Tensor) -> Tensor:
        """Shapes: [n], the positions 0 to n − 1 of whole sentences, or [batch, n], any -> [*, dim] or broadcastable."""


class SinusoidalPositions(Positions):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos(the same). Paper: [vaswani2017] (section 3.5).

    Computed, not stored: the length is unlimited. Other layouts: "halves", PE(pos, i) = the i-th sine and
    PE(pos, ⌈d/2⌉ + i) = the i-th cosine, as in Hugging Face's Marian; "tensor2tensor", the same with the frequencies
    10000^(−i/(d/2 − 1)) of tensor2tensor and Marian. `offset` is added to every position.
    """

    def __init__(self, dim: int, layout: str = "pairs", offset: int = 0) -> None:
        super().__init__()
        self.dim = dim
        self.layout = layout
        self.offset = offset
        self.register_buffer("like", torch.empty(0), persistent=False)  # carries the dtype and device of the model
        self.like: Tensor

    def forward(self, positions: Tensor) -> Tensor:
        even = torch.arange(0, self.dim, 2, device=positions.device, dtype=torch.float64)
        step = self.dim
        if self.layout == "tensor2tensor":
            even, step = even[: self.dim // 2], max(self.dim // 2 - 1, 1) * 2
        angle = (positions.double() + self.offset).unsqueeze(-1) * torch.exp(even * (-math.log(10000.0) / step))
        if self.layout == "pairs":
            both = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)  # [*, dim]
        else:
            both = torch.cat([angle.sin(), angle.cos()], dim=-1)  # [*, dim]
            both = F.pad(both, (0, max(0, self.dim - both.size(-1))))  # an odd width of tensor2tensor ends with 0
        return both[..., : self.dim].to(self.like.dtype)


class LearnedPositions(Positions):
    """One learned vector per position, from the row `offset`. Paper: [vaswani2017] (section 3.5, table 3 row E)."""

    def __init__(self, dim: int, longest: int, offset: int = 0) -> None:
        super().__init__()
        self.longest = longest
        self.offset = offset
        self.weight = nn.Parameter(torch.empty(longest + offset, dim))
        nn.init.normal_(self.weight, std=dim**-0.5)

    def forward(self, positions: Tensor) -> Tensor:
        longest, asked = self.weight.size(0) - self.offset, _count(positions)
        if asked > longest:
            raise DataError(
                f"a sentence must be at most model.max_positions = {longest} tokens long, got {asked}; "
                "split it, or train with more positions or with sinusoidal ones"
            )
        return F.embedding(positions + self.offset if self.offset else positions, self.weight)


def _count(positions: Tensor) -> int:
    """Number of positions needed; a complete sentence (one dimension, from 0) gives it by its size."""
    if positions.dim() == 1:
        return positions.size(0)
    return 0 if positions.is_meta or not positions.numel() else int(positions.max()) + 1


class NoPositions(Positions):
    """No positional encoding, for experiments."""

    def forward(self, positions: Tensor) -> Tensor:
        return positions.new_zeros(())
