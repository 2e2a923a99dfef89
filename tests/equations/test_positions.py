"""M17: where a word stands, and how large its vector is."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from dragoman.errors import DataError
from dragoman.nn.embedding import Embedding, LearnedPositions, NoPositions, SinusoidalPositions
from testkit.generators import Numbers, many_cases, randomised, seeds, sizes
from tests.equations.comparison import TOLERANCE, Tensors, assert_agrees, assert_close
from tests.equations.literal_recurrent import Weights
from tests.equations.literal_transformer import position_vector

places = st.lists(st.integers(0, 3000), min_size=1, max_size=5)


@pytest.mark.parametrize("layout", ["pairs", "halves", "tensor2tensor"])
@many_cases
@given(dim=sizes(1, 9), at=places, offset=st.integers(0, 3))
def test_sinusoidal_positions_are_their_equation(layout: str, dim: int, at: list[int], offset: int) -> None:
    name = "sinusoidal" if layout == "pairs" else f"sinusoidal-{layout}"
    wanted = torch.stack([position_vector(position + offset, dim, name) for position in at])
    for dtype, tolerance in TOLERANCE.items():
        positions = SinusoidalPositions(dim, layout, offset).to(dtype)
        found = positions(torch.tensor([at, at[::-1]]))
        assert found.dtype == dtype
        assert_close(found, torch.stack([wanted, wanted.flip(0)]), tolerance)


@given(dim=sizes(1, 4).map(lambda half: 2 * half), at=st.integers(0, 1000), offset=st.integers(0, 100))
def test_an_offset_is_a_rotation(dim: int, at: int, offset: int) -> None:
    """Section 3.5: PE(pos + k) is a linear function of PE(pos), the same for every pos."""
    here, there = SinusoidalPositions(dim).double()(torch.tensor([at, at + offset])).view(2, -1, 2)
    for pair in range(dim // 2):
        angle = offset / 10000 ** (2 * pair / dim)
        cos, sin = math.cos(angle), math.sin(angle)
        assert_close(there[pair], torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64) @ here[pair], 1e-9)


@many_cases
@given(dim=sizes(), longest=sizes(1, 6), offset=st.integers(0, 2), rows=sizes(1, 3), data=st.data())
def test_learned_positions_are_rows_of_a_table(
    dim: int, longest: int, offset: int, rows: int, data: st.DataObject
) -> None:
    at = torch.tensor([data.draw(st.lists(st.integers(0, longest - 1), min_size=3, max_size=3)) for _ in range(rows)])

    def literal(weights: Weights, given: Tensors) -> Tensors:
        return {
            "vectors": torch.stack([torch.stack([weights["weight"][offset + p] for p in row]) for row in at.tolist()])
        }

    positions = randomised(LearnedPositions(dim, longest, offset), data.draw(seeds))
    assert_agrees(positions, {}, lambda positions, given: {"vectors": positions(at)}, literal)


@given(dim=sizes(), longest=sizes(), over=sizes())
def test_learned_positions_refuse_what_they_never_learnt(dim: int, longest: int, over: int) -> None:
    """As a whole sentence at once, or as one step of several sentences of which one has come too far."""
    for asked in (torch.arange(longest + over), torch.tensor([[0], [longest + over - 1]])):
        with pytest.raises(DataError, match=f"max_positions = {longest} .* got {longest + over};"):
            LearnedPositions(dim, longest)(asked)


@given(at=places, dim=sizes(), seed=seeds)
def test_no_positions_add_nothing(at: list[int], dim: int, seed: int) -> None:
    vectors = Numbers(seed).normal(len(at), dim)
    assert torch.equal(vectors + NoPositions().double()(torch.tensor(at)), vectors)


@pytest.mark.parametrize("scaled", [True, False])
@many_cases
@given(vocab=sizes(), dim=sizes(1, 9), rows=sizes(1, 3), size=sizes(), seed=seeds)
def test_embeddings_are_scaled_by_the_root_of_the_width(
    scaled: bool, vocab: int, dim: int, rows: int, size: int, seed: int
) -> None:
    tokens = Numbers(seed).tokens(vocab, rows, size)

    def literal(weights: Weights, given: Tensors) -> Tensors:
        def vector(token: int) -> Tensor:
            return weights["weight"][token] * math.sqrt(dim) if scaled else weights["weight"][token]

        return {"vectors": torch.stack([torch.stack([vector(token) for token in row]) for row in tokens.tolist()])}

    embedding = randomised(Embedding(nn.Parameter(torch.zeros(vocab, dim)), 0.0, scaled=scaled), seed)
    assert_agrees(embedding, {}, lambda embedding, given: {"vectors": embedding(tokens, None)}, literal)
