"""A source that arrives word by word gives the states of the whole source."""

from __future__ import annotations

import pytest
import torch

from claims.measurement.first_word_latency import StreamedSource
from dragoman.text import BOS_ID


@pytest.mark.parametrize("directions", [1, 2])
def test_a_streamed_source_is_encoded_like_a_whole_one(directions: int):
    streamed = StreamedSource(directions, 6, seed=1)
    with torch.inference_mode():
        whole = streamed.model.encoder(streamed.source, streamed.lengths, None)
        memory = streamed.model.encode(streamed.source, streamed.lengths)
        first = streamed.model.decoder.step(torch.tensor([BOS_ID]), streamed.model.decoder.start(memory), memory)
        found = streamed.encode()
    assert torch.allclose(found.states, whole.states, atol=1e-6)
    assert torch.allclose(streamed.finish(), first.log_probs, atol=1e-6)


def test_one_direction_has_read_everything_but_the_last_word():
    one, two = StreamedSource(1, 6, seed=1), StreamedSource(2, 6, seed=1)
    assert one.states.shape == (1, 5, 256)
    assert one.layer.right is None
    assert two.layer.right is not None
