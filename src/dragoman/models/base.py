"""Protocol of translation models, used by training, search, evaluation and serving.

::

    memory = model.encode(source, lengths)            # once per sentence
    state = model.decoder.start(memory)
    step = model.decoder.step(tokens, state, memory)  # -> log_probs, state, alignment
    state = step.state.select(survivors)              # reorder hypotheses

    decoded = model.decoder(inputs, lengths, memory)  # every step at once, teacher-forced
    model.decoder.output(decoded.features)            # -> the same log_probs
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch
from dragoman.nn.attention import Alignment
from dragoman.nn.batches import Rows
from dragoman.nn.embedding import Output
from dragoman.nn.recurrent import CellState
from dragoman.nn.stateless_noise import Noise, number_sites
from dragoman.text import BOS_ID

MemoryT = TypeVar("MemoryT", bound=Rows)
StateT = TypeVar("StateT", bound=Rows)


@dataclass(frozen=True)
class Step(Generic[StateT]):
    """One decoding step. Shapes: log_probs [batch, vocab]; alignment (None without attention) has tgt = 1."""

    log_probs: Tensor
    state: StateT
    alignment: Alignment | None


@dataclass(frozen=True)
class Decoded:
    """All steps, teacher-forced. Shapes: features [batch, tgt, dim]: the input of the output layer."""

    features: Tensor
    alignment: Alignment | None
    structured: Tensor | None = None
    """The weights of structured self-attention. Shape: [batch, rows, src]; None without it."""


@dataclass(frozen=True)
class Encoded(Rows):
    """The output of an encoder.

    Shapes: states [batch, src, dim] in the order of the source, lengths [batch]. A recurrent encoder adds its final
    states: final, one cell state per layer; summary [batch, dim], the final states of the top layer, joined like its
    states; and last, the final state of its last direction (←h_1 if bidirectional, otherwise the summary).

    With structured self-attention, states and lengths are those of its rows, [batch, rows, dim], and structured are
    its weights [batch, rows, src]; words are the states of the source words, before it.
    """

    states: Tensor
    lengths: Tensor
    final: tuple[CellState, ...] = ()
    summary: Tensor | None = None
    last: Tensor | None = None
    structured: Tensor | None = None
    words: Encoded | None = None


class Encoder(nn.Module, ABC):
    """An encoder."""

    recompute = False
    """Whether activations are recomputed in the backward pass, if the encoder supports it."""

    @abstractmethod
    def forward(self, source: Tensor, lengths: Tensor, noise: Noise | None) -> Encoded:
        """Shapes: source [batch, src], lengths [batch]."""


class Decoder(nn.Module, ABC, Generic[MemoryT, StateT]):
    """A decoder."""

    output: Output
    longest: int | None = None
    """Maximum target length including the end; None if unlimited."""
    recompute = False
    """Like `Encoder.recompute`."""

    @abstractmethod
    def make_memory(self, encoded: Encoded) -> MemoryT:
        """Everything that depends only on the source, computed once per sentence."""

    @abstractmethod
    def start(self, memory: MemoryT) -> StateT:
        """The state before the first word."""

    @abstractmethod
    def step(self, tokens: Tensor, state: StateT, memory: MemoryT, *, return_attention: bool = True) -> Step[StateT]:
        """Predict the word after `tokens` [batch]; the alignment may be None unless `return_attention`."""

    @abstractmethod
    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor,
        memory: MemoryT,
        noise: Noise | None = None,
        *,
        return_attention: bool = False,
    ) -> Decoded:
        """Every step at once, with alignment if `return_attention`. Shapes: inputs [batch, tgt], lengths [batch]."""


class Model(nn.Module, Generic[MemoryT, StateT]):
    """An encoder and a decoder. A `Noise` enables dropout and sampling; without it both are deterministic."""

    def __init__(self, encoder: Encoder, decoder: Decoder[MemoryT, StateT]) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        number_sites(self)

    def encode(self, source: Tensor, lengths: Tensor, noise: Noise | None = None) -> MemoryT:
        """The memory of the decoder, computed once per sentence. Shapes: source [batch, src], lengths [batch]."""
        return self.decoder.make_memory(self.encoder(source, lengths, noise))

    def recompute_layers(self) -> None:
        """Enable recomputation of activations in the backward pass, where supported."""
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
        return_attention: bool = False,
    ) -> Decoded:
        """Encode and decode, teacher-forced. Shapes: source [batch, src], inputs [batch, tgt], lengths [batch]."""
        memory = self.encode(source, source_lengths, noise)
        decoded: Decoded = self.decoder(inputs, target_lengths, memory, noise, return_attention=return_attention)
        return decoded


def greedy_tokens(model: Model[Any, Any], batch: Batch, steps: int) -> Tensor:
    """Decode a fixed number of steps without a search, for experiments. Shapes: -> [batch, steps]."""
    with torch.inference_mode():
        memory = model.encode(batch.source, batch.source_lengths)
        state = model.decoder.start(memory)
        tokens = torch.full((batch.source.size(0),), BOS_ID)
        found = []
        for _ in range(steps):
            step = model.decoder.step(tokens, state, memory)
            tokens, state = step.log_probs.argmax(-1), step.state
            found.append(tokens)
    return torch.stack(found, 1)
