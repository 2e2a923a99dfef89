"""Gradients of recurrent cells by distance."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from claims.measurement.samples import Samples
from dragoman.nn.recurrent import CELLS, Packing, run

LARGE = 6.0
"""Factor of the recurrent weights whose gradients explode: a spectral radius of about 3.5 instead of 0.58."""

_SMALLEST = 1e-300


def gradient_distance(
    seed: int, distances: tuple[int, ...] = (1, 4, 16, 64), sequences: int = 50, hidden: int = 64
) -> Samples:
    """Norm of the derivative of the last state, in a random direction, by the input some steps earlier.

    Initial weights, random inputs of unit variance, float64. ``rnn-large`` has recurrent weights multiplied by `LARGE`.
    """
    samples: Samples = {}
    steps = max(distances) + 1
    for name in ("rnn", "rnn-large", "gru-fused", "lstm"):
        draws = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            cell = CELLS[name.removesuffix("-large")](hidden, hidden).double()
        if name.endswith("-large"):
            with torch.no_grad():
                cell.U.mul_(LARGE)
        x = torch.randn(sequences, steps, hidden, generator=draws, dtype=torch.float64, requires_grad=True)
        direction = F.normalize(torch.randn(hidden, generator=draws, dtype=torch.float64), dim=0)
        _, state = run(cell, x, Packing.of(torch.full((sequences,), steps), steps, x.device))
        (state[0] @ direction).sum().backward()
        assert x.grad is not None
        norms = x.grad.norm(dim=-1).clamp_min(_SMALLEST)  # [sequences, steps]
        for distance in distances:
            samples[f"{name} {distance}"] = norms[:, steps - 1 - distance].tolist()
    return samples
