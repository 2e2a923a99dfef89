"""Row-wise values: reordered, repeated and dropped as one."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn.batches import Rows


@dataclass(frozen=True)
class Inner(Rows):
    state: Tensor


@dataclass(frozen=True)
class Outer(Rows):
    tokens: Tensor
    inner: Inner
    layers: tuple[tuple[Tensor, ...], ...]
    missing: Tensor | None = None


@dataclass(frozen=True)
class Named(Rows):
    name: object


def outer(batch: int) -> Outer:
    tokens = torch.arange(batch)
    state = torch.arange(batch * 6, dtype=torch.float64).view(batch, 2, 3)
    return Outer(tokens, Inner(state), ((state + 1, state + 2), (state + 3,)))


def test_everything_inside_is_selected():
    chosen = outer(3).select(torch.tensor([2, 0, 2, 2]))
    assert isinstance(chosen, Outer)
    assert chosen.tokens.tolist() == [2, 0, 2, 2]
    assert chosen.inner.state[:, 0, 0].tolist() == [12, 0, 12, 12]
    assert chosen.layers[0][1][:, 0, 0].tolist() == [14, 2, 14, 14]
    assert chosen.layers[1][0].shape == (4, 2, 3)
    assert len(chosen.layers[0]) == 2
    assert chosen.missing is None


def test_the_value_itself_stays_as_it_was():
    value = outer(3)
    value.select(torch.tensor([1]))
    assert value.tokens.tolist() == [0, 1, 2]


def test_a_selection_may_be_empty():
    chosen = outer(3).select(torch.tensor([], dtype=torch.long))
    assert chosen.tokens.shape == (0,)
    assert chosen.inner.state.shape == (0, 2, 3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.data())
def test_two_selections_are_one(first: list[int], data: st.DataObject):
    then = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=6))
    one, two = torch.tensor(first), torch.tensor(then, dtype=torch.long)
    twice, once = outer(4).select(one).select(two), outer(4).select(one[two])
    assert torch.equal(twice.tokens, once.tokens)
    assert torch.equal(twice.inner.state, once.inner.state)
    assert torch.equal(twice.layers[1][0], once.layers[1][0])


def test_gradients_of_a_row_that_is_taken_twice_add_up():
    state = torch.ones(2, 1, requires_grad=True)
    Inner(state).select(torch.tensor([1, 1])).state.sum().backward()
    assert state.grad is not None
    assert state.grad.tolist() == [[0.0], [2.0]]


@pytest.mark.parametrize("rows", [[3], [-1]])
def test_a_row_that_is_not_there_is_refused(rows: list[int]):
    with pytest.raises(IndexError):
        outer(3).select(torch.tensor(rows))


@pytest.mark.parametrize("value", ["a", 3, [torch.zeros(1)]])
def test_what_has_no_rows_is_refused(value: object):
    with pytest.raises(AssertionError, match=f"cannot hold {type(value).__name__}"):
        Named(value).select(torch.tensor([0]))
