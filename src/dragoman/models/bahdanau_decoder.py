"""Recurrent decoder that attends before the recurrent step. Paper: [bahdanau2015] (section 3)."""

from torch import Tensor

from dragoman.config.rnn import RnnConfig
from dragoman.models.attention_decoder import AttentionDecoder
from dragoman.models.base import Decoded
from dragoman.models.rnn_decoder_stack import CellStack, InitialState, RnnMemory, RnnState, stacked
from dragoman.nn.attention import Alignment, Attention
from dragoman.nn.embedding import DeepOutput, Embedding, Output
from dragoman.nn.stateless_noise import Noise


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
