"""Time from the last source word to the first target word, for a source that arrives word by word."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from claims.measurement.samples import Samples, interleaved
from dragoman.config import RnnConfig
from dragoman.models.base import Encoded, Model
from dragoman.models.build import build_model
from dragoman.models.rnn_decoder import RnnMemory, RnnState
from dragoman.models.rnn_encoder import BiLayer, RnnEncoder
from dragoman.nn.recurrent import Packing, run
from dragoman.text import BOS_ID, EOS_ID

_HIDDEN = 256
_VOCAB = 64


def first_word_latency(seed: int, lengths: tuple[int, ...] = (8, 32, 128)) -> Samples:
    """CPU time after the arrival of the last source word, by source length, for one and two directions.

    Everything that does not depend on the last word is computed before it arrives.
    """
    actions: dict[str, Callable[[], object]] = {}
    for length in lengths:
        for name, directions in (("one", 1), ("two", 2)):
            actions[f"{name} {length}"] = StreamedSource(directions, length, seed).finish
    return interleaved(actions)


class StreamedSource:
    """A recurrent model that has read all source words but the last."""

    def __init__(self, directions: int, length: int, seed: int) -> None:
        config = RnnConfig.model_validate(
            {
                "family": "rnn",
                "embedding": _HIDDEN,
                "encoder": {"layers": 1, "hidden": _HIDDEN, "bidirectional": directions == 2},
                "decoder": {"layers": 1, "hidden": _HIDDEN},
            }
        )
        self.model: Model[RnnMemory, RnnState] = build_model(config, _VOCAB, _VOCAB, seed=seed)
        assert isinstance(self.model.encoder, RnnEncoder)
        self.encoder = self.model.encoder
        (layer,) = self.encoder.layers
        assert isinstance(layer, BiLayer)
        self.layer: BiLayer = layer
        draws = torch.Generator().manual_seed(seed)
        self.source = torch.randint(EOS_ID + 1, _VOCAB, (1, length), generator=draws)
        self.lengths = torch.tensor([length])
        with torch.inference_mode():
            x = self.encoder.embedding(self.source[:, :-1], None)
            before = Packing.of(self.lengths - 1, length - 1, x.device)
            self.words = x
            self.states, self.state = run(self.layer.left, x, before)

    def encode(self) -> Encoded:
        """Read the last word, and the whole source from its end if there are two directions."""
        left = self.layer.left
        last = self.encoder.embedding(self.source[:, -1:], None)
        state = left.step(left.project(last.squeeze(1)), self.state, left.recurrent())
        states = torch.cat([self.states, state[0].unsqueeze(1)], 1)  # [1, src, hidden]
        if self.layer.right is None:
            return Encoded(states, self.lengths, (state,), state[0], state[0])
        packing = Packing.of(self.lengths, self.source.size(1), states.device)
        words = torch.cat([self.words, last], 1)
        backward, final = run(self.layer.right, words, packing, backwards=True)
        both = tuple(torch.cat(pair, -1) for pair in zip(state, final, strict=True))
        return Encoded(torch.cat([states, backward], -1), self.lengths, (both,), both[0], final[0])

    def finish(self) -> Tensor:
        """Read the last word and predict the first target word. Shapes: -> [1, vocab]."""
        with torch.inference_mode():
            decoder = self.model.decoder
            memory = decoder.make_memory(self.encode())
            return decoder.step(torch.tensor([BOS_ID]), decoder.start(memory), memory).log_probs
