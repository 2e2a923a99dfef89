"""Layers of the Transformer ([vaswani2017], section 3), and the SSRU of its decoder ([kim2019])."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.attention.alignment import Alignment
from dragoman.nn.attention.memory import Memory
from dragoman.nn.attention.multihead import MultiHeadAttention
from dragoman.nn.batches import Rows
from dragoman.nn.stateless_noise import Dropout, Noise

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "gelu": F.gelu, "swish": F.silu}


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


@dataclass(frozen=True)
class LayerSizes:
    """Sizes, dropout rates and variants of a Transformer layer."""

    dim: int
    heads: int
    feedforward: int
    norm_first: bool
    dropout: float
    attention_dropout: float
    activation_dropout: float
    activation: str = "relu"
    attention_bias: bool = False
    epsilon: float = 1e-5
    norm_form: str = "variance"

    def attention(self) -> MultiHeadAttention:
        """A new attention of the layer."""
        return MultiHeadAttention(self.dim, self.heads, self.attention_dropout, bias=self.attention_bias)

    def feed_forward(self) -> FeedForward:
        """A new feed-forward sub-layer."""
        return FeedForward(self.dim, self.feedforward, self.activation_dropout, self.activation)

    def normalization(self) -> nn.LayerNorm | DeviationNorm:
        """A new layer normalization."""
        if self.norm_form == "deviation":
            return DeviationNorm(self.dim, self.epsilon)
        return nn.LayerNorm(self.dim, eps=self.epsilon)


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2. Paper: [vaswani2017] (2). Shapes: [*, dim] -> [*, dim].

    max(0, x) can be replaced by x Φ(x) (gelu) or x σ(x) (swish).
    """

    def __init__(self, dim: int, hidden: int, dropout: float, activation: str = "relu") -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.W_1 = nn.Linear(dim, hidden)
        self.W_2 = nn.Linear(hidden, dim)
        self.dropout = Dropout(dropout)
        for linear in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, noise: Noise | None) -> Tensor:
        inner: Tensor = self.W_1(x)
        y: Tensor = self.W_2(self.dropout(self.activation(inner), noise))
        return y


