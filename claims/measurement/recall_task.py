"""Delayed recall: remember a symbol over random symbols. A task with exact answers for recurrent cells.

Paper: [hochreiter1997] (section 5).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from claims.measurement.samples import Samples
from dragoman.nn.recurrent import CELLS, Packing, run

SYMBOLS = 8
"""Number of symbols to remember, and of symbols between them and the question."""

_QUESTION = 2 * SYMBOLS
_LEARNED = 0.9  # share of right answers
_CHECK_EVERY = 50  # updates
_TEST = 256  # sequences


def recall_batch(lag: int, sequences: int, draws: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return inputs and answers: a symbol, `lag` other symbols, the question. Shapes: [batch, lag + 2], [batch]."""
    answers = torch.randint(SYMBOLS, (sequences, 1), generator=draws)
    between = torch.randint(SYMBOLS, 2 * SYMBOLS, (sequences, lag), generator=draws)
    question = torch.full((sequences, 1), _QUESTION)
    return torch.cat([answers, between, question], 1), answers.squeeze(1)


class RecallModel(nn.Module):
    """One recurrent layer, and a linear classifier of its last state. Shapes: [batch, steps] -> [batch, symbols]."""

    def __init__(self, cell: str, hidden: int, *, gain: float = 1.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(2 * SYMBOLS + 1, 16)
        self.cell = CELLS[cell](16, hidden)
        self.output = nn.Linear(hidden, SYMBOLS)
        with torch.no_grad():
            self.cell.U.mul_(gain)

    def forward(self, inputs: Tensor) -> Tensor:
        x = self.embedding(inputs)  # [batch, steps, 16]
        packing = Packing.of(torch.full((inputs.size(0),), inputs.size(1)), inputs.size(1), inputs.device)
        _, state = run(self.cell, x, packing)
        scores: Tensor = self.output(state[0])
        return scores


def recall_lag(
    seed: int,
    cells: tuple[str, ...] = ("rnn", "gru-fused", "lstm"),
    lags: tuple[int, ...] = (4, 8, 16, 32, 64),
    updates: int = 400,
) -> Samples:
    """Longest lag that each cell learns within a number of updates; 2 if it learns none.

    Lags are tried in ascending order up to the first that is not learned. Each starts with new weights.
    """
    samples: Samples = {}
    for cell in cells:
        longest = 2
        for lag in lags:
            if not _learns(cell, lag, seed, updates):
                break
            longest = lag
        samples[cell] = [float(longest)]
    return samples


def _learns(cell: str, lag: int, seed: int, updates: int) -> bool:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = RecallModel(cell, 64)
    draws = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for update in range(1, updates + 1):
        inputs, answers = recall_batch(lag, 32, draws)
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(inputs), answers).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if update % _CHECK_EVERY == 0 and _accuracy(model, lag, draws) >= _LEARNED:
            return True
    return False


def _accuracy(model: RecallModel, lag: int, draws: torch.Generator) -> float:
    inputs, answers = recall_batch(lag, _TEST, draws)
    with torch.inference_mode():
        return float((model(inputs).argmax(-1) == answers).float().mean())
