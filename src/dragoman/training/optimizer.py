"""Build the optimizer from the configuration."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from dragoman.config.training import TrainingConfig


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
