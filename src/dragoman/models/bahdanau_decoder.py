"""The decoder that attends before its cell steps. Paper: [bahdanau2015] (section 3)."""

from __future__ import annotations

from torch import Tensor

from dragoman.config.schema import RnnConfig
from dragoman.models.attending_decoder import AttendingDecoder
from dragoman.models.protocol import Decoded
from dragoman.models.rnn_stack import CellStack, RnnMemory, RnnState, Start, stacked
from dragoman.nn.attention import Alignment, Attention
from dragoman.nn.embedding import Embedding
from dragoman.nn.noise import Noise
from dragoman.nn.output import DeepOutput, Output

__all__ = ["BahdanauDecoder"]


class BahdanauDecoder(AttendingDecoder):
    """h_{t-1} → a_t → c_t → [y_{t-1}; c_t], h_{t-1} → h_t → predict. Paper: [bahdanau2015] (4)-(6), appendix A.2.2.

    The query is the state *before* the word, so every step waits for the one before it; what does not depend on the
    state (the words' products, the keys' products, the deep output) is computed outside the loop.
    """

    def __init__(
        self,
        config: RnnConfig,
        embedding: Embedding,
        attention: Attention,
        start: Start,
        deep: DeepOutput | None,
        output: Output,
    ) -> None:
        super().__init__(config, embedding, attention, start, output)
        self.stack = CellStack(config, [config.embedding, config.value_size])
        self.deep = deep

    def forward(
        self, inputs: Tensor, lengths: Tensor, memory: RnnMemory, noise: Noise | None = None, *, show: bool = False
    ) -> Decoded:
        features, alignment, _ = self._loop(self.embedding(inputs, noise), self.start(memory), memory, noise)
        return Decoded(features, alignment)

    def _loop(
        self, words: Tensor, state: RnnState, memory: RnnMemory, noise: Noise | None
    ) -> tuple[Tensor, Alignment, RnnState]:
        assert memory.attended is not None
        attended = memory.attended.deferred()
        stack = self.stack.loop(words, noise)
        layers = state.layers
        states: list[Tensor] = []
        contexts: list[Tensor] = []
        alignments: list[Alignment] = []
        for number in range(words.size(1)):
            position = (state.position + number).unsqueeze(1)
            context, alignment = self.attention(layers[-1][0].unsqueeze(1), attended, position, noise)
            layers = stack.step(number, [context.squeeze(1)], layers)
            states.append(layers[-1][0])
            contexts.append(context.squeeze(1))
            alignments.append(alignment)
        features = stacked(states)
        if self.deep is not None:
            features = self.deep(features, words, stacked(contexts))
        after = RnnState(layers, state.position + words.size(1))
        return self.dropout(features, noise), Alignment.join(alignments), after
