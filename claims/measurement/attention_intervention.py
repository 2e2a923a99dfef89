"""Interventions: change the attention weights of a trained model while it decodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.models.base import Model
from dragoman.models.transformer import TransformerDecoder
from dragoman.nn import deferred_gradient
from dragoman.nn.attention import Alignment, MultiHeadAttention
from dragoman.nn.attention.alignment import GlobalAligner
from dragoman.nn.stateless_noise import Noise

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

    def edit_global(_: nn.Module, inputs: tuple[Any, ...], found: tuple[Tensor, Alignment]) -> tuple[Tensor, Alignment]:
        memory, weights = inputs[2], edit(found[1].weights)
        return deferred_gradient.weighted_sum(weights, memory.values), Alignment(weights)

    decoder: nn.Module = model.decoder
    with ExitStack() as stack:
        if isinstance(decoder, TransformerDecoder):
            for layer in decoder.layers:
                stack.callback(setattr, layer, "source_attention", layer.source_attention)
                layer.source_attention = EditedAttention(layer.source_attention, edit)
        elif aligners := [module for module in decoder.modules() if isinstance(module, GlobalAligner)]:
            for aligner in aligners:
                stack.callback(aligner.register_forward_hook(edit_global).remove)
        else:
            raise ConfigError("an intervention needs a model with global attention; use alignment = global")
        yield


class EditedAttention(MultiHeadAttention):
    """The attention of a trained layer between target and source, with edited weights; it shares the parameters."""

    def __init__(self, trained: MultiHeadAttention, edit: WeightEdit) -> None:
        with torch.device("meta"):
            super().__init__(trained.dim, trained.heads, trained.dropout.rate, bias=trained.b_qkv is not None)
        self.load_state_dict(trained.state_dict(), assign=True)
        self.dropout = trained.dropout
        self.edit = edit

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, may_attend: Tensor | None, is_causal: bool, noise: Noise | None
    ) -> Tensor:
        """Attend without torch's fused kernel, which returns no weights."""
        assert not is_causal, "attention between target and source"
        return self.attend_with_weights(q, k, v, may_attend=may_attend, noise=noise)[0]

    def attend_with_weights(
        self, q: Tensor, k: Tensor, v: Tensor, *, may_attend: Tensor | None, noise: Noise | None = None
    ) -> tuple[Tensor, Alignment]:
        """Attend with the edited weights."""
        _, found = super().attend_with_weights(q, k, v, may_attend=may_attend)
        weights = self.edit(found.weights)
        return self._join(self.dropout(weights, noise).to(v.dtype) @ v), Alignment(weights)


def _scaled(weights: Tensor) -> Tensor:
    total = weights.sum(-1, keepdim=True)
    return weights / total.clamp_min(torch.finfo(weights.dtype).tiny)
