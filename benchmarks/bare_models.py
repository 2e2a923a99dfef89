"""The least PyTorch that does the same as the models measured: what a careful person writes in an afternoon.

``nn.LSTM`` on packed sequences, a bare loop over ``nn.LSTMCell`` where the attention feeds back, and plain blocks
around ``F.scaled_dot_product_attention``; ``F.dropout`` and ``F.cross_entropy`` throughout. Each returns the summed
loss.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from dragoman.data.batch import Batch

PAD = 0


class BareLuong(nn.Module):
    """Two-layer bidirectional LSTM, two-layer LSTM decoder, Luong's general attention; input feeding or not."""

    def __init__(self, vocab: int, dim: int, dropout: float, *, feeding: bool) -> None:
        super().__init__()
        self.dropout, self.feeding, self.dim = dropout, feeding, dim
        self.source, self.target = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)
        self.encoder = nn.LSTM(dim, dim // 2, 2, batch_first=True, bidirectional=True, dropout=dropout)
        if feeding:
            self.lower, self.upper = nn.LSTMCell(2 * dim, dim), nn.LSTMCell(dim, dim)
        else:
            self.decoder = nn.LSTM(dim, dim, 2, batch_first=True, dropout=dropout)
        self.score = nn.Linear(dim, dim, bias=False)
        self.combine = nn.Linear(2 * dim, dim, bias=False)
        self.output = nn.Linear(dim, vocab)

    def forward(self, batch: Batch) -> Tensor:
        words = F.dropout(self.source(batch.source), self.dropout)
        packed = pack_padded_sequence(words, batch.source_lengths, batch_first=True, enforce_sorted=False)
        states, (h, c) = self.encoder(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True)
        h, c = (torch.cat([x[0::2], x[1::2]], -1) for x in (h, c))
        is_pad = torch.arange(memory.size(1)) >= batch.source_lengths[:, None]
        keys = self.score(memory)
        words = F.dropout(self.target(batch.inputs), self.dropout)
        if self.feeding:
            features = self._fed(words, h, c, keys, memory, is_pad)
        else:
            states, _ = self.decoder(words, (h, c))
            weights = torch.bmm(states, keys.transpose(1, 2)).masked_fill(is_pad[:, None], -1e9).softmax(-1)
            context = torch.bmm(weights.to(memory.dtype), memory)
            features = F.dropout(torch.tanh(self.combine(torch.cat([context, states], -1))), self.dropout)
        return _loss(self.output(features), batch)

    def _fed(self, words: Tensor, h: Tensor, c: Tensor, keys: Tensor, memory: Tensor, is_pad: Tensor) -> Tensor:
        (h1, h2), (c1, c2) = h, c
        fed = torch.zeros_like(h1)
        steps = []
        for word in words.unbind(1):
            h1, c1 = self.lower(torch.cat([word, fed], -1), (h1, c1))
            h2, c2 = self.upper(F.dropout(h1, self.dropout), (h2, c2))
            scores = torch.bmm(keys, h2.unsqueeze(-1).to(keys.dtype)).squeeze(-1)
            weights = scores.masked_fill(is_pad, -1e9).softmax(-1)
            context = torch.bmm(weights.unsqueeze(1).to(memory.dtype), memory).squeeze(1)
            fed = F.dropout(torch.tanh(self.combine(torch.cat([context, h2], -1))), self.dropout)
            steps.append(fed)
        return torch.stack(steps, 1)


class BareBlock(nn.Module):
    """A pre-norm Transformer block."""

    def __init__(self, dim: int, heads: int, inner: int, dropout: float, *, attends: bool) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm_self, self.qkv, self.out_self = nn.LayerNorm(dim), _map(dim, 3 * dim), _map(dim, dim)
        self.attends = attends
        if attends:
            self.norm_source, self.q = nn.LayerNorm(dim), _map(dim, dim)
            self.kv, self.out_source = _map(dim, 2 * dim), _map(dim, dim)
        self.norm_inner, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, inner), nn.Linear(inner, dim)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

    def forward(self, x: Tensor, memory: Tensor | None, is_real: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm_self(x)).chunk(3, -1)
        y = self._attend(q, k, v, None if self.attends else is_real, self.attends)
        x = x + F.dropout(self.out_self(y), self.dropout)
        if self.attends:
            k, v = self.kv(memory).chunk(2, -1)
            y = self._attend(self.q(self.norm_source(x)), k, v, is_real, False)
            x = x + F.dropout(self.out_source(y), self.dropout)
        return x + F.dropout(self.down(F.relu(self.up(self.norm_inner(x)))), self.dropout)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool) -> Tensor:
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal).transpose(1, 2).flatten(2)


class BareTransformer(nn.Module):
    """Pre-norm blocks, tied embeddings, dropout where Vaswani et al. have it."""

    places: Tensor

    def __init__(self, vocab: int, dim: int, heads: int, inner: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.dim, self.dropout = dim, dropout
        self.words = nn.Embedding(vocab, dim)
        nn.init.normal_(self.words.weight, std=dim**-0.5)
        self.encoder = nn.ModuleList(BareBlock(dim, heads, inner, dropout, attends=False) for _ in range(layers))
        self.decoder = nn.ModuleList(BareBlock(dim, heads, inner, dropout, attends=True) for _ in range(layers))
        self.norm_encoder, self.norm_decoder = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.bias = nn.Parameter(torch.zeros(vocab))
        angle = torch.arange(512)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
        self.register_buffer("places", torch.stack([angle.sin(), angle.cos()], -1).flatten(-2))

    def forward(self, batch: Batch) -> Tensor:
        is_real = (torch.arange(batch.source.size(1)) < batch.source_lengths[:, None])[:, None, None]
        x = self._embed(batch.source)
        for block in self.encoder:
            x = block(x, None, is_real)
        memory, y = self.norm_encoder(x), self._embed(batch.inputs)
        for block in self.decoder:
            y = block(y, memory, is_real)
        return _loss(F.linear(self.norm_decoder(y), self.words.weight, self.bias), batch)

    def _embed(self, tokens: Tensor) -> Tensor:
        return F.dropout(self.words(tokens) * self.dim**0.5 + self.places[: tokens.size(1)], self.dropout)


def _map(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


def _loss(scores: Tensor, batch: Batch) -> Tensor:
    return F.cross_entropy(scores.flatten(0, 1), batch.labels.flatten(), ignore_index=PAD, reduction="sum")
