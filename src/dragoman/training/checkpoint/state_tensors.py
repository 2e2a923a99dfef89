"""Gather weights and optimizer state, sharded or not, as complete tensors by name, and load them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor


def gather_weights(model: nn.Module, *, keep: bool = True) -> dict[str, Tensor]:
    """The weights of a model by name, tied ones once.

    If they are sharded, all ranks must call this. Ranks that do not `keep` the result hold one tensor at a time.
    """
    return gather_tensors(_named(model), keep=keep)


def gather_tensors(tensors: Mapping[str, Tensor], *, keep: bool) -> dict[str, Tensor]:
    """Copy tensors to the host, one at a time; gather sharded ones."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if keep or isinstance(tensor, DTensor):
            gathered = gather_tensor(tensor)
            if keep:
                found[name] = gathered
    return found


def gather_tensor(tensor: Tensor) -> Tensor:
    """Copy a tensor to the host; gather it if it is sharded."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).cpu().contiguous()


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights from `gather_weights` into a model of the same shape."""
    load_tensors(_named(model), weights)


def load_tensors(into: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Copy complete tensors into tensors of the same names and shapes, sharded or not."""
    assert into.keys() == tensors.keys(), sorted(into.keys() ^ tensors.keys())
    with torch.no_grad():
        for name, tensor in into.items():
            tensor.copy_(_placed_like(tensor, tensors[name]))


def gather_optimizer_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, *, keep: bool = True
) -> dict[str, Tensor]:
    """The state of an optimizer by ``<state>/<parameter>``. If it is sharded, all ranks must call this."""
    tensors = {
        f"{key}/{name}": value
        for name, parameter in model.named_parameters()
        for key, value in sorted(optimizer.state.get(parameter, {}).items())
    }
    return gather_tensors(tensors, keep=keep)


def load_optimizer_state(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Load the tensors of `gather_optimizer_state` into an optimizer."""
    state: dict[int, dict[str, Tensor]] = {}
    indices = {id(p): n for n, p in enumerate(p for group in optimizer.param_groups for p in group["params"])}
    parameters = dict(model.named_parameters())
    for path, value in tensors.items():
        key, name = path.split("/", 1)
        parameter = parameters[name]
        entry = state.setdefault(indices[id(parameter)], {})
        entry[key] = _placed_like(parameter, value) if value.shape == parameter.shape else value.clone()
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _named(model: nn.Module) -> dict[str, Tensor]:
    saved = model.state_dict().keys()
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in saved}
    return {**dict(model.named_parameters()), **buffers}


def _placed_like(tensor: Tensor, values: Tensor) -> Tensor:
    """The values on the device, and with the sharding, of `tensor`."""
    values = values.to(tensor.device)
    if isinstance(tensor, DTensor):
        return distribute_tensor(values, tensor.device_mesh, tensor.placements)
    return values.clone()
