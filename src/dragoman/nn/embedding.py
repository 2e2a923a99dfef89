"""Embedding of tokens, and the output layer, which may have the same weights."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.compute_dtype import at_least_float32
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
