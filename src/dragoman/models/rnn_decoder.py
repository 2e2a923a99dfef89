"""Recurrent decoders: cells, states, source memory; without attention by [sutskever2014], [cho2014]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from dragoman.config.rnn import RnnConfig
from dragoman.models.base import Decoded, Decoder, Encoded, Step
from dragoman.nn import deferred_gradient
from dragoman.nn.attention import Memory
from dragoman.nn.batches import Rows
from dragoman.nn.embedding import DeepOutput, Embedding, Output
from dragoman.nn.recurrent import CELLS, Cell, CellState, Packing, run
from dragoman.nn.stateless_noise import Dropout, Noise


@dataclass(frozen=True)
class RnnMemory(Rows):
    """The source memory of a recurrent decoder.

    Shapes: attended (None without attention); first: the initial cell state of each layer, each tensor
    [batch, hidden]; summary [batch, dim]: the vector that enters every step (None without it); structured
    [batch, rows, src]: the weights of structured self-attention (None without it).
    """

    attended: Memory | None
    first: tuple[CellState, ...]
    summary: Tensor | None = None
    structured: Tensor | None = None


@dataclass(frozen=True)
class RnnState(Rows):
    """The state of a recurrent decoder between two steps.

    Shapes: layers: one cell state per layer, each tensor [batch, hidden]; fed [batch, hidden]: the attentional state
    for input feeding (None without it); position [batch]: the number of words so far; context [batch, value]: the
    previous context, if it is part of the query (None otherwise).
    """

    layers: tuple[CellState, ...]
    position: Tensor
    fed: Tensor | None = None
    context: Tensor | None = None

    @classmethod
    def first(cls, memory: RnnMemory) -> RnnState:
        """The state before the first word."""
        h = memory.first[-1][0]
        return cls(memory.first, torch.zeros(h.size(0), dtype=torch.long, device=h.device))


class InitialState(nn.Module):
    """The initial state of a decoder: the final state of the encoder, or tanh of a linear map of an encoder vector.

    For decoders with attention, the vector is the last state of the encoder: s_0 = tanh(W_s ←h_1), or h_S for a
    unidirectional encoder. Paper: [bahdanau2015] (appendix A.2.2). Other decoders have no other input from the source.
    """

    def __init__(self, config: RnnConfig, size: int) -> None:
        super().__init__()
        decoder = config.decoder
        self.parts = CELLS[decoder.cell].parts
        self.layers = decoder.layers
        wanted = decoder.layers * self.parts * decoder.hidden
        self.W_s = nn.Linear(size, wanted) if decoder.start == "project" else None

    def forward(self, vector: Tensor, final: tuple[CellState, ...]) -> tuple[CellState, ...]:
        """Shapes: vector [batch, size], final one cell state per layer -> one cell state per layer."""
        if self.W_s is None:
            return final
        flat = self.W_s(vector).to(vector.dtype).tanh().chunk(self.layers * self.parts, dim=-1)
        return tuple(flat[n : n + self.parts] for n in range(0, len(flat), self.parts))


class CellStack(nn.Module):
    """Layers of cells of a decoder, with dropout between them. The lowest layer takes several concatenated inputs."""

    def __init__(self, config: RnnConfig, inputs: Sequence[int]) -> None:
        super().__init__()
        shape = config.decoder
        self.sizes = list(inputs)
        cell = CELLS[shape.cell]
        cells = [cell(shape.hidden if layer else sum(inputs), shape.hidden) for layer in range(shape.layers)]
        self.cells = cast("list[Cell]", nn.ModuleList(cells))
        self.dropout = cast("list[Dropout]", nn.ModuleList(Dropout(config.dropout) for _ in cells[1:]))

    def run(self, x: Tensor, lengths: Tensor, start: tuple[CellState, ...], noise: Noise | None) -> Tensor:
        """Every step at once, if no step feeds the next. Shapes: [batch, tgt, inputs] -> [batch, tgt, hidden]."""
        packing = Packing.of(lengths, x.size(1), x.device)
        for number, cell in enumerate(self.cells):
            if number:
                x = self.dropout[number - 1](x, noise)
            x, _ = run(cell, x, packing, start[number])
        return x

    def loop(self, hoisted: Tensor, noise: Noise | None) -> StackLoop:
        """Prepare a loop: the product of the first input is computed for all steps. Shapes: [batch, tgt, inputs[0]]."""
        return StackLoop(self, hoisted, noise)


class StackLoop:
    """A `CellStack` during one loop over target steps, with everything that does not depend on the step precomputed."""

    def __init__(self, stack: CellStack, hoisted: Tensor, noise: Noise | None) -> None:
        self.cells = list(stack.cells)
        lowest = self.cells[0]
        first, *rest = lowest.W.split(stack.sizes, dim=1)
        self.projected = nn.functional.linear(hoisted.transpose(0, 1), first, lowest.b).unbind(
            0
        )  # each [batch, gates * hidden]
        self.rest = [deferred_gradient.defer(weight) for weight in rest]
        self.recurrent = [cell.recurrent() for cell in self.cells]
        self.upward = [deferred_gradient.defer(cell.W) for cell in self.cells[1:]]
        shape = (hoisted.size(0), hoisted.size(1), lowest.hidden)
        masks = [dropout.mask(shape, noise, lowest.b.dtype) for dropout in stack.dropout]
        self.masks = [by_step(mask) for mask in masks]

    def step(self, number: int, others: Sequence[Tensor], state: tuple[CellState, ...]) -> tuple[CellState, ...]:
        """Step `number` of the loop; `others` are the inputs other than the first. Shapes: each [batch, its size]."""
        projected = self.projected[number]
        for x, weight in zip(others, self.rest, strict=True):
            projected = deferred_gradient.linear(x, weight, projected)
        below = self.cells[0].step(projected, state[0], self.recurrent[0])
        new = [below]
        for layer in range(1, len(self.cells)):
            cell = self.cells[layer]
            mask = self.masks[layer - 1]
            h = below[0] if mask is None else below[0] * mask[number]
            below = cell.step(
                deferred_gradient.linear(h, self.upward[layer - 1], cell.b), state[layer], self.recurrent[layer]
            )
            new.append(below)
        return tuple(new)


def by_step(x: Tensor | None) -> tuple[Tensor, ...] | None:
    """One tensor per step. Shapes: [batch, tgt, dim] -> tgt of [batch, dim]."""
    return None if x is None else x.unbind(1)


def stacked(steps: list[Tensor]) -> Tensor:
    """The steps of a loop as one tensor. Shapes: each [batch, dim] -> [batch, tgt, dim]."""
    return torch.stack(steps, dim=1)


class PlainDecoder(Decoder[RnnMemory, RnnState]):
    """h_t = f(h_{t-1}, y_{t-1}) from h_0 = c, or h_t = f(h_{t-1}, y_{t-1}, c).

    Papers: the first is [sutskever2014] (section 2), the second [cho2014] (section 2.2). In the second
    c = tanh(V h_S) enters every step, and the deep output too ([cho2014] appendix A).
    """

    def __init__(
        self, config: RnnConfig, embedding: Embedding, start: InitialState, deep: DeepOutput | None, output: Output
    ) -> None:
        super().__init__()
        every_step = config.decoder.context == "every-step"
        self.embedding = embedding
        self.begin = start
        self.V = nn.Linear(config.encoder.hidden, config.encoder.hidden) if every_step else None
        inputs = [config.embedding, config.encoder.hidden] if every_step else [config.embedding]
        self.stack = CellStack(config, inputs)
        self.deep = deep
        self.dropout = Dropout(config.dropout)
        self.output = output

    def make_memory(self, encoded: Encoded) -> RnnMemory:
        """The source vector is the final state of the encoder, or the only row of structured self-attention."""
        vector = encoded.summary if encoded.structured is None else encoded.states.squeeze(1)  # [batch, dim]
        assert vector is not None
        if self.V is None:
            return RnnMemory(None, self.begin(vector, encoded.final), structured=encoded.structured)
        summary = self.V(vector).to(vector.dtype).tanh()  # [batch, dim]
        return RnnMemory(None, self.begin(summary, encoded.final), summary, encoded.structured)

    def start(self, memory: RnnMemory) -> RnnState:
        return RnnState.first(memory)

    def step(
        self, tokens: Tensor, state: RnnState, memory: RnnMemory, *, return_attention: bool = True
    ) -> Step[RnnState]:
        words = self.embedding(tokens.unsqueeze(1), None)
        others = [] if memory.summary is None else [memory.summary]
        layers = self.stack.loop(words, None).step(0, others, state.layers)
        features = self._features(layers[-1][0].unsqueeze(1), words, memory, None)
        return Step(self.output(features.squeeze(1)), RnnState(layers, state.position + 1), None)

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor,
        memory: RnnMemory,
        noise: Noise | None = None,
        *,
        return_attention: bool = False,
    ) -> Decoded:
        words = self.embedding(inputs, noise)
        x = words
        if memory.summary is not None:
            x = torch.cat([words, memory.summary.unsqueeze(1).expand(-1, words.size(1), -1)], -1)
        states = self.stack.run(x, lengths, memory.first, noise)
        return Decoded(self._features(states, words, memory, noise), None, memory.structured)

    def _features(self, states: Tensor, words: Tensor, memory: RnnMemory, noise: Noise | None) -> Tensor:
        """Shapes: states [batch, tgt, hidden], words [batch, tgt, embedding] -> [batch, tgt, dim]."""
        if self.deep is not None:
            assert memory.summary is not None
            states = self.deep(states, words, memory.summary.unsqueeze(1))
        return self.dropout(states, noise)
