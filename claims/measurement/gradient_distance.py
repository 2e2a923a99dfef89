"""Gradients of recurrent cells by distance, and the largest training loss with and without clipping."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from claims.measurement.recall_task import SYMBOLS, RecallModel, recall_batch
from claims.measurement.samples import Samples
from dragoman.nn.recurrent import CELLS, Packing, run

LARGE = 6.0
"""Factor of the recurrent weights whose gradients explode: a spectral radius of about 3.5 instead of 0.58."""

_SMALLEST = 1e-300
_LARGEST = 1e6  # of a loss; also stands for a loss that is not finite


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


def clipping(seed: int, rounds: int = 5, updates: int = 150, lag: int = 32) -> Samples:
    """Largest loss of any update, in units of the loss of guessing, with and without clipping of the gradient.

    Plain recurrent cells whose recurrent weights are multiplied by `LARGE` learn delayed recall by SGD. Each round has
    other weights and sequences, the same for both conditions.
    """
    samples: Samples = {"clipped": [], "unclipped": []}
    for number in range(rounds):
        for name, norm in (("clipped", 1.0), ("unclipped", math.inf)):
            samples[name].append(_largest_loss(seed * 1000 + number, norm, updates, lag))
    return samples


def _largest_loss(seed: int, norm: float, updates: int, lag: int) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = RecallModel("rnn", 64, gain=LARGE)
    draws = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    largest = 0.0
    for _ in range(updates):
        inputs, answers = recall_batch(lag, 32, draws)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(inputs), answers)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), norm)
        optimizer.step()
        value = loss.item()
        largest = max(largest, min(value, _LARGEST) if math.isfinite(value) else _LARGEST)
    return largest / math.log(SYMBOLS)
