"""Which positions are real; reversal of them; softmax over them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn.batches import is_real, masked_softmax, reverse_real
from testkit.generators import Numbers, lengths, seeds

real_lengths = lengths(most_rows=4, longest=6)


def test_real_positions_by_hand():
    assert is_real(torch.tensor([2, 0, 3, 5]), 3).tolist() == [
        [True, True, False],
        [False, False, False],
        [True, True, True],
        [True, True, True],
    ]
    assert is_real(torch.tensor([1]), 3).dtype == torch.bool


@given(real_lengths, st.integers(0, 3))
def test_there_are_as_many_real_positions_as_the_length_says(lengths: Tensor, spare: int):
    real = is_real(lengths, int(lengths.max()) + spare)
    assert real.sum(1).tolist() == lengths.tolist()
    assert (real.int().diff(dim=1) <= 0).all(), "padding comes last"


def test_reversal_by_hand():
    tokens = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 0], [8, 0, 0, 0]])
    assert reverse_real(tokens, torch.tensor([4, 3, 1])).tolist() == [[4, 3, 2, 1], [7, 6, 5, 0], [8, 0, 0, 0]]


@given(real_lengths, st.integers(0, 3), seeds, st.sampled_from([(), (2,), (2, 3)]))
def test_reversal_turns_real_positions_round_and_leaves_padding(
    lengths: Tensor, spare: int, seed: int, inner: tuple[int, ...]
):
    x = Numbers(seed).normal(len(lengths), int(lengths.max()) + spare, *inner)
    turned = reverse_real(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(turned[row, :length], x[row, :length].flip(0))
        assert torch.equal(turned[row, length:], x[row, length:])
    assert torch.equal(reverse_real(turned, lengths), x)


def test_the_gradient_of_a_reversal_is_reversed():
    x = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    (reverse_real(x, torch.tensor([3, 2])) * weights).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[2, 1, 0], [4, 3, 5]]


@given(st.integers(1, 4), st.integers(1, 6), seeds, st.floats(0.0, 1.0))
def test_the_softmax_over_some_positions_is_that_of_those_positions(rows: int, src: int, seed: int, share: float):
    numbers = Numbers(seed)
    scores, may_attend = numbers.normal(rows, 2, src, scale=5.0), numbers.chance(share, rows, 2, src)
    weights = masked_softmax(scores, may_attend)
    for place in torch.cartesian_prod(torch.arange(rows), torch.arange(2)).tolist():
        row, step = place
        allowed = may_attend[row, step]
        assert not weights[row, step][~allowed].any()
        torch.testing.assert_close(weights[row, step][allowed], scores[row, step][allowed].softmax(-1))


def test_a_mask_is_spread_over_steps():
    scores = Numbers(0).normal(2, 3, 4)
    may_attend = is_real(torch.tensor([4, 2]), 4).unsqueeze(1)  # [batch, 1, src]
    assert torch.equal(masked_softmax(scores, may_attend), masked_softmax(scores, may_attend.expand(2, 3, 4)))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_row_with_nothing_to_attend_to_is_zero_and_so_is_its_gradient(dtype: torch.dtype):
    scores = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=dtype, requires_grad=True)
    weights = masked_softmax(scores, torch.tensor([[False, False], [True, True]]))
    assert weights[0].tolist() == [0.0, 0.0]
    (weights * torch.tensor([1.0, 2.0])).sum().backward()
    assert scores.grad is not None
    assert scores.grad[0].tolist() == [0.0, 0.0]
    assert scores.grad[1].isfinite().all()
    assert scores.grad[1].any()


@pytest.mark.parametrize("far", [float("inf"), float("-inf"), float("nan"), 1e300])
def test_what_stands_where_none_may_attend_does_not_matter(far: float):
    scores = torch.tensor([[1.0, far, 2.0]], dtype=torch.float64)
    weights = masked_softmax(scores, torch.tensor([[True, False, True]]))
    torch.testing.assert_close(weights[0, [0, 2]], torch.tensor([1.0, 2.0], dtype=torch.float64).softmax(-1))
    assert weights[0, 1] == 0


@pytest.mark.parametrize("size", [1e4, 1e30, 3e38])
def test_large_scores_do_not_overflow(size: float):
    weights = masked_softmax(torch.tensor([[size, -size, size]]), torch.ones(1, 3, dtype=torch.bool))
    assert weights.tolist() == [[0.5, 0.0, 0.5]]


@pytest.mark.parametrize(
    ("given_dtype", "found"),
    [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float16, torch.float32),
    ],
)
def test_weights_are_computed_in_float32_at_least(given_dtype: torch.dtype, found: torch.dtype):
    assert masked_softmax(torch.zeros(1, 3, dtype=given_dtype), torch.ones(1, 3, dtype=torch.bool)).dtype == found
