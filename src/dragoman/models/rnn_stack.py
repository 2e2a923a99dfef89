"""What the recurrent decoders have in common: layers of cells, their first state, and the state between steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from dragoman.config.schema import RnnConfig
from dragoman.nn import loop
from dragoman.nn.attention import Memory
from dragoman.nn.noise import Dropout, Noise
from dragoman.nn.recurrent import CELLS, Cell, CellState, Packing, run
from dragoman.nn.rows import Rows

__all__ = ["CellStack", "RnnMemory", "RnnState", "Start", "by_step", "stacked"]


@dataclass(frozen=True)
class RnnMemory(Rows):
    """What a recurrent decoder keeps of the source.

    Shapes: attended (None without attention); first: the cell state each layer starts from, each tensor
    [batch, hidden]; summary [batch, dim]: the vector that enters every step (None where none does).
    """

    attended: Memory | None
    first: tuple[CellState, ...]
    summary: Tensor | None = None


@dataclass(frozen=True)
class RnnState(Rows):
    """Between two steps.

    Shapes: layers: one cell state a layer, each tensor [batch, hidden]; fed [batch, hidden]: the attentional state
    handed on by input feeding (None without it); position [batch]: how many words have been written.
    """

    layers: tuple[CellState, ...]
    position: Tensor
    fed: Tensor | None = None

    @classmethod
    def first(cls, memory: RnnMemory) -> RnnState:
        """Before the first word."""
        h = memory.first[-1][0]
        return cls(memory.first, torch.zeros(h.size(0), dtype=torch.long, device=h.device))


class Start(nn.Module):
    """The decoder's first state: the encoder's last, or tanh of a learnt map of one vector of the encoder's.

    For attending decoders that vector is where the encoder's reading ended: s_0 = tanh(W_s ←h_1), or h_S for ←h_1 where
    it reads one way. Paper: [bahdanau2015] (appendix A.2.2). For the others it is all they will know of the source.
    """

    def __init__(self, config: RnnConfig, size: int) -> None:
        super().__init__()
        decoder = config.decoder
        self.parts = CELLS[decoder.cell].parts
        self.layers = decoder.layers
        wanted = decoder.layers * self.parts * decoder.hidden
        self.W_s = nn.Linear(size, wanted) if decoder.start == "project" else None

    def forward(self, vector: Tensor, final: tuple[CellState, ...]) -> tuple[CellState, ...]:
        """Shapes: vector [batch, size], final one cell state a layer -> one cell state a layer."""
        if self.W_s is None:
            return final
        flat = self.W_s(vector).to(vector.dtype).tanh().chunk(self.layers * self.parts, dim=-1)
        return tuple(flat[n : n + self.parts] for n in range(0, len(flat), self.parts))


class CellStack(nn.Module):
    """Layers of cells of a decoder, with dropout between them. The lowest takes several inputs side by side."""

    def __init__(self, config: RnnConfig, inputs: Sequence[int]) -> None:
        super().__init__()
        shape = config.decoder
        self.sizes = list(inputs)
        cell = CELLS[shape.cell]
        cells = [cell(shape.hidden if layer else sum(inputs), shape.hidden) for layer in range(shape.layers)]
        self.cells = cast("list[Cell]", nn.ModuleList(cells))
        self.dropout = cast("list[Dropout]", nn.ModuleList(Dropout(config.dropout) for _ in cells[1:]))

    def run(self, x: Tensor, lengths: Tensor, start: tuple[CellState, ...], noise: Noise | None) -> Tensor:
        """Every step at once, where none feeds the next. Shapes: [batch, tgt, inputs] -> [batch, tgt, hidden]."""
        packing = Packing.of(lengths, x.size(1), x.device)
        for number, cell in enumerate(self.cells):
            if number:
                x = self.dropout[number - 1](x, noise)
            x, _ = run(cell, x, packing, start[number])
        return x

    def loop(self, hoisted: Tensor, noise: Noise | None) -> StackLoop:
        """Ready for a loop, the first input's product done for all steps. Shapes: [batch, tgt, inputs[0]]."""
        return StackLoop(self, hoisted, noise)


class StackLoop:
    """A `CellStack` during one loop over target steps: everything that need not be done at every step is done here."""

    def __init__(self, stack: CellStack, hoisted: Tensor, noise: Noise | None) -> None:
        self.cells = list(stack.cells)
        lowest = self.cells[0]
        first, *rest = lowest.W.split(stack.sizes, dim=1)
        self.projected = nn.functional.linear(hoisted.transpose(0, 1), first, lowest.b).unbind(
            0
        )  # each [batch, gates * hidden]
        self.rest = [loop.defer(weight) for weight in rest]
        self.recurrent = [cell.recurrent() for cell in self.cells]
        self.upward = [loop.defer(cell.W) for cell in self.cells[1:]]
        shape = (hoisted.size(0), hoisted.size(1), lowest.hidden)
        masks = [dropout.mask(shape, noise, lowest.b.dtype) for dropout in stack.dropout]
        self.masks = [by_step(mask) for mask in masks]

    def step(self, number: int, others: Sequence[Tensor], state: tuple[CellState, ...]) -> tuple[CellState, ...]:
        """Step `number` of the loop; `others` are the inputs beside the hoisted one. Shapes: each [batch, its size]."""
        projected = self.projected[number]
        for x, weight in zip(others, self.rest, strict=True):
            projected = loop.linear(x, weight, projected)
        below = self.cells[0].step(projected, state[0], self.recurrent[0])
        new = [below]
        for layer in range(1, len(self.cells)):
            cell = self.cells[layer]
            mask = self.masks[layer - 1]
            h = below[0] if mask is None else below[0] * mask[number]
            below = cell.step(loop.linear(h, self.upward[layer - 1], cell.b), state[layer], self.recurrent[layer])
            new.append(below)
        return tuple(new)


def by_step(x: Tensor | None) -> tuple[Tensor, ...] | None:
    """One tensor a step. Shapes: [batch, tgt, dim] -> tgt of [batch, dim]."""
    return None if x is None else x.unbind(1)


def stacked(steps: list[Tensor]) -> Tensor:
    """The steps of a loop as one tensor. Shapes: each [batch, dim] -> [batch, tgt, dim]."""
    return torch.stack(steps, dim=1)
