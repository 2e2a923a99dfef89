"""Padded batches: padding mask, masked softmax, and reversal of each sequence."""

import torch
from torch import Tensor

from dragoman.nn.compute_dtype import at_least_float32


def is_real(lengths: Tensor, size: int) -> Tensor:
    """True where a position holds a token, False where it is padding. Shapes: [batch] -> [batch, size]."""
    return torch.arange(size, device=lengths.device) < lengths.unsqueeze(1)


def reverse_real(x: Tensor, lengths: Tensor) -> Tensor:
    """Each row with its real positions in reverse order; padding is unchanged. It is its own inverse.

    Shapes: x [batch, src, *], lengths [batch] -> [batch, src, *].
    """
    place = torch.arange(x.size(1), device=x.device).expand(x.size(0), -1)  # [batch, src]
    mirrored = lengths.to(x.device).unsqueeze(1) - 1 - place
    index = torch.where(mirrored >= 0, mirrored, place)
    return x.gather(1, index.view(*index.shape, *(1,) * (x.dim() - 2)).expand_as(x))


def masked_softmax(scores: Tensor, may_attend: Tensor) -> Tensor:
    """Softmax over the positions that may be attended to; zero elsewhere, and all zero in a row that has none.

    Shapes: scores [*, src], may_attend [*, src] (True: may be attended to) -> [*, src]. Computed in at least float32.
    """
    scores = at_least_float32(scores)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~may_attend, lowest).softmax(-1)
    return weights.masked_fill(~may_attend, 0.0)
