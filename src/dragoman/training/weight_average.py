"""Average model weights: moving average during training, or mean of several checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from dragoman.errors import BundleError


class MovingAverage:
    """Exponential moving average of a model's weights, w̄ ← d·w̄ + (1 − d)·w after each update.

    d grows from 0.1 to `decay`, (1 + n) / (10 + n) after n updates, so the random initial weights lose influence
    quickly.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._weights = list(model.parameters())
        self._mean = [weight.detach().clone() for weight in self._weights]
        self._names = [name for name, _ in model.named_parameters()]

    @torch.no_grad()
    def update(self, updates: int) -> None:
        """Add the weights after this number of updates."""
        average = get_ema_multi_avg_fn(min(self.decay, (1 + updates) / (10 + updates)))
        average(self._mean, [weight.detach() for weight in self._weights], updates)

    def named(self) -> dict[str, Tensor]:
        """The averages by parameter name; not copies, so they can be overwritten."""
        return dict(zip(self._names, self._mean, strict=True))


def mean_weights(models: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of the weights of models of one shape, loaded one at a time; sums are in float64."""
    total: dict[str, Tensor] = {}
    count = 0
    for weights in models:
        if total and {n: t.shape for n, t in total.items()} != {n: t.shape for n, t in weights.items()}:
            raise BundleError(
                "weights to average must be of one model, got other names or shapes; name checkpoints of one run"
            )
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
        count += 1
    if not count:
        raise BundleError("an average must be of one checkpoint at least, got none; name some")
    return {name: (tensor / count).float() for name, tensor in total.items()}
