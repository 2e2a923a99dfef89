"""Score functions of attention: dot, scaled dot, general, concat and location.

Every score function takes [*, tgt, dim] and [*, src, dim], so heads, or one window per target step, are an additional
leading dimension. `prepare` computes the part that does not depend on the step, once per sentence; `forward` takes its
result as keys.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.config.attention_scores import SCORES as RULES
from dragoman.config.attention_scores import ScoreRules
from dragoman.nn import deferred_gradient


class ScoreFunction(nn.Module, ABC):
    """Scores how well a query matches each key. Its rules state its weights, and with what it can be combined."""

    rules: ClassVar[ScoreRules]

    def __init__(self, **sizes: int) -> None:
        """Create the weights for these sizes: query, key, hidden and positions, as far as the rules name them."""
        super().__init__()
        for name, shape in self.rules.shapes(**sizes).items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape)))
        self.initialize()

    def initialize(self) -> None:
        """Draw the first values: matrices by Glorot's uniform distribution, vectors within ±1/√n."""
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)
            else:
                nn.init.uniform_(weight, -1.0 / math.sqrt(len(weight)), 1.0 / math.sqrt(len(weight)))

    def prepare(self, keys: Tensor) -> Tensor:
        """The part that depends only on the keys, once per sentence. Shapes: [*, src, key] -> [*, src, prepared]."""
        return keys

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores. Shapes: query [*, tgt, query], prepared keys [*, src, prepared] -> [*, tgt, src]."""


class DotScore(ScoreFunction):
    """Dot score, h_t^T h̄_s. Paper: [luong2015] (section 3.1). Shapes: [*, tgt, dim], [*, src, dim] -> [*, tgt, src]."""

    rules = RULES["dot"]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return deferred_gradient.linear(query, keys)  # [*, tgt, src]


class ScaledDotScore(ScoreFunction):
    """Scaled dot score, q^T k / √d. Paper: [vaswani2017] (1). Shapes: [*, tgt, dim], [*, src, dim] -> [*, tgt, src]."""

    rules = RULES["scaled-dot"]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return deferred_gradient.linear(query * (1.0 / math.sqrt(query.size(-1))), keys)  # [*, tgt, src]


class GeneralScore(ScoreFunction):
    """General score, h_t^T W_a h̄_s. Paper: [luong2015] (section 3.1).

    W_a is applied to the query: one small product per step, no second copy of the source, and no cost that grows with
    its length. Shapes: [*, tgt, query], [*, src, key] -> [*, tgt, src].
    """

    rules = RULES["general"]
    W_a: nn.Parameter

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return deferred_gradient.linear(query @ self.W_a.to(query.dtype), keys)  # [*, tgt, src]


class ConcatScore(ScoreFunction):
    """Concat (additive) score, v_a^T tanh(W_a [h_t; h̄_s]).

    Papers: [luong2015] (section 3.1), [bahdanau2015] (appendix A.1.2).

    W_a [h_t; h̄_s] = W_q h_t + U_k h̄_s, and U_k h̄_s is computed once per sentence.
    Shapes: [*, tgt, query], [*, src, key] -> [*, tgt, src].
    """

    rules = RULES["concat"]
    W_q: nn.Parameter
    U_k: nn.Parameter
    v_a: nn.Parameter

    def prepare(self, keys: Tensor) -> Tensor:
        return F.linear(keys, self.U_k)  # [*, src, hidden]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        from_query = F.linear(query, self.W_q).unsqueeze(-2)  # [*, tgt, 1, hidden]
        return (from_query + keys.unsqueeze(-3)).tanh() @ self.v_a  # [*, tgt, src]


class LocationScore(ScoreFunction):
    """Location score, W_a h_t: it depends only on the target state. Paper: [luong2015] (8).

    It has a fixed number of positions. As in the paper, a shorter source uses the first of them; the words of a longer
    source beyond the last position are never attended to (their score is the lowest possible).
    Shapes: [*, tgt, query], [*, src, any] -> [*, tgt, src].
    """

    rules = RULES["location"]
    W_a: nn.Parameter

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        positions, src = self.W_a.size(0), keys.size(-2)
        scores = F.linear(query, self.W_a[:src])  # [*, tgt, min(src, positions)]
        return F.pad(scores, (0, max(0, src - positions)), value=torch.finfo(scores.dtype).min)  # [*, tgt, src]


SCORES: dict[str, type[ScoreFunction]] = {
    "dot": DotScore,
    "scaled-dot": ScaledDotScore,
    "general": GeneralScore,
    "concat": ConcatScore,
    "location": LocationScore,
}
