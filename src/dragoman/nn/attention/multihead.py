"""Multi-head attention of the Transformer."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn.attention.alignment import Alignment
from dragoman.nn.attention.memory import Memory
from dragoman.nn.batches import masked_softmax
from dragoman.nn.stateless_noise import Dropout, Noise


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = [head_1; …; head_h] W^O, head_i = softmax(Q W_i^Q (K W_i^K)^T / √d_k) V W_i^V.

    Paper: [vaswani2017] (1) and section 3.2.2. W^Q, W^K and W^V of all heads are one matrix, so that they
    are applied in one product. With `bias` a vector is added to each projection.
    """

    def __init__(self, dim: int, heads: int, dropout: float, *, bias: bool = False) -> None:
        super().__init__()
        self.dim = dim
        self.heads = heads
        self.W_qkv = nn.Parameter(torch.empty(3 * dim, dim))
        self.W_o = nn.Parameter(torch.empty(dim, dim))
        self.b_qkv = nn.Parameter(torch.zeros(3 * dim)) if bias else None
        self.b_o = nn.Parameter(torch.zeros(dim)) if bias else None
        self.dropout = Dropout(dropout)
        for weight in (*self.W_qkv.detach().split(dim), self.W_o):
            nn.init.xavier_uniform_(weight)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys, values of one sequence. Shapes: [batch, n, dim] -> three of [batch, heads, n, dim/heads]."""
        q, k, v = F.linear(x, self.W_qkv, self.b_qkv).chunk(3, dim=-1)
        return self._heads(q), self._heads(k), self._heads(v)

    def query(self, x: Tensor) -> Tensor:
        """Shapes: [batch, tgt, dim] -> [batch, heads, tgt, dim/heads]."""
        return self._heads(F.linear(x, self.W_qkv[: self.dim], _rows(self.b_qkv, slice(self.dim))))

    def make_memory(self, x: Tensor, lengths: Tensor) -> Memory:
        """Keys and values of another sequence, once per sentence. Shapes: x [batch, src, dim], lengths [batch]."""
        biases = _rows(self.b_qkv, slice(self.dim, None))
        k, v = F.linear(x, self.W_qkv[self.dim :], biases).chunk(2, dim=-1)
        return Memory.of(self._heads(k), self._heads(v), lengths)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, may_attend: Tensor | None, is_causal: bool, noise: Noise | None
    ) -> Tensor:
        """The contexts of the heads, concatenated and projected; by torch's fused kernel if there is no dropout inside.

        Shapes: q [batch, heads, tgt, d], k, v [batch, heads, src, d], may_attend broadcastable to
        [batch, heads, tgt, src] (True: may be attended to) -> [batch, tgt, dim].
        """
        if noise is not None and self.dropout.rate > 0:
            context, _ = self._explicit(q, k, v, may_attend, is_causal, noise)
        else:
            context = _fused(q, k, v, may_attend, is_causal)
        return self._join(context)

    def attend_with_weights(
        self, q: Tensor, k: Tensor, v: Tensor, *, may_attend: Tensor | None, noise: Noise | None = None
    ) -> tuple[Tensor, Alignment]:
        """Like `attend`, computed explicitly. Shapes: -> [batch, tgt, dim], weights [batch, heads, tgt, src]."""
        context, weights = self._explicit(q, k, v, may_attend, False, noise)
        return self._join(context), Alignment(weights)

    def _explicit(
        self, q: Tensor, k: Tensor, v: Tensor, may_attend: Tensor | None, is_causal: bool, noise: Noise | None
    ) -> tuple[Tensor, Tensor]:
        scores = (q * (1.0 / math.sqrt(q.size(-1)))) @ k.transpose(-1, -2)  # [batch, heads, tgt, src]
        allowed = torch.ones((), dtype=torch.bool, device=q.device) if may_attend is None else may_attend
        if is_causal:
            allowed = allowed & _not_ahead(scores.size(-2), scores.size(-1), q.device)
        weights = masked_softmax(scores, allowed.expand_as(scores))
        return self.dropout(weights, noise).to(v.dtype) @ v, weights  # [batch, heads, tgt, d]

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [batch, heads, n, dim/heads]

    def _join(self, context: Tensor) -> Tensor:
        return F.linear(context.transpose(1, 2).flatten(2), self.W_o, self.b_o)  # [batch, tgt, dim]

    def extra_repr(self) -> str:
        return f"dim={self.dim}, heads={self.heads}"


def _rows(bias: Tensor | None, rows: slice) -> Tensor | None:
    return None if bias is None else bias[rows]


def _fused(q: Tensor, k: Tensor, v: Tensor, may_attend: Tensor | None, is_causal: bool) -> Tensor:
    """torch's scaled_dot_product_attention. Shapes as `MultiHeadAttention.attend`, -> [batch, heads, tgt, d].

    On a CPU it runs in at least float32: there the backward pass of the bfloat16 kernel takes many times longer than
    bfloat16 saves elsewhere.
    """
    if is_causal and may_attend is not None:  # not every kernel supports both
        may_attend, is_causal = may_attend & _not_ahead(q.size(-2), k.size(-2), q.device), False
    if q.device.type != "cpu" or q.dtype != torch.bfloat16:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=may_attend, is_causal=is_causal)
    with torch.autocast("cpu", enabled=False):
        context = F.scaled_dot_product_attention(
            q.float(), k.float(), v.float(), attn_mask=may_attend, is_causal=is_causal
        )
    return context.to(q.dtype)


def _not_ahead(tgt: int, src: int, device: torch.device) -> Tensor:
    """True where a position is not after the attending one. Shapes: -> [tgt, src]."""
    return torch.ones(tgt, src, dtype=torch.bool, device=device).tril()
