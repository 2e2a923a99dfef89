"""Build the optimizer; compute the learning rate of an update; average weights over updates."""

import math
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from dragoman.config.training import TrainingConfig
from dragoman.errors import BundleError


def _adam(kind: type[torch.optim.Adam]) -> Callable[[list[nn.Parameter], TrainingConfig], torch.optim.Optimizer]:
    def build(parameters: list[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
        return kind(
            parameters,
            lr=config.learning_rate,
            betas=(config.beta1, config.beta2),
            eps=config.epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )

    return build


def _adadelta(parameters: list[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    return torch.optim.Adadelta(
        parameters, lr=config.learning_rate, rho=config.rho, eps=config.epsilon, weight_decay=config.weight_decay
    )


def _sgd(parameters: list[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=config.learning_rate, weight_decay=config.weight_decay)


OPTIMIZERS: dict[str, Callable[[list[nn.Parameter], TrainingConfig], torch.optim.Optimizer]] = {
    "adam": _adam(torch.optim.Adam),
    "adamw": _adam(torch.optim.AdamW),
    "adadelta": _adadelta,
    "sgd": _sgd,
}


def build_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Build the optimizer of a configuration for the trainable parameters."""
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return OPTIMIZERS[config.optimizer](trainable, config)


def learning_rate(config: TrainingConfig, update: int) -> float:
    """The rate of update number `update`, counted from 1.

    A linear rise over `warmup_updates`, then: constant; inverse-sqrt, peak · √(warmup / update) [vaswani2017] (3);
    halving, as [sutskever2014] (section 3.4) and [luong2015] (section 4.1) do by epochs; or a cosine down to zero at
    `max_updates`.
    """
    warmup = config.warmup_updates
    if update < warmup:
        return config.learning_rate * update / warmup
    return config.learning_rate * _factor(config, update)


def _factor(config: TrainingConfig, update: int) -> float:
    if config.schedule == "inverse-sqrt":
        return math.sqrt(max(1, config.warmup_updates) / update)
    if config.schedule == "halving":
        halvings = 0 if update < config.halve_from else 1 + (update - config.halve_from) // config.halve_every
        return float(0.5**halvings)
    if config.schedule == "cosine":
        span = max(1, config.max_updates - config.warmup_updates)
        return 0.5 * (1.0 + math.cos(math.pi * min(1.0, (update - config.warmup_updates) / span)))
    return 1.0


class MovingAverage:
    """w̄ ← d·w̄ + (1 − d)·w after each update; d grows to `decay` by (1 + n) / (10 + n) after n updates."""

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
                "the checkpoints to average have different names or shapes of weights; name checkpoints of one run"
            )
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
        count += 1
    if not count:
        raise BundleError("there is no checkpoint to average; name at least one")
    return {name: (tensor / count).float() for name, tensor in total.items()}
