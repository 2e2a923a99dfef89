"""Compute the number of parameters and the cost of a model without allocating its weights."""

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from dragoman.config.schema import Config
from dragoman.models.base import Model
from dragoman.models.build import build_model
from dragoman.nn.stateless_noise import Noise


@dataclass(frozen=True)
class ModelPart:
    """One module of a model: name, class, depth and number of parameters that no earlier module shares."""

    name: str
    kind: str
    depth: int
    parameters: int


@dataclass(frozen=True)
class Cost:
    """The cost of a sentence pair of `length` source and target tokens.

    FLOPs per target token, of matrix products only; a multiplication and an addition count as two. Bytes in fp32:
    activations for the backward pass per target token (without the output layer, which is processed in chunks), and
    decoding memory per source token (`memory_bytes`), per target token (`state_growth_bytes`) and constant.
    """

    length: int
    forward_flops: int
    training_flops: int
    training_bytes: int
    memory_bytes: int
    state_bytes: int
    state_growth_bytes: int


@dataclass(frozen=True)
class ModelSummary:
    """Summary of a model."""

    parts: tuple[ModelPart, ...]
    parameters: int
    source_vocab: int
    target_vocab: int
    cost: Cost


def summarize(config: Config, length: int = 25) -> ModelSummary:
    """Summarize the model of a configuration, with the configured vocabulary size."""
    vocab = config.tokenizer.size
    with torch.device("meta"):
        model = build_model(config.model, vocab, vocab)
    parts = tuple(_parts(model))
    cost = _cost(model, length, masks=2 if config.training.r_drop else 1)
    return ModelSummary(parts, sum(part.parameters for part in parts), vocab, vocab, cost)


def _parts(model: nn.Module) -> list[ModelPart]:
    """Modules in order; a tied weight is counted once, in the first module that has it."""
    seen: set[int] = set()
    found: list[ModelPart] = []
    for name, module in model.named_modules():
        own = 0
        for parameter in module.parameters(recurse=False):
            own += 0 if id(parameter) in seen else parameter.numel()
            seen.add(id(parameter))
        depth = name.count(".") + 1 if name else 0
        found.append(ModelPart(name, type(module).__name__, depth, own))
    return found


def _cost(model: Model[Any, Any], length: int, masks: int) -> Cost:
    tokens = torch.zeros(1, length, dtype=torch.long, device="meta")
    lengths = torch.tensor([length])
    noise = Noise.of(1, 1, torch.zeros(1, dtype=torch.long, device="meta"))
    own = {_storage(parameter) for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        if _storage(x) not in own:
            kept[_storage(x)] = x.untyped_storage().nbytes()
        return x

    with FlopCounterMode(display=False) as forward, saved_tensors_hooks(keep, lambda x: x):
        decoded = model(tokens, lengths, tokens, lengths, noise)
        scores = model.decoder.output.weight @ decoded.features.mT  # [1, vocab, length]
    with FlopCounterMode(display=False) as backward:
        scores.sum().backward()
    with torch.no_grad():
        memory = model.encode(tokens, lengths)
        twice = model.encode(torch.cat([tokens, tokens], 1), 2 * lengths)
        state = model.decoder.start(memory)
        after = model.decoder.step(tokens[:, 0], state, memory).state
    return Cost(
        length=length,
        forward_flops=forward.get_total_flops() // length,
        training_flops=masks * (forward.get_total_flops() + backward.get_total_flops()) // length,
        training_bytes=masks * sum(kept.values()) // length,
        memory_bytes=(_bytes(twice) - _bytes(memory)) // length,
        state_bytes=_bytes(state),
        state_growth_bytes=_bytes(after) - _bytes(state),
    )


def _storage(x: Tensor) -> int:
    """Identifier of the storage of a tensor; views have the same."""
    return x.untyped_storage()._cdata  # noqa: SLF001 -- on the meta device there is no address


def _bytes(value: object, seen: set[int] | None = None) -> int:
    """The bytes of the distinct tensors in a row-wise value."""
    seen = set() if seen is None else seen
    if isinstance(value, Tensor):
        if id(value) in seen:
            return 0
        seen.add(id(value))
        return value.numel() * value.element_size()
    if isinstance(value, tuple):
        return sum(_bytes(item, seen) for item in value)
    if is_dataclass(value):
        return sum(_bytes(getattr(value, field.name), seen) for field in fields(value))
    return 0
