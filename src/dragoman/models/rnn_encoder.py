"""Recurrent encoder, and structured self-attention over its states. Paper: [lin2017]."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.config.rnn import RnnConfig
from dragoman.models.base import Encoded, Encoder
from dragoman.nn.batches import is_real, masked_softmax, reverse_real
from dragoman.nn.embedding import Embedding
from dragoman.nn.recurrent import CELLS, CellState, Packing, run
from dragoman.nn.stateless_noise import Dropout, Noise


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


class Ends(NamedTuple):
    """The final states of one layer, as in `Encoded`."""

    final: CellState
    summary: Tensor
    last: Tensor


class BiLayer(nn.Module):
    """One or two directions. [schuster1997] (II.B). Shapes: [batch, src, inputs] -> [batch, src, hidden]."""

    def __init__(self, cell: str, inputs: int, hidden: int, *, bidirectional: bool, join: str) -> None:
        super().__init__()
        each = hidden // 2 if bidirectional and join == "concat" else hidden
        self.left = CELLS[cell](inputs, each)
        self.right = CELLS[cell](inputs, each) if bidirectional else None
        self.join = nn.Linear(2 * hidden, hidden) if bidirectional and join == "linear" else None

    def forward(self, x: Tensor, packing: Packing) -> tuple[Tensor, Ends]:
        """States and final states."""
        states, final = run(self.left, x, packing)
        if self.right is None:
            return states, Ends(final, final[0], final[0])
        from_right, final_right = run(self.right, x, packing, backwards=True)
        joined = torch.cat([states, from_right], -1)
        both = tuple(torch.cat(pair, -1) for pair in zip(final, final_right, strict=True))
        if self.join is None:
            return joined, Ends(both, both[0], final_right[0])
        return self.join(joined), Ends(both, self.join(both[0]).to(both[0].dtype), final_right[0])


class RnnEncoder(Encoder):
    """Embedding, `BiLayer`s, structured self-attention; states are in the order of the source, reversed or not."""

    def __init__(self, config: RnnConfig, embedding: Embedding) -> None:
        super().__init__()
        shape = config.encoder
        self.embedding = embedding
        self.reverse = config.reverse_source
        self.dropout = nn.ModuleList(Dropout(config.dropout) for _ in range(shape.layers - 1))
        self.layers = nn.ModuleList(
            BiLayer(
                shape.cell,
                shape.hidden if layer else config.embedding,
                shape.hidden,
                bidirectional=shape.bidirectional,
                join=shape.join,
            )
            for layer in range(shape.layers)
        )
        hidden = shape.structured_hidden or shape.hidden
        self.structured = (
            StructuredAttention(shape.hidden, hidden, shape.structured_rows) if shape.structured_rows else None
        )

    def forward(self, source: Tensor, lengths: Tensor, noise: Noise | None) -> Encoded:
        x = self.embedding(reverse_real(source, lengths) if self.reverse else source, noise)
        packing = Packing.of(lengths, source.size(1), source.device)
        ends: list[Ends] = []
        for number, layer in enumerate(self.layers):
            if number:
                x = self.dropout[number - 1](x, noise)
            x, end = layer(x, packing)
            ends.append(end)
        states = reverse_real(x, lengths) if self.reverse else x  # [batch, src, hidden]
        final, top = tuple(end.final for end in ends), ends[-1]
        words = Encoded(states, lengths, final, top.summary, top.last)
        if self.structured is None:
            return words
        rows, weights = self.structured(states, lengths)
        return Encoded(rows, torch.full_like(lengths, rows.size(1)), final, top.summary, top.last, weights, words)
