"""Low-rank adaptation (LoRA): train two small factors per weight matrix while the weights of a model stay fixed."""

import math
from collections.abc import Iterator
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.config.training import LoraConfig, TrainingConfig
from dragoman.errors import ConfigError
from dragoman.nn.embedding import Embedding, Output
from dragoman.nn.positional_encoding import LearnedPositions
from dragoman.training.warm_start import freeze

_TABLES = (Embedding, LearnedPositions, Output)
"""Modules whose matrix has one row per token or position, often shared by several of them."""


class LoraFactors(nn.Module):
    """W′ = W + (alpha / rank) B A in float32, as when merged; first B = 0. Paper: [hu2022] (3). Shapes: [out, in]."""

    def __init__(self, weight: Tensor, config: LoraConfig) -> None:
        super().__init__()
        rows, columns = weight.shape
        self.scale = config.alpha / config.rank
        self.lora_A = nn.Parameter(torch.empty(config.rank, columns))
        self.lora_B = nn.Parameter(torch.zeros(rows, config.rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, weight: Tensor) -> Tensor:
        with torch.autocast(weight.device.type, enabled=False):
            return torch.addmm(weight, self.lora_B, self.lora_A, alpha=self.scale)

    def extra_repr(self) -> str:
        return f"rank={self.lora_A.size(0)}, scale={self.scale:g}"


def choose_trained(model: nn.Module, config: TrainingConfig) -> None:
    """Freeze what a configuration does not train, and add the factors of LoRA if it has some."""
    freeze(model, config.freeze)
    if config.lora is not None:
        add_lora(model, config.lora, seed=config.seed)


def add_lora(model: nn.Module, config: LoraConfig, *, seed: int) -> list[str]:
    """Freeze a model, add factors to the weight matrices that a pattern matches, and return the names of these."""
    found = dict(_matrices(model))
    for pattern in config.target_modules:
        if not any(fnmatchcase(name, pattern) for name in found):
            raise ConfigError(
                f"training.lora.target_modules must hold patterns that match a weight matrix, got {pattern!r}; try for "
                f"instance {', '.join(sorted(found)[:3])} or encoder.*"
            )
    model.requires_grad_(False)
    chosen = [name for name in found if any(fnmatchcase(name, pattern) for pattern in config.target_modules)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for name in chosen:
            weight = name.rpartition(".")[2]
            parametrize.register_parametrization(found[name], weight, LoraFactors(getattr(found[name], weight), config))
    return chosen


def _matrices(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield the names of weight matrices that are not embeddings, positions or the output layer, and their modules."""
    for path, module in model.named_modules():
        if isinstance(module, _TABLES):
            continue
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.dim() == 2:
                yield f"{path}.{name}", module
