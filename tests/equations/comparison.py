"""Two readings of one equation: the shipped code and the literal one must agree in values and in gradients.

::

    assert_agrees(
        cell,                                                  # its parameters are leaves, in float64
        {"x": x},                                              # so are these tensors
        lambda cell, given: {"states": cell(given["x"])},      # the shipped code, run in float64 and in float32
        lambda weights, given: {"states": literal(weights["W"], given["x"])},
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

ModuleT = TypeVar("ModuleT", bound=nn.Module)
Tensors = Mapping[str, Tensor]

TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
ROUNDINGS = 20
"""How many times as far off a float32 run may be as rounding its leaves takes it: it rounds every intermediate too."""


@dataclass(frozen=True)
class Evaluated:
    """What a function gave, and the gradient of a weighted sum of all of it with respect to every leaf."""

    values: dict[str, Tensor]
    gradients: dict[str, Tensor]


def evaluate(outputs: Tensors, leaves: Tensors) -> Evaluated:
    """Outputs and gradients. Elements of an output have unlike weights in the sum, so none can stand for another."""
    total = torch.zeros((), dtype=torch.float64)
    for number, output in enumerate(outputs.values()):
        probe = torch.cos(torch.arange(1, output.numel() + 1, dtype=torch.float64) * 0.7 + number).view(output.shape)
        total = total + (output.double() * probe).sum()
    if total.requires_grad:
        found = torch.autograd.grad(total, list(leaves.values()), allow_unused=True, materialize_grads=True)
    else:
        found = tuple(torch.zeros_like(leaf) for leaf in leaves.values())
    return Evaluated({name: output.detach() for name, output in outputs.items()}, dict(zip(leaves, found, strict=True)))


def assert_same(
    actual: Evaluated, expected: Evaluated, dtype: torch.dtype = torch.float64, nearby: Evaluated | None = None
) -> None:
    """Equal values and gradients: to 1e-9 where the shipped code ran in float64, to 1e-5 of the scale in float32.

    `nearby` is what float64 gives once the leaves are rounded to float32. Where that alone is a long way off (a layer
    norm of nearly equal numbers), the case is ill-conditioned, and float32 cannot do better.
    """
    for kind in ("values", "gradients"):
        ours, theirs = getattr(actual, kind), getattr(expected, kind)
        assert ours.keys() == theirs.keys()
        # In float32 rounding is relative to the largest numbers on the way, of which these are the nearest witnesses.
        widest = max((magnitude(tensor) for tensor in theirs.values()), default=1.0)
        shaken = 0.0
        if nearby is not None:
            shaken = max((distance(getattr(nearby, kind)[name], theirs[name]) for name in theirs), default=0.0)
        for name, wanted in theirs.items():
            scale = magnitude(wanted) if dtype == torch.float64 else widest
            allowed = TOLERANCE[dtype] * scale + ROUNDINGS * shaken
            assert_close(ours[name], wanted, allowed, f"{kind} of {name} in {dtype}")


def assert_close(actual: Tensor, wanted: Tensor, tolerance: float, what: str = "values") -> None:
    """Equal shapes, and no element further off than the tolerance; NaN is never close."""
    assert actual.shape == wanted.shape, f"{what}: shape {tuple(actual.shape)}, not {tuple(wanted.shape)}"
    if wanted.numel():
        off = distance(actual, wanted)
        assert off <= tolerance, f"{what}: off by {off:.3g}, allowed {tolerance:.3g}\n{actual}\nshould be\n{wanted}"


def distance(one: Tensor, other: Tensor) -> float:
    """The largest difference."""
    return float((one.detach().double() - other.detach().double()).abs().max()) if one.numel() else 0.0


def magnitude(tensor: Tensor) -> float:
    """The largest absolute value, or one if that is larger."""
    return max(1.0, float(tensor.detach().abs().max())) if tensor.numel() else 1.0


def assert_agrees(
    module: ModuleT,
    given: Tensors,
    shipped: Callable[[ModuleT, Tensors], Tensors],
    literal: Callable[[Tensors, Tensors], Tensors],
    *,
    also: Sequence[Callable[[ModuleT, Tensors], Tensors]] = (),
) -> None:
    """`shipped`, in float64 and in float32, equals `literal`: values, and gradients of `given` and of all parameters.

    `literal` is handed the parameters by name (a shared one by each of its names); `also` are further roads to the
    same. The module is used up: its weights are rounded to float32 in the end.
    """
    given, narrow_given = as_leaves(given, torch.float64), as_leaves(given, torch.float32)
    roads = (shipped, *also)

    def evaluated(road: Callable[[ModuleT, Tensors], Tensors], given: Tensors) -> Evaluated:
        return evaluate(road(module, given), {**parameters(module), **given})

    wanted = evaluate(literal(parameters(module), given), {**parameters(module), **given})
    for road in roads:
        assert_same(evaluated(road, given), wanted)
    module.float()
    narrow = [evaluated(road, narrow_given) for road in roads]
    module.double()
    nearby = evaluated(shipped, as_leaves(narrow_given, torch.float64))
    for found in narrow:
        assert_same(found, wanted, torch.float32, nearby)


def parameters(module: nn.Module) -> dict[str, Tensor]:
    """The parameters by name; one that is shared has several."""
    return dict(module.named_parameters(remove_duplicate=False))


def as_leaves(tensors: Tensors, dtype: torch.dtype) -> dict[str, Tensor]:
    """Copies that require a gradient."""
    return {name: tensor.detach().to(dtype, copy=True).requires_grad_() for name, tensor in tensors.items()}
