"""Base class of the recurrent decoders with attention, those of Bahdanau and Luong: memory, query and one step."""

from abc import abstractmethod
from dataclasses import replace

import torch
from torch import Tensor

from dragoman.config.rnn import RnnConfig
from dragoman.models.base import Decoder, Encoded, Step
from dragoman.models.rnn_decoder_stack import InitialState, RnnMemory, RnnState
from dragoman.nn.attention import Alignment, Attention
from dragoman.nn.embedding import Embedding, Output
from dragoman.nn.stateless_noise import Dropout, Noise


class AttentionDecoder(Decoder[RnnMemory, RnnState]):
    """A recurrent decoder with attention: one loop over steps, for one word or for all."""

    def __init__(
        self, config: RnnConfig, embedding: Embedding, attention: Attention, start: InitialState, output: Output
    ) -> None:
        super().__init__()
        self.split = config.attention.memory == "split"
        self.query_context = config.decoder.query_context
        self.embedding = embedding
        self.attention = attention
        self.begin = start
        self.dropout = Dropout(config.dropout)
        self.output = output

    def make_memory(self, encoded: Encoded) -> RnnMemory:
        """Encoder states are both keys and values, or one half of each is the key and the other the value."""
        assert encoded.last is not None
        keys, values = encoded.states, encoded.states
        if self.split:
            keys, values = (half.contiguous() for half in encoded.states.chunk(2, dim=-1))
        attended = self.attention.make_memory(keys, values, encoded.lengths)
        return RnnMemory(attended, self.begin(encoded.last, encoded.final), structured=encoded.structured)

    def start(self, memory: RnnMemory) -> RnnState:
        state = RnnState.first(memory)
        if not self.query_context:
            return state
        assert memory.attended is not None
        h = memory.first[-1][0]
        return replace(state, context=h.new_zeros(h.size(0), memory.attended.values.size(-1)))

    def query(self, h: Tensor, context: Tensor | None) -> Tensor:
        """The query of attention: a state, and the previous context where it is part of it.

        score([h_t; c_{t−1}], h̄_s). Shapes: h [batch, hidden], context [batch, value] -> [batch, 1, query].
        """
        return (h if context is None else torch.cat([h, context.to(h.dtype)], -1)).unsqueeze(1)

    def step(
        self, tokens: Tensor, state: RnnState, memory: RnnMemory, *, return_attention: bool = True
    ) -> Step[RnnState]:
        features, alignment, state = self._loop(self.embedding(tokens.unsqueeze(1), None), state, memory, None)
        return Step(self.output(features.squeeze(1)), state, self.to_source(alignment, memory))

    def to_source(self, alignment: Alignment, memory: RnnMemory) -> Alignment:
        """Σ_r a_t(r) A_rs: weights over words, not rows. Shapes: weights [batch, tgt, rows] -> [batch, tgt, src]."""
        if memory.structured is None:
            return alignment
        return replace(alignment, weights=alignment.weights @ memory.structured.to(alignment.weights.dtype))

    @abstractmethod
    def _loop(
        self, words: Tensor, state: RnnState, memory: RnnMemory, noise: Noise | None
    ) -> tuple[Tensor, Alignment, RnnState]:
        """Run the steps. Shapes: words [batch, tgt, embedding] -> features [batch, tgt, dim], alignment, state."""
