"""Recurrent decoders that attend before or after the step. Papers: [bahdanau2015], [luong2015] (section 3)."""

import math
from abc import abstractmethod
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.config.rnn import RnnConfig
from dragoman.models.base import Decoded, Decoder, Encoded, Step
from dragoman.models.rnn_decoder import CellStack, InitialState, RnnMemory, RnnState, by_step, stacked
from dragoman.nn import deferred_gradient
from dragoman.nn.attention import Alignment, Attention
from dragoman.nn.embedding import DeepOutput, Embedding, Output
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
        """The query h_t, or [h_t; c_{t−1}]. Shapes: h [batch, hidden], context [batch, value] -> [batch, 1, query]."""
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


class BahdanauDecoder(AttentionDecoder):
    """h_{t-1} → a_t → c_t → [y_{t-1}; c_t], h_{t-1} → h_t → predict. Paper: [bahdanau2015] (4)-(6), appendix A.2.2.

    The query is the state *before* the word, so every step depends on the previous one. Products that do not depend on
    the state (of words, of keys, of the deep output) are computed outside the loop.
    """

    def __init__(
        self,
        config: RnnConfig,
        embedding: Embedding,
        attention: Attention,
        start: InitialState,
        deep: DeepOutput | None,
        output: Output,
    ) -> None:
        super().__init__(config, embedding, attention, start, output)
        self.stack = CellStack(config, [config.embedding, config.value_size])
        self.deep = deep

    def forward(
        self,
        inputs: Tensor,
        lengths: Tensor,
        memory: RnnMemory,
        noise: Noise | None = None,
        *,
        return_attention: bool = False,
    ) -> Decoded:
        features, alignment, _ = self._loop(self.embedding(inputs, noise), self.start(memory), memory, noise)
        return Decoded(features, self.to_source(alignment, memory), memory.structured)

    def _loop(
        self, words: Tensor, state: RnnState, memory: RnnMemory, noise: Noise | None
    ) -> tuple[Tensor, Alignment, RnnState]:
        assert memory.attended is not None
        attended = memory.attended.deferred()
        stack = self.stack.loop(words, noise)
        layers, previous = state.layers, state.context
        states: list[Tensor] = []
        contexts: list[Tensor] = []
        alignments: list[Alignment] = []
        for number in range(words.size(1)):
            position = (state.position + number).unsqueeze(1)
            query = self.query(layers[-1][0], previous)
            context, alignment = self.attention(query, attended, position, noise)
            previous = context.squeeze(1) if self.query_context else None
            layers = stack.step(number, [context.squeeze(1)], layers)
            states.append(layers[-1][0])
            contexts.append(context.squeeze(1))
            alignments.append(alignment)
        features = stacked(states)
        if self.deep is not None:
            features = self.deep(features, words, stacked(contexts))
        after = RnnState(layers, state.position + words.size(1), context=previous)
        return self.dropout(features, noise), Alignment.join(alignments), after


class LuongDecoder(AttentionDecoder):
    """[y_{t-1}; h̃_{t-1}], h_{t-1} → h_t → a_t → c_t → h̃_t = tanh(W_c [c_t; h_t]) → softmax(W_s h̃_t).

    Paper: [luong2015] (5)-(6); feeding h̃_{t-1} to the next step is section 3.3, and optional. Without it, and without
    the previous context in the query, no step depends on the attention of another: the teacher-forced pass is one run
    of the cells and one attention.
    """

    def __init__(
        self, config: RnnConfig, embedding: Embedding, attention: Attention, start: InitialState, output: Output
    ) -> None:
        super().__init__(config, embedding, attention, start, output)
        hidden = config.decoder.hidden
        self.feeding = config.decoder.input_feeding
        self.stack = CellStack(config, [config.embedding, hidden] if self.feeding else [config.embedding])
        self.W_c = nn.Parameter(torch.empty(hidden, config.value_size + hidden))
        nn.init.uniform_(self.W_c, -1.0 / math.sqrt(hidden), 1.0 / math.sqrt(hidden))

    def start(self, memory: RnnMemory) -> RnnState:
        state = super().start(memory)
        return replace(state, fed=torch.zeros_like(memory.first[-1][0])) if self.feeding else state

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
        if self.feeding or self.query_context:
            features, alignment, _ = self._loop(words, self.start(memory), memory, noise)
            return Decoded(features, self.to_source(alignment, memory), memory.structured)
        assert memory.attended is not None
        states = self.stack.run(words, lengths, memory.first, noise)  # [batch, tgt, hidden]
        positions = torch.arange(inputs.size(1), device=inputs.device)
        context, alignment = self.attention(states, memory.attended, positions, noise)
        features = F.linear(torch.cat([context, states.to(context.dtype)], -1), self.W_c).tanh()
        return Decoded(self.dropout(features, noise), self.to_source(alignment, memory), memory.structured)

    def _loop(
        self, words: Tensor, state: RnnState, memory: RnnMemory, noise: Noise | None
    ) -> tuple[Tensor, Alignment, RnnState]:
        assert memory.attended is not None
        attended = memory.attended.deferred()
        stack = self.stack.loop(words, noise)
        W_c = deferred_gradient.defer(self.W_c)
        masks = by_step(self.dropout.mask((*words.shape[:2], W_c.size(0)), noise, self.W_c.dtype))
        layers, fed, previous = state.layers, state.fed, state.context
        features: list[Tensor] = []
        alignments: list[Alignment] = []
        for number in range(words.size(1)):
            layers = stack.step(number, [] if fed is None else [fed], layers)
            h = layers[-1][0]
            position = (state.position + number).unsqueeze(1)
            context, alignment = self.attention(self.query(h, previous), attended, position, noise)
            previous = context.squeeze(1) if self.query_context else None
            attentional = (
                deferred_gradient.linear(torch.cat([context.squeeze(1), h.to(context.dtype)], -1), W_c)
                .to(h.dtype)
                .tanh()
            )
            if masks is not None:
                attentional = attentional * masks[number]
            fed = attentional if self.feeding else None
            features.append(attentional)
            alignments.append(alignment)
        after = RnnState(layers, state.position + words.size(1), fed, previous)
        return stacked(features), Alignment.join(alignments), after
