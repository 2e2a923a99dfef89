"""Recurrent decoder without attention; one vector represents the source. Papers: [sutskever2014], [cho2014]."""

import torch
from torch import Tensor, nn

from dragoman.config.rnn import RnnConfig
from dragoman.models.base import Decoded, Decoder, Encoded, Step
from dragoman.models.rnn_decoder_stack import CellStack, InitialState, RnnMemory, RnnState
from dragoman.nn.embedding import DeepOutput, Embedding, Output
from dragoman.nn.stateless_noise import Dropout, Noise


class PlainDecoder(Decoder[RnnMemory, RnnState]):
    """h_t = f(h_{t-1}, y_{t-1}) from h_0 = c, or h_t = f(h_{t-1}, y_{t-1}, c).

    Papers: the first is [sutskever2014] (section 2), the second [cho2014] (section 2.2). In the second
    c = tanh(V h_S) enters every step, and the deep output too ([cho2014] appendix A).
    """

    def __init__(
        self,
        config: RnnConfig,
        embedding: Embedding,
        start: InitialState,
        deep: DeepOutput | None,
        output: Output,
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
