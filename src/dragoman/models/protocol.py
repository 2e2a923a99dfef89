"""What training, search, evaluation and serving know about a model: this page, and nothing else.

::

    memory = model.encode(source, lengths)            # once a sentence
    state = model.decoder.start(memory)
    step = model.decoder.step(tokens, state, memory)  # -> log_probs, state, alignment
    state = step.state.select(survivors)              # beam reordering is the state's business

    decoded = model.decoder(inputs, lengths, memory)  # every step at once, teacher-forced
    model.decoder.output(decoded.features)            # -> the same log_probs
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

from torch import Tensor, nn

from dragoman.nn.attention import Alignment
from dragoman.nn.noise import Noise, number_sites
from dragoman.nn.output import Output
from dragoman.nn.recurrent import CellState
from dragoman.nn.rows import Rows

__all__ = ["Decoded", "Decoder", "Encoded", "Encoder", "Model", "Step"]

MemoryT = TypeVar("MemoryT", bound=Rows)
StateT = TypeVar("StateT", bound=Rows)


@dataclass(frozen=True)
class Step(Generic[StateT]):
    """One decoding step. Shapes: log_probs [batch, vocab]; alignment (None where there is none to show) has tgt = 1."""

    log_probs: Tensor
    state: StateT
    alignment: Alignment | None


@dataclass(frozen=True)
class Decoded:
    """All steps, teacher-forced. Shapes: features [batch, tgt, dim]: what the output layer sees."""

    features: Tensor
    alignment: Alignment | None


@dataclass(frozen=True)
class Encoded(Rows):
    """What an encoder hands on.

    Shapes: states [batch, src, dim] in the order of the source, lengths [batch]. A recurrent encoder adds where its
    reading ended: final, one cell state a layer; summary [batch, dim], the top layer's end states joined like its
    states; and last, the end state of its last direction (←h_1 where it reads both ways, else the summary).
    """

    states: Tensor
    lengths: Tensor
    final: tuple[CellState, ...] = ()
    summary: Tensor | None = None
    last: Tensor | None = None


class Encoder(nn.Module, ABC):
    """The reader."""

    recompute = False
    """Whether inner values are computed again in the backward pass rather than kept; not every encoder can."""

    @abstractmethod
    def forward(self, source: Tensor, lengths: Tensor, noise: Noise | None) -> Encoded:
        """Shapes: source [batch, src], lengths [batch]."""


class Decoder(nn.Module, ABC, Generic[MemoryT, StateT]):
    """The writer."""

    output: Output
    longest: int | None = None
    """The most words it can write, the end among them, where it cannot write any number of them."""
    recompute = False
    """As for the encoder."""

    @abstractmethod
    def remember(self, encoded: Encoded) -> MemoryT:
        """What can be computed from the source alone, once a sentence: what the decoder will look at."""

    @abstractmethod
    def start(self, memory: MemoryT) -> StateT:
        """The state before the first word."""

    @abstractmethod
    def step(self, tokens: Tensor, state: StateT, memory: MemoryT, *, show: bool = True) -> Step[StateT]:
        """One word further; without `show` the alignment may be left out where it costs extra.

        Shapes: tokens [batch]: the word before the one to be predicted.
        """

    @abstractmethod
    def forward(
        self, inputs: Tensor, lengths: Tensor, memory: MemoryT, noise: Noise | None = None, *, show: bool = False
    ) -> Decoded:
        """Every step at once. `show` asks for the alignment also where it costs extra.

        Shapes: inputs [batch, tgt], lengths [batch].
        """


class Model(nn.Module, Generic[MemoryT, StateT]):
    """An encoder and a decoder. With a `Noise` they train (dropout, sampling); without, they are functions."""

    def __init__(self, encoder: Encoder, decoder: Decoder[MemoryT, StateT]) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        number_sites(self)

    def encode(self, source: Tensor, lengths: Tensor, noise: Noise | None = None) -> MemoryT:
        """What the decoder will look at, once a sentence. Shapes: source [batch, src], lengths [batch]."""
        return self.decoder.remember(self.encoder(source, lengths, noise))

    def recompute_layers(self) -> None:
        """From now on forget the inner values of layers that can compute them again in the backward pass."""
        for part in (self.encoder, self.decoder):
            part.recompute = True

    def forward(
        self,
        source: Tensor,
        source_lengths: Tensor,
        inputs: Tensor,
        target_lengths: Tensor,
        noise: Noise | None = None,
        *,
        show: bool = False,
    ) -> Decoded:
        """Encode and decode, teacher-forced. Shapes: source [batch, src], inputs [batch, tgt], lengths [batch]."""
        memory = self.encode(source, source_lengths, noise)
        decoded: Decoded = self.decoder(inputs, target_lengths, memory, noise, show=show)
        return decoded
