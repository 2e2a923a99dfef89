"""What the two attending recurrent decoders share; when they attend is their own business."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from dragoman.config.schema import RnnConfig
from dragoman.models.protocol import Decoder, Encoded, Step
from dragoman.models.rnn_stack import RnnMemory, RnnState, Start
from dragoman.nn.attention import Alignment, Attention
from dragoman.nn.embedding import Embedding
from dragoman.nn.noise import Dropout, Noise
from dragoman.nn.output import Output

__all__ = ["AttendingDecoder"]


class AttendingDecoder(Decoder[RnnMemory, RnnState]):
    """A recurrent decoder with attention: one loop over steps, run for one word or for all of them."""

    def __init__(
        self, config: RnnConfig, embedding: Embedding, attention: Attention, start: Start, output: Output
    ) -> None:
        super().__init__()
        self.split = config.attention.memory == "split"
        self.embedding = embedding
        self.attention = attention
        self.begin = start
        self.dropout = Dropout(config.dropout)
        self.output = output

    def remember(self, encoded: Encoded) -> RnnMemory:
        """The encoder's states are keys and values at once, or half of each is the key and half the value."""
        assert encoded.last is not None
        keys, values = encoded.states, encoded.states
        if self.split:
            keys, values = (half.contiguous() for half in encoded.states.chunk(2, dim=-1))
        attended = self.attention.remember(keys, values, encoded.lengths)
        return RnnMemory(attended, self.begin(encoded.last, encoded.final))

    def start(self, memory: RnnMemory) -> RnnState:
        return RnnState.first(memory)

    def step(self, tokens: Tensor, state: RnnState, memory: RnnMemory, *, show: bool = True) -> Step[RnnState]:
        features, alignment, state = self._loop(self.embedding(tokens.unsqueeze(1), None), state, memory, None)
        return Step(self.output(features.squeeze(1)), state, alignment)

    @abstractmethod
    def _loop(
        self, words: Tensor, state: RnnState, memory: RnnMemory, noise: Noise | None
    ) -> tuple[Tensor, Alignment, RnnState]:
        """Step after step. Shapes: words [batch, tgt, embedding] -> features [batch, tgt, dim], alignment, state."""
