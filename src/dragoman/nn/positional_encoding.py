"""Positional encodings, added to token embeddings."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.errors import DataError


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
