"""Choose the dtype of computations: matrix products follow autocast, sums and exponentials use float32 or more."""

import torch
from torch import Tensor


def compute_dtype(x: Tensor) -> torch.dtype:
    """The dtype of products of `x`: that of autocast if enabled, otherwise its own."""
    kind = x.device.type
    if x.dtype == torch.float32 and torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return torch.get_autocast_dtype(kind)
    return x.dtype


def at_least_float32(x: Tensor) -> Tensor:
    """Convert half precision to float32. Shapes: unchanged."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
