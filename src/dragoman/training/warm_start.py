"""Start from a saved model: copy its weights, add rows for new tokens, freeze parameters, or train LoRA factors."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parametrize

from dragoman.bundle import Bundle
from dragoman.config import ModelConfig
from dragoman.config.training import LoraConfig, TrainingConfig
from dragoman.data.preparation.start_bundle import check_same_model
from dragoman.errors import ConfigError
from dragoman.nn.embedding import Embedding, LearnedPositions, Output
from dragoman.text import Tokenizer, token_segmenter

_ROWS_OF = {
    "encoder.embedding.weight": "source",
    "decoder.embedding.weight": "target",
    "decoder.output.weight": "target",
    "decoder.output.bias": "target",
}
"""Parameters with one row per token, and the side of these tokens."""

_FIX = "use the [model] section of the bundle's dragoman.toml"


@dataclass(frozen=True)
class WarmStartReport:
    """Number of copied weights, and of new tokens per side."""

    copied: int
    new_tokens: dict[str, int]


def copy_bundle_weights(
    bundle: Bundle, tokenizers: Mapping[str, Tokenizer], model: nn.Module, config: ModelConfig
) -> WarmStartReport:
    """Copy the weights of a bundle; a new token has the mean of the rows of the old tokens that spell it."""
    check_same_model(bundle, config)
    cuts = {side: _new_tokens(bundle, side, tokenizers[side]) for side in ("source", "target")}
    weights, parameters = bundle.weights(), _own(model)
    if differ := weights.keys() ^ parameters.keys():
        name = min(differ)
        having, lacking = ("the bundle", "the model") if name in weights else ("the model", "the bundle")
        raise ConfigError(f"{having} has the parameter {name}, which {lacking} does not have ({bundle.folder}); {_FIX}")
    for name, parameter in parameters.items():
        _copy(name, weights[name], parameter, cuts.get(_ROWS_OF.get(name, ""), []))
    new_tokens = {side: len(cut) for side, cut in cuts.items()}
    return WarmStartReport(sum(array.size for array in weights.values()), new_tokens)


def _new_tokens(bundle: Bundle, side: str, tokenizer: Tokenizer) -> list[list[int]]:
    """The ids into which the bundle's tokenizer splits each new token; all others must keep their ids."""
    old = bundle.tokenizers()[side]
    if old.kind != tokenizer.kind or old.size > tokenizer.size:
        raise _other_tokens(bundle, side, f"{tokenizer.size:,} of a {tokenizer.kind} tokenizer")
    for number in range(old.size):
        if old.id_to_token(number) != tokenizer.id_to_token(number):
            raise _other_tokens(bundle, side, f"{tokenizer.id_to_token(number)!r} with the number {number}")
    cut = token_segmenter(old)
    return [cut(tokenizer.id_to_token(number)) for number in range(old.size, tokenizer.size)]


def _other_tokens(bundle: Bundle, side: str, got: str) -> ConfigError:
    return ConfigError(
        f"the {side} tokens must begin with those of {bundle.folder}, got {got}; run dragoman prepare with this "
        "start.bundle"
    )


def _own(model: nn.Module) -> dict[str, Tensor]:
    """Parameters, a tied one once, and persistent buffers of a model."""
    saved = model.state_dict().keys()
    return {**dict(model.named_parameters()), **{name: each for name, each in model.named_buffers() if name in saved}}


@torch.no_grad()
def _copy(name: str, array: NDArray[np.float32], parameter: Tensor, new_tokens: Sequence[Sequence[int]]) -> None:
    old = torch.from_numpy(array)
    rows = old.size(0) if old.dim() else 0
    expected = (rows + len(new_tokens), *old.shape[1:]) if new_tokens else tuple(old.shape)
    if tuple(parameter.shape) != expected:
        raise ConfigError(
            f"the model's {name} must have the shape {expected} to take the bundle's weights, got "
            f"{tuple(parameter.shape)}; {_FIX}"
        )
    if not new_tokens:
        parameter.copy_(old)
        return
    parameter[:rows].copy_(old)
    parameter[rows:].copy_(torch.stack([old[list(ids)].mean(0) for ids in new_tokens]))


def freeze(model: nn.Module, patterns: Sequence[str]) -> list[str]:
    """Freeze the parameters of which a name (a tied one has several) matches a pattern; return their first names."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    for pattern in patterns:
        _check_pattern(pattern, [name for several in names.values() for name in several])
    frozen = [
        parameter
        for parameter, several in names.items()
        if any(fnmatchcase(name, pattern) for name in several for pattern in patterns)
    ]
    if len(frozen) == len(names):
        raise ConfigError(
            f"training.freeze must leave a trainable parameter, got patterns that match all {len(names)} parameters: "
            f"{', '.join(patterns)}; leave one out"
        )
    for parameter in frozen:
        parameter.requires_grad_(False)
    return [names[parameter][0] for parameter in frozen]


def _check_pattern(pattern: str, names: Sequence[str]) -> None:
    if any(fnmatchcase(name, pattern) for name in names):
        return
    parts = {".".join(name.split(".")[:depth]) + ".*" for name in names for depth in range(1, name.count(".") + 1)}
    near = get_close_matches(pattern, sorted({*names, *parts}), n=3, cutoff=0.5) or sorted({*names})[:3]
    raise ConfigError(
        f"training.freeze must hold patterns that match a parameter's name, got {pattern!r}; try for instance "
        f"{', '.join(near)}"
    )


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
