"""Weights and optimizer state as plain, whole tensors by name, however they lie in memory; and back again."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

__all__ = [
    "load_optimizer",
    "load_tensors",
    "load_weights",
    "optimizer_tensors",
    "weights_of",
    "whole",
    "whole_tensors",
]


def weights_of(model: nn.Module, *, keep: bool = True) -> dict[str, Tensor]:
    """The weights of a model, tied ones once.

    Where they are sharded all processes must ask together; those that do not `keep` the answer hold one at a time.
    """
    return whole_tensors(_named(model), keep=keep)


def whole_tensors(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Tensors on the host, gathered where they are divided, one after the other."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if keep or isinstance(tensor, DTensor):
            gathered = whole(tensor)
            if keep:
                found[name] = gathered
    return found


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights from `weights_of` into a model of the same shape."""
    load_tensors(_named(model), weights)


def load_tensors(mine: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> None:
    """Copy whole tensors into others of the same names and shapes, however those lie in memory."""
    assert mine.keys() == others.keys(), sorted(mine.keys() ^ others.keys())
    with torch.no_grad():
        for name, tensor in mine.items():
            tensor.copy_(_like(tensor, others[name]))


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer, *, keep: bool = True) -> dict[str, Tensor]:
    """What an optimizer remembers, as ``<state>/<parameter>``; together, like `weights_of`."""
    tensors = {
        f"{key}/{name}": value
        for name, parameter in model.named_parameters()
        for key, value in sorted(optimizer.state.get(parameter, {}).items())
    }
    return whole_tensors(tensors, keep=keep)


def load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimizer the memory of another one, from `optimizer_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    numbers = {id(p): n for n, p in enumerate(p for group in optimizer.param_groups for p in group["params"])}
    parameters = dict(model.named_parameters())
    for place, value in tensors.items():
        key, name = place.split("/", 1)
        parameter = parameters[name]
        known = state.setdefault(numbers[id(parameter)], {})
        known[key] = _like(parameter, value) if value.shape == parameter.shape else value.clone()
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _named(model: nn.Module) -> dict[str, Tensor]:
    saved = model.state_dict().keys()
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in saved}
    return {**dict(model.named_parameters()), **buffers}


def whole(tensor: Tensor) -> Tensor:
    """A tensor on the host, gathered where it is divided."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).cpu().contiguous()


def _like(tensor: Tensor, numbers: Tensor) -> Tensor:
    """The same numbers laid out, and placed, as `tensor` is."""
    numbers = numbers.to(tensor.device)
    if isinstance(tensor, DTensor):
        return distribute_tensor(numbers, tensor.device_mesh, tensor.placements)
    return numbers.clone()
