"""Score functions: how well a query fits each key. The alignment decides what is made of the scores.

Every score works on [*, tgt, dim] × [*, src, dim], so heads, or a window a target step, are one more leading dimension.
`prepare` does once a sentence what need not be done at every step; its result is what `forward` takes as keys.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn import loop

__all__ = ["ConcatScore", "DotScore", "GeneralScore", "LocationScore", "ScaledDotScore", "Score"]


class Score(nn.Module, ABC):
    """How well a query fits each key."""

    def prepare(self, keys: Tensor) -> Tensor:
        """What can be computed from the keys alone, once a sentence. Shapes: [*, src, key] -> [*, src, prepared]."""
        return keys

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores. Shapes: query [*, tgt, query], prepared keys [*, src, prepared] -> [*, tgt, src]."""


class DotScore(Score):
    """Dot score, h_t^T h̄_s. Paper: [luong2015] (section 3.1). Shapes: [*, tgt, dim], [*, src, dim] -> [*, tgt, src]."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return loop.linear(query, keys)  # [*, tgt, src]


class ScaledDotScore(Score):
    """Scaled dot score, q^T k / √d. Paper: [vaswani2017] (1). Shapes: [*, tgt, dim], [*, src, dim] -> [*, tgt, src]."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return loop.linear(query * (1.0 / math.sqrt(query.size(-1))), keys)  # [*, tgt, src]


class GeneralScore(Score):
    """General score, h_t^T W_a h̄_s. Paper: [luong2015] (section 3.1).

    W_a is applied on the query's side: one small product a step, no second copy of the source, and nothing that grows
    with its length. Shapes: [*, tgt, query], [*, src, key] -> [*, tgt, src].
    """

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__()
        self.W_a = nn.Parameter(torch.empty(query_size, key_size))
        nn.init.xavier_uniform_(self.W_a)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return loop.linear(query @ self.W_a.to(query.dtype), keys)  # [*, tgt, src]


class ConcatScore(Score):
    """Concat (additive) score, v_a^T tanh(W_a [h_t; h̄_s]).

    Papers: [luong2015] (section 3.1), [bahdanau2015] (appendix A.1.2).

    W_a [h_t; h̄_s] = W_q h_t + U_k h̄_s, and U_k h̄_s is computed once a sentence.
    Shapes: [*, tgt, query], [*, src, key] -> [*, tgt, src].
    """

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__()
        self.W_q = nn.Parameter(torch.empty(hidden, query_size))
        self.U_k = nn.Parameter(torch.empty(hidden, key_size))
        self.v_a = nn.Parameter(torch.empty(hidden))
        nn.init.xavier_uniform_(self.W_q)
        nn.init.xavier_uniform_(self.U_k)
        nn.init.uniform_(self.v_a, -1.0 / math.sqrt(hidden), 1.0 / math.sqrt(hidden))

    def prepare(self, keys: Tensor) -> Tensor:
        return F.linear(keys, self.U_k)  # [*, src, hidden]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        from_query = F.linear(query, self.W_q).unsqueeze(-2)  # [*, tgt, 1, hidden]
        return (from_query + keys.unsqueeze(-3)).tanh() @ self.v_a  # [*, tgt, src]


class LocationScore(Score):
    """Location score, W_a h_t: the target state alone says where to look. Paper: [luong2015] (8).

    It has a fixed number of positions. As in the paper, a shorter source uses the first of them, and of a longer source
    the words beyond the last are never attended to (their score is the lowest there is).
    Shapes: [*, tgt, query], [*, src, any] -> [*, tgt, src].
    """

    def __init__(self, query_size: int, positions: int) -> None:
        super().__init__()
        self.W_a = nn.Parameter(torch.empty(positions, query_size))
        nn.init.xavier_uniform_(self.W_a)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        positions, src = self.W_a.size(0), keys.size(-2)
        scores = F.linear(query, self.W_a[:src])  # [*, tgt, min(src, positions)]
        return F.pad(scores, (0, max(0, src - positions)), value=torch.finfo(scores.dtype).min)  # [*, tgt, src]
