"""Interventions: change the attention weights of a trained model while it decodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.models.base import Model
from dragoman.models.transformer import TransformerDecoder
from dragoman.nn.attention import MultiHeadAttention
from dragoman.nn.attention.alignment import GlobalAligner

__all__ = ["INTERVENTIONS", "WeightEdit", "drop_top", "intervene", "keep_top", "shuffle", "uniform"]

WeightEdit = Callable[[Tensor], Tensor]
"""Shapes: [*, tgt, src] -> [*, tgt, src]; weights of padding are 0 and stay 0."""

_SEED = 1


def keep_top(count: int) -> WeightEdit:
    """Keep the largest weights of each target word, scaled to a sum of one; the others become 0."""

    def edit(weights: Tensor) -> Tensor:
        least = weights.topk(min(count, weights.size(-1)), -1).values[..., -1:]
        return _scaled(torch.where(weights >= least, weights, 0.0))

    return edit


def drop_top(count: int) -> WeightEdit:
    """Set the largest weights of each target word to 0, and scale the others to a sum of one.

    A row that would be empty is unchanged: a source of one token has nothing else to attend to.
    """

    def edit(weights: Tensor) -> Tensor:
        top = weights.topk(min(count, weights.size(-1)), -1).indices
        rest = weights.scatter(-1, top, 0.0)
        return torch.where(rest.sum(-1, keepdim=True) > 0, _scaled(rest), weights)

    return edit


def uniform() -> WeightEdit:
    """Give all source positions the same weight."""

    def edit(weights: Tensor) -> Tensor:
        return _scaled((weights > 0).to(weights.dtype))

    return edit


def shuffle(seed: int = _SEED) -> WeightEdit:
    """Assign the weights of each target word to its source positions in random order."""
    generator = torch.Generator().manual_seed(seed)

    def edit(weights: Tensor) -> Tensor:
        outside = (weights <= 0).to(torch.float32) * 2
        drawn = torch.rand(weights.shape, generator=generator).to(weights.device)
        positions = torch.linspace(0, 0.5, weights.size(-1), device=weights.device).expand_as(weights)
        source, target = (outside + drawn).argsort(-1), (outside + positions).argsort(-1)
        return torch.zeros_like(weights).scatter(-1, target, weights.gather(-1, source))

    return edit


INTERVENTIONS: dict[str, Callable[[], WeightEdit]] = {
    "keep-1": lambda: keep_top(1),
    "keep-2": lambda: keep_top(2),
    "keep-3": lambda: keep_top(3),
    "keep-5": lambda: keep_top(5),
    "drop-1": lambda: drop_top(1),
    "uniform": uniform,
    "shuffled": shuffle,
}
"""Interventions by the name of their search."""


@contextmanager
def intervene(model: Model[Any, Any], edit: WeightEdit) -> Iterator[None]:
    """Edit all attention weights between target and source while the block runs."""
    modules = _source_attention(model)
    if not modules:
        raise ConfigError(
            "a model must have global attention for an intervention, got one without; use alignment = global"
        )
    for module in modules:
        module.edit_weights = edit
    try:
        yield
    finally:
        for module in modules:
            module.edit_weights = None


def _source_attention(model: Model[Any, Any]) -> list[MultiHeadAttention | GlobalAligner]:
    decoder: nn.Module = model.decoder
    if isinstance(decoder, TransformerDecoder):
        return [layer.source_attention for layer in decoder.layers]
    return [module for module in decoder.modules() if isinstance(module, GlobalAligner)]


def _scaled(weights: Tensor) -> Tensor:
    total = weights.sum(-1, keepdim=True)
    return weights / total.clamp_min(torch.finfo(weights.dtype).tiny)
