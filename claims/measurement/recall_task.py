"""Delayed recall: remember a symbol over random symbols. A task with exact answers for recurrent cells.

Paper: [hochreiter1997] (section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from claims.ledger.measures import REACHED
from claims.measurement.samples import Samples
from dragoman.nn.recurrent import CELLS, Packing, run

SYMBOLS = 8
"""Number of symbols to remember, and of symbols between them and the question."""

_QUESTION = 2 * SYMBOLS
_CHECK_EVERY = 50  # updates
_TEST = 256  # sequences
_HIDDEN = 64


class Start(NamedTuple):
    """Initial weights of a cell: the bias of a gate block, or an orthogonal recurrent matrix."""

    name: str
    gate: str = ""
    bias: float = 0.0
    is_orthogonal: bool = False


STARTS: dict[str, tuple[Start, ...]] = {
    "rnn": (Start("rnn-uniform"), Start("rnn-orthogonal", is_orthogonal=True)),
    "lstm": tuple(Start(f"lstm-bias-{bias}", "f", bias) for bias in (0, 1, 3)),
    "gru-fused": tuple(Start(f"gru-bias-{bias}", "z", bias) for bias in (0, 3)),
}
"""Starts of each cell. The biases are those of the gate that keeps the old state."""

RATES = (30, 100, 300, 1000, 3000)
"""Learning rates of the test of clipping, in thousandths."""


def recall_batch(lag: int, sequences: int, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return inputs and answers: a symbol, `lag` other symbols, the question. Shapes: [batch, lag + 2], [batch]."""
    answers = torch.randint(SYMBOLS, (sequences, 1), generator=draws)
    between = torch.randint(SYMBOLS, 2 * SYMBOLS, (sequences, lag), generator=draws)
    question = torch.full((sequences, 1), _QUESTION)
    return torch.cat([answers, between, question], 1), answers.squeeze(1)


class RecallModel(nn.Module):
    """One recurrent layer, and a linear classifier of its last state. Shapes: [batch, steps] -> [batch, symbols]."""

    def __init__(self, cell: str, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2 * SYMBOLS + 1, 16)
        self.cell = CELLS[cell](16, hidden)
        self.output = nn.Linear(hidden, SYMBOLS)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.embedding(inputs)  # [batch, steps, 16]
        packing = Packing.of(torch.full((inputs.size(0),), inputs.size(1)), inputs.size(1), inputs.device)
        _, state = run(self.cell, x, packing)
        scores: Tensor = self.output(state[0])
        return scores


def recall_reach(seed: int, lags: Sequence[int] = (16, 32, 64, 128), updates: int = 1500) -> Samples:
    """Share of right answers by cell, start and lag, after at most this number of updates by Adam.

    A cell has the share of its best start, ``any`` that of the best cell. A start is not tried at longer lags than the
    first that it does not learn; its share is 0 there.
    """
    samples: Samples = {}
    for cell, starts in STARTS.items():
        for start in starts:
            share = 1.0
            for lag in lags:
                share = _learned_share(cell, start, lag, seed, updates) if share >= REACHED else 0.0
                samples[f"{start.name} {lag}"] = [share]
        for lag in lags:
            samples[f"{cell} {lag}"] = [max(samples[f"{start.name} {lag}"][0] for start in starts)]
    for lag in lags:
        samples[f"any {lag}"] = [max(samples[f"{cell} {lag}"][0] for cell in STARTS)]
    return samples


def recall_model(cell: str, start: Start, seed: int) -> RecallModel:
    """Return a model with the initial weights of a start."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = RecallModel(cell, _HIDDEN)
        with torch.no_grad():
            if start.is_orthogonal:
                nn.init.orthogonal_(model.cell.U)
            if start.gate:
                first = model.cell.order.index(start.gate) * _HIDDEN
                model.cell.b[first : first + _HIDDEN] = start.bias
    return model


def _learned_share(cell: str, start: Start, lag: int, seed: int, updates: int) -> float:
    """Return the largest share of right answers of a training, which ends when the lag is learned."""
    model = recall_model(cell, start, seed)
    draws = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best = 0.0
    for update in range(1, updates + 1):
        _update(model, optimizer, recall_batch(lag, 32, draws), 1.0)
        if update % _CHECK_EVERY == 0:
            best = max(best, _accuracy(model, lag, draws))
            if best >= REACHED:
                break
    return best


def clipping_rates(seed: int, lag: int = 10, updates: int = 300, radius: float = 1.3) -> Samples:
    """Share of right answers after a training by SGD, by learning rate in thousandths, with and without clipping.

    Plain cells whose recurrent matrix has this spectral radius; the norm of clipped gradients is at most 1. Weights and
    sequences are the same for all rates and both conditions.
    """
    samples: Samples = {}
    for name, norm in (("clipped", 1.0), ("unclipped", math.inf)):
        for rate in RATES:
            samples[f"{name} {rate}"] = [_share_at_rate(seed, rate / 1000, norm, lag, updates, radius)]
    return samples


def _share_at_rate(seed: int, rate: float, norm: float, lag: int, updates: int, radius: float) -> float:
    model = recall_model("rnn", Start("radius"), seed)
    with torch.no_grad():
        model.cell.U.mul_(radius / torch.linalg.eigvals(model.cell.U).abs().max())
    draws = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(updates):
        _update(model, optimizer, recall_batch(lag, 32, draws), norm)
    return _accuracy(model, lag, draws)


def _update(model: RecallModel, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor], norm: float) -> None:
    inputs, answers = batch
    optimizer.zero_grad(set_to_none=True)
    F.cross_entropy(model(inputs), answers).backward()
    nn.utils.clip_grad_norm_(model.parameters(), norm)
    optimizer.step()


def _accuracy(model: RecallModel, lag: int, draws: torch.Generator) -> float:
    inputs, answers = recall_batch(lag, _TEST, draws)
    with torch.inference_mode():
        return float((model(inputs).argmax(-1) == answers).float().mean())
