"""Alignment functions of attention: global, hard, local-m and local-p. Each returns context and weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.nn import deferred_gradient
from dragoman.nn.attention.memory import Memory
from dragoman.nn.batches import Rows, at_least_float32, masked_softmax
from dragoman.nn.stateless_noise import Noise

ScoreCallable = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Alignment(Rows):
    """Attention weights of target steps over source positions.

    A local alignment stores its window only: `weights` then has one column per window position, and `first` is the
    source position of the first column (positions outside the sentence have weight zero).

    Shapes: weights [batch, *, tgt, src or window]; first, centre (local) and log_prob, entropy (hard) [batch, *, tgt]
    or None. For a Transformer * is layers, heads.
    """

    weights: Tensor
    first: Tensor | None = None
    centre: Tensor | None = None
    log_prob: Tensor | None = None
    entropy: Tensor | None = None

    def dense(self, src: int) -> Tensor:
        """One column per source position. Shapes: -> [batch, *, tgt, src]."""
        if self.first is None:
            return self.weights
        place = self.first.unsqueeze(-1) + torch.arange(self.weights.size(-1), device=self.weights.device)
        inside = (place >= 0) & (place < src)
        row = self.weights.new_zeros(*self.weights.shape[:-1], src)
        return row.scatter_add(-1, place.clamp(0, src - 1), self.weights * inside)

    def averaged(self, src: int) -> Tensor:
        """One matrix per sentence: the mean over layers and heads, if any. Shapes: -> [batch, tgt, src]."""
        weights = self.dense(src)
        return weights.flatten(1, -3).mean(1) if weights.dim() > 3 else weights

    def one_map(self, src: int, *, guided: bool = False) -> Tensor:
        """The matrix for word alignment. Shapes: -> [batch, tgt, src].

        For a Transformer: the mean over the heads of the penultimate layer, which aligns words best ([garg2019],
        section 4.1) and which other engines provide too. With `guided`, the first head of the last layer, for a model
        that was trained to align with it.
        """
        weights = self.dense(src)
        if weights.dim() <= 3:
            return weights
        return weights[:, -1, 0] if guided else weights[:, max(weights.size(1) - 2, 0)].mean(1)

    @staticmethod
    def join(steps: list[Alignment]) -> Alignment:
        """The alignments of consecutive steps as one. Shapes: each [batch, *, 1, …] -> [batch, *, len(steps), …]."""

        def along(dim: int, parts: list[Tensor | None]) -> Tensor | None:
            present = [part for part in parts if part is not None]
            return torch.cat(present, dim) if present else None

        return Alignment(
            torch.cat([step.weights for step in steps], -2),
            along(-1, [step.first for step in steps]),
            along(-1, [step.centre for step in steps]),
            along(-1, [step.log_prob for step in steps]),
            along(-1, [step.entropy for step in steps]),
        )


class Aligner(nn.Module, ABC):
    """Converts scores to attention weights and a context."""

    @abstractmethod
    def forward(
        self, score: ScoreCallable, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None
    ) -> tuple[Tensor, Alignment]:
        """Attend.

        Shapes: query [batch, tgt, query], positions [tgt] or [batch, tgt] (each step's number, from 0)
        -> context [batch, tgt, value], alignment. The global aligner also takes heads: [batch, heads, tgt, query].
        """


class GlobalAligner(Aligner):
    """a_t(s) = softmax_s(score), c_t = Σ_s a_t(s) h̄_s. Papers: [luong2015] (7), [bahdanau2015] (5)-(6)."""

    def forward(
        self, score: ScoreCallable, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None
    ) -> tuple[Tensor, Alignment]:
        weights = masked_softmax(score(query, memory.keys), memory.may_attend)  # [batch, *, tgt, src]
        return deferred_gradient.weighted_sum(weights, memory.values), Alignment(weights)


class HardAligner(Aligner):
    """Hard attention to one position, s_t ~ softmax(score). Paper: [xu2015] (8)-(9).

    With noise the position is sampled; without, it is the most likely one. Sampling has no gradient: `log_prob` and
    `entropy` are what REINFORCE needs ([williams1992], `training.losses`).
    """

    def __init__(self) -> None:
        super().__init__()
        self.site: int | None = None

    def forward(
        self, score: ScoreCallable, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None
    ) -> tuple[Tensor, Alignment]:
        soft = masked_softmax(score(query, memory.keys), memory.may_attend)  # [batch, tgt, src]
        place = soft.argmax(-1) if noise is None else self._draw(soft, positions, noise)  # [batch, tgt]
        return self.at(place, soft, memory)

    def at(self, place: Tensor, soft: Tensor, memory: Memory) -> tuple[Tensor, Alignment]:
        """Attend to given positions under the weights `soft`. Shapes: place [batch, tgt], soft [batch, tgt, src]."""
        context = deferred_gradient.take(memory.values, place.unsqueeze(-1)).squeeze(-2)  # [batch, tgt, value]
        tiny = torch.finfo(soft.dtype).tiny
        log_soft = soft.clamp_min(tiny).log()
        return context, Alignment(
            weights=F.one_hot(place, soft.size(-1)).to(soft.dtype),
            log_prob=log_soft.gather(-1, place.unsqueeze(-1)).squeeze(-1),
            entropy=-(soft * log_soft).sum(-1),
        )

    def _draw(self, soft: Tensor, positions: Tensor, noise: Noise) -> Tensor:
        """One position per step, by inverting the distribution. Shapes: [batch, tgt, src] -> [batch, tgt]."""
        assert self.site is not None, "number_sites() assigns the sites when a model is built"
        drawn = noise.uniform(self.site, positions.expand(soft.size(0), -1)).unsqueeze(-1)  # [batch, tgt, 1]
        cumulative = soft.detach().double().cumsum(-1)
        place = torch.searchsorted(cumulative, drawn * cumulative[..., -1:], right=True).squeeze(-1)
        last = (soft > 0).long().mul(torch.arange(soft.size(-1), device=soft.device)).amax(-1)
        return torch.minimum(place, last)


class _LocalAligner(Aligner):
    """Local attention to `window` positions around a centre. The window is gathered: the cost is independent of src."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def _windows(self, score: ScoreCallable, query: Tensor, memory: Memory, first: Tensor, last: Tensor) -> _Window:
        """Softmax over the real positions from first to last. Shapes: query [batch, tgt, dim]; others [batch, tgt]."""
        offsets = torch.arange(2 * self.window + 1, device=first.device)
        place = first.unsqueeze(-1) + offsets  # [batch, tgt, window]
        lengths = memory.lengths.view(-1, 1, 1)
        may_attend = (place >= 0) & (place < lengths) & (place <= last.unsqueeze(-1))
        inside = torch.minimum(place.clamp_min(0), lengths - 1)
        keys = deferred_gradient.take(memory.keys, inside)  # [batch, tgt, window, key]
        values = keys if memory.values is memory.keys else deferred_gradient.take(memory.values, inside)
        scores = score(query.unsqueeze(-2), keys).squeeze(-2)  # [batch, tgt, window]
        return _Window(masked_softmax(scores, may_attend), place, values)


@dataclass(frozen=True)
class _Window:
    """Shapes: weights, place [batch, tgt, window], values [batch, tgt, window, value]."""

    weights: Tensor
    place: Tensor
    values: Tensor

    def context(self, weights: Tensor) -> Tensor:
        """Shapes: [batch, tgt, window] -> [batch, tgt, value]."""
        return (weights.to(self.values.dtype).unsqueeze(-2) @ self.values).squeeze(-2)


class LocalMonotoneAligner(_LocalAligner):
    """local-m: softmax over [p_t − D, p_t + D] with p_t = t. Paper: [luong2015] (section 3.2).

    The window is clipped at the ends of the sentence. If a target position is more than D words past the
    end of its source, its window is empty: the weights and the context are then zero.
    """

    def forward(
        self, score: ScoreCallable, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None
    ) -> tuple[Tensor, Alignment]:
        centre = positions.expand(query.size(0), -1)  # [batch, tgt]
        first, last = centre - self.window, centre + self.window
        window = self._windows(score, query, memory, first, last)
        return window.context(window.weights), Alignment(
            window.weights, first, centre.to(torch.promote_types(query.dtype, torch.float32))
        )


class LocalPredictiveAligner(_LocalAligner):
    """local-p: a_t(s) = softmax over the window × exp(−(s − p_t)² / 2σ²), σ = D / 2. Paper: [luong2015] (9)-(10).

    p_t = S · σ(v_p^T tanh(W_p h_t)) is real, with S the sentence's own length; positions count from 0. The weights are
    not normalised again, so they need not sum to one. The position of the window has no gradient, the Gaussian has.
    """

    def __init__(self, window: int, query_size: int, hidden: int) -> None:
        super().__init__(window)
        self.W_p = nn.Parameter(torch.empty(hidden, query_size))
        self.v_p = nn.Parameter(torch.empty(hidden))
        nn.init.xavier_uniform_(self.W_p)
        nn.init.uniform_(self.v_p, -0.1, 0.1)

    def forward(
        self, score: ScoreCallable, query: Tensor, memory: Memory, positions: Tensor, noise: Noise | None
    ) -> tuple[Tensor, Alignment]:
        where = at_least_float32(F.linear(query, self.W_p).tanh() @ self.v_p).sigmoid()  # [batch, tgt]
        centre = memory.lengths.unsqueeze(-1) * where
        first = (centre.detach() - self.window).ceil().long()
        last = (centre.detach() + self.window).floor().long()
        window = self._windows(score, query, memory, first, last)
        sigma = self.window / 2
        gaussian = torch.exp(-((window.place - centre.unsqueeze(-1)) ** 2) / (2 * sigma**2))
        weights = window.weights * gaussian  # [batch, tgt, window]
        return window.context(weights), Alignment(weights, first, centre)
