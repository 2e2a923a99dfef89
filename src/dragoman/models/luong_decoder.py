"""Recurrent decoder that attends after the recurrent step. Paper: [luong2015] (section 3)."""

import math
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dragoman.config.rnn import RnnConfig
from dragoman.models.attention_decoder import AttentionDecoder
from dragoman.models.base import Decoded
from dragoman.models.rnn_decoder_stack import CellStack, InitialState, RnnMemory, RnnState, by_step, stacked
from dragoman.nn import deferred_gradient
from dragoman.nn.attention import Alignment, Attention
from dragoman.nn.embedding import Embedding, Output
from dragoman.nn.stateless_noise import Noise


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
