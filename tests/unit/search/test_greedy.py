"""Greedy search of a batch is the plain loop over its sentences, for every model there is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.errors import ConfigError
from dragoman.models import Model
from dragoman.search import Hypothesis, greedy
from dragoman.text import BOS_ID, EOS_ID
from tests.presets import MODELS, tiny_model

SOURCES = [[5, 6, 7], [], [4, 9, 10, 8, 7, 6], [10], [6, 6], [8, 4, 5, 9, 10]]
LIMIT = 8


def plain(model: Model[Any, Any], source: Sequence[int], limit: int) -> Hypothesis:
    """One sentence, read off the protocol: nothing is batched, nothing leaves."""
    tokens = torch.tensor([[*source, EOS_ID]])
    memory = model.encode(tokens, torch.tensor([tokens.size(1)]))
    state, piece = model.decoder.start(memory), BOS_ID
    pieces: list[int] = []
    total, rows = 0.0, []
    while len(pieces) < limit and piece != EOS_ID:
        step = model.decoder.step(torch.tensor([piece]), state, memory)
        state, piece = step.state, int(step.log_probs[0].argmax())
        total += float(step.log_probs[0, piece])
        pieces.append(piece)
        if step.alignment is not None:
            rows.append(step.alignment.averaged(tokens.size(1))[0, 0].float().numpy())
    return Hypothesis([piece for piece in pieces if piece != EOS_ID], total, np.stack(rows) if rows else None)


def eager_to_end(name: str, seed: int = 0, push: float = 1.5) -> Model[Any, Any]:
    """A random model that ends some sentences early: what it writes ends at different steps."""
    model = tiny_model(name, seed=seed)
    with torch.no_grad():
        for parameter, values in model.decoder.output.named_parameters():
            if parameter.endswith("bias"):
                values[EOS_ID] += push
    return model


def assert_same(found: Hypothesis, wanted: Hypothesis) -> None:
    assert found.pieces == wanted.pieces
    assert found.log_prob == pytest.approx(wanted.log_prob, abs=1e-9)
    assert (found.alignment is None) == (wanted.alignment is None)
    if found.alignment is not None and wanted.alignment is not None:
        assert found.alignment.dtype == np.float32
        np.testing.assert_allclose(found.alignment, wanted.alignment, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_the_plain_loop_over_its_sentences(name: str) -> None:
    model = eager_to_end(name)
    found = greedy(model, SOURCES, max_length=LIMIT, show=True)
    with torch.no_grad():
        for source, hypothesis in zip(SOURCES, found, strict=True):
            assert_same(hypothesis, plain(model, source, LIMIT))


@given(
    name=st.sampled_from(MODELS),
    sources=st.lists(st.lists(st.integers(4, 10), max_size=7), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
    push=st.floats(0, 4),
)
def test_any_batch_is_too(name: str, sources: list[list[int]], seed: int, push: float) -> None:
    model = eager_to_end(name, seed, push)
    found = greedy(model, sources, max_length=LIMIT, show=True)
    with torch.no_grad():
        for source, hypothesis in zip(sources, found, strict=True):
            assert_same(hypothesis, plain(model, source, LIMIT))


def shape(alignment: NDArray[np.float32] | None) -> tuple[int, ...]:
    assert alignment is not None
    return alignment.shape


def test_sentences_of_the_tests_end_at_different_steps() -> None:
    lengths = {len(found.pieces) for name in MODELS for found in greedy(eager_to_end(name), SOURCES, max_length=LIMIT)}
    assert len(lengths) > 3


def test_the_alignment_has_a_row_for_the_end_unless_the_limit_came_first() -> None:
    model = eager_to_end("luong2015-desk", push=0.0)
    (endless,) = greedy(eager_to_end("luong2015-desk", push=-1e9), [[5, 6]], max_length=4, show=True)
    assert len(endless.pieces) == 4
    assert shape(endless.alignment) == (4, 3)
    (ended,) = greedy(eager_to_end("luong2015-desk", push=1e9), [[5, 6]], max_length=4, show=True)
    assert ended.pieces == []
    assert shape(ended.alignment) == (1, 3)
    assert greedy(model, [[5, 6]], max_length=4)[0].alignment is None


def test_the_limit_may_depend_on_the_source() -> None:
    model = eager_to_end("bahdanau2015-desk", push=-1e9)
    found = greedy(model, SOURCES, max_length=lambda source: source + 2)
    assert [len(hypothesis.pieces) for hypothesis in found] == [len(source) + 2 for source in SOURCES]


def test_no_sources_no_translations() -> None:
    assert greedy(tiny_model("luong2015-desk"), [], max_length=3) == []


def test_a_limit_leaves_room_for_the_end() -> None:
    with pytest.raises(ConfigError, match="max_length must be at least 1"):
        greedy(tiny_model("luong2015-desk"), [[5]], max_length=0)


def test_nothing_is_kept_for_a_backward_pass() -> None:
    model = tiny_model("luong2015-desk")
    greedy(model, SOURCES, max_length=3, show=True)
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
