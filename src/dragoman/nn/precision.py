"""Which precision a computation runs in: products where autocast says, sums and exponentials in at least float32."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["at_least_float32", "compute_dtype"]


def compute_dtype(x: Tensor) -> torch.dtype:
    """The type that products of `x` run in: autocast's where it is on, its own otherwise."""
    kind = x.device.type
    if x.dtype == torch.float32 and torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return x.dtype


def at_least_float32(x: Tensor) -> Tensor:
    """The same numbers, half precision widened. Shapes: unchanged."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
