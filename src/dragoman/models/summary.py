"""What a model is made of and what it costs, without making it: everything runs on torch's meta device."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import FlopCounterMode

from dragoman.config.schema import Config
from dragoman.models.build import build_model
from dragoman.models.protocol import Model
from dragoman.nn.noise import Noise

__all__ = ["Cost", "Part", "Summary", "summarize"]


@dataclass(frozen=True)
class Part:
    """One part of a model: where it is, what it is, and how many numbers it learns that no earlier part has counted."""

    name: str
    kind: str
    depth: int
    parameters: int


@dataclass(frozen=True)
class Cost:
    """What a sentence pair of `length` source and target pieces costs.

    FLOPs count a multiplication and an addition as two, in matrix products only, a target piece. Bytes are in fp32:
    what training must keep for the backward pass a target piece (before the output layer, which is worked through in
    chunks), and what decoding keeps of each source piece, of each target piece, and once.
    """

    length: int
    forward_flops: int
    training_flops: int
    training_bytes: int
    memory_bytes: int
    state_bytes: int
    state_growth_bytes: int


@dataclass(frozen=True)
class Summary:
    """A model on one page."""

    parts: tuple[Part, ...]
    parameters: int
    source_vocab: int
    target_vocab: int
    cost: Cost


def summarize(config: Config, length: int = 25) -> Summary:
    """The summary of the model a configuration describes, for vocabularies of the size it asks for."""
    vocab = config.tokenizer.size
    with torch.device("meta"):
        model = build_model(config.model, vocab, vocab)
    parts = tuple(_parts(model))
    return Summary(parts, sum(part.parameters for part in parts), vocab, vocab, _cost(model, length))


def _parts(model: nn.Module) -> list[Part]:
    """Parts in order, each weight counted where it is first met (tied weights are one weight)."""
    seen: set[int] = set()
    found: list[Part] = []
    for name, module in model.named_modules():
        own = 0
        for parameter in module.parameters(recurse=False):
            own += 0 if id(parameter) in seen else parameter.numel()
            seen.add(id(parameter))
        depth = name.count(".") + 1 if name else 0
        found.append(Part(name, type(module).__name__, depth, own))
    return found


def _cost(model: Model[Any, Any], length: int) -> Cost:
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
        training_flops=(forward.get_total_flops() + backward.get_total_flops()) // length,
        training_bytes=sum(kept.values()) // length,
        memory_bytes=(_bytes(twice) - _bytes(memory)) // length,
        state_bytes=_bytes(state),
        state_growth_bytes=_bytes(after) - _bytes(state),
    )


def _storage(x: Tensor) -> int:
    """What names the memory a tensor lies in; its views lie in the same."""
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