class Residual(nn.Module):
    """Residual connection around a sub-layer f: post-norm LN(x + f(x)), or pre-norm x + f(LN(x)).

    Papers: the first is [vaswani2017] (section 3.1), the second [xiong2020] (table 1).
    Shapes: [batch, n, dim] -> [batch, n, dim].
    """

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.norm = sizes.normalization()
        self.norm_first = sizes.norm_first
        self.dropout = Dropout(sizes.dropout)

    def before(self, x: Tensor) -> Tensor:
        """The input of the sub-layer."""
        return self._normal(x) if self.norm_first else x

    def after(self, x: Tensor, y: Tensor, noise: Noise | None) -> Tensor:
        """Add the output y of the sub-layer to the residual x."""
        mask = self.dropout.mask(y.shape, noise, x.dtype)
        joined = x + y if mask is None else torch.addcmul(x, y.to(x.dtype), mask)
        return joined if self.norm_first else self._normal(joined)

    def _normal(self, x: Tensor) -> Tensor:
        normal: Tensor = self.norm(x)
        return normal


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward. Shapes: x [batch, src, dim], may_attend [batch, 1, 1, src] -> as x."""

    shard_methods = ("forward",)
    """The methods that use its weights, for sharding the layer with FSDP2."""

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self.attention = sizes.attention()
        self.feedforward = sizes.feed_forward()
        self.around_attention = Residual(sizes)
        self.around_feedforward = Residual(sizes)

    def forward(self, x: Tensor, may_attend: Tensor, noise: Noise | None) -> Tensor:
        q, k, v = self.attention.project(self.around_attention.before(x))
        y = self.attention.attend(q, k, v, may_attend=may_attend, is_causal=False, noise=noise)
        x = self.around_attention.after(x, y, noise)
        y = self.feedforward(self.around_feedforward.before(x), noise)
        return self.around_feedforward.after(x, y, noise)


@dataclass(frozen=True)
class KeyValueCache(Rows):
    """Keys and values of the previous target words, for one layer. Shapes: [batch, heads, tgt so far, dim/heads]."""

    keys: Tensor
    values: Tensor

    def extended(self, keys: Tensor, values: Tensor) -> KeyValueCache:
        return KeyValueCache(torch.cat([self.keys, keys], -2), torch.cat([self.values, values], -2))


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


PastState = KeyValueCache | SsruState


class DecoderLayer(nn.Module):
    """Self-attention to previous target words, attention to the source, feed-forward."""

    shard_methods = ("forward", "make_memory", "step")

    def __init__(self, sizes: LayerSizes) -> None:
        super().__init__()
        self._add_past(sizes)
        self.source_attention = sizes.attention()
        self.feedforward = sizes.feed_forward()
        self.around_self = Residual(sizes)
        self.around_source = Residual(sizes)
        self.around_feedforward = Residual(sizes)

    def _add_past(self, sizes: LayerSizes) -> None:
        """Create the sub-layer that reads the previous target words."""
        self.self_attention = sizes.attention()

    def make_memory(self, states: Tensor, lengths: Tensor) -> Memory:
        """Keys and values of the source, once per sentence. Shapes: states [batch, src, dim], lengths [batch]."""
        return self.source_attention.make_memory(states, lengths)

    def start(self, like: Tensor) -> PastState:
        """The cache before the first word. Shapes: like [batch, *] -> [batch, heads, 0, dim/heads]."""
        heads = self.self_attention.heads
        nothing = like.new_zeros(like.size(0), heads, 0, self.self_attention.dim // heads)
        return KeyValueCache(nothing, nothing)

    def forward(
        self, x: Tensor, memory: Memory, noise: Noise | None, return_attention: bool = False
    ) -> tuple[Tensor, Alignment | None]:
        """All target positions at once, with causal attention. Shapes: [batch, tgt, dim] -> [batch, tgt, dim]."""
        y = self._past(self.around_self.before(x), noise)
        return self._rest(self.around_self.after(x, y, noise), memory, noise, return_attention)

    def step(
        self, x: Tensor, cache: PastState, memory: Memory, *, return_attention: bool = True
    ) -> tuple[Tensor, PastState, Alignment | None]:
        """One target position. Shapes: x [batch, 1, dim] -> [batch, 1, dim]."""
        y, cache = self._past_step(self.around_self.before(x), cache)
        x, alignment = self._rest(self.around_self.after(x, y, None), memory, None, return_attention)
        return x, cache, alignment

    def _past(self, x: Tensor, noise: Noise | None) -> Tensor:
        """The first sub-layer for all positions at once. Shapes: [batch, tgt, dim] -> [batch, tgt, dim]."""
        q, k, v = self.self_attention.project(x)
        return self.self_attention.attend(q, k, v, may_attend=None, is_causal=True, noise=noise)

    def _past_step(self, x: Tensor, cache: PastState) -> tuple[Tensor, PastState]:
        """The first sub-layer for one position. Shapes: [batch, 1, dim] -> [batch, 1, dim]."""
        assert isinstance(cache, KeyValueCache)
        q, k, v = self.self_attention.project(x)
        cache = cache.extended(k, v)
        y = self.self_attention.attend(q, cache.keys, cache.values, may_attend=None, is_causal=False, noise=None)
        return y, cache

    def _rest(
        self, x: Tensor, memory: Memory, noise: Noise | None, return_attention: bool
    ) -> tuple[Tensor, Alignment | None]:
        q = self.source_attention.query(self.around_source.before(x))
        alignment = None
        if return_attention:
            y, alignment = self.source_attention.attend_with_weights(
                q, memory.keys, memory.values, may_attend=memory.may_attend, noise=noise
            )
        else:
            y = self.source_attention.attend(
                q, memory.keys, memory.values, may_attend=memory.may_attend, is_causal=False, noise=noise
            )
        x = self.around_source.after(x, y, noise)
        y = self.feedforward(self.around_feedforward.before(x), noise)
        return self.around_feedforward.after(x, y, noise), alignment


class SsruDecoderLayer(DecoderLayer):
    """A recurrent unit in place of self-attention, then attention to the source and feed-forward. Paper: [kim2019]."""

    def _add_past(self, sizes: LayerSizes) -> None:
        self.ssru = Ssru(sizes.dim)

    def start(self, like: Tensor) -> PastState:
        """The state before the first word. Shapes: like [batch, *] -> [batch, dim]."""
        return self.ssru.start(like)

    def _past(self, x: Tensor, noise: Noise | None) -> Tensor:
        y: Tensor = self.ssru(x)
        return y

    def _past_step(self, x: Tensor, cache: PastState) -> tuple[Tensor, PastState]:
        assert isinstance(cache, SsruState)
        return self.ssru.step(x, cache)
