"""What an alignment tells of itself: hand-set numbers."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from dragoman.nn.attention import Alignment

WEIGHTS = torch.tensor([[[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]])  # [2, 2, 3]

WINDOWS = Alignment(
    weights=torch.tensor([[[0.0, 0.6, 0.4], [0.2, 0.3, 0.5]], [[0.9, 0.1, 0.0], [0.0, 0.0, 0.0]]]),  # [2, 2, 3]
    first=torch.tensor([[-1, 1], [2, 4]]),
    centre=torch.tensor([[0.0, 2.0], [3.25, 5.0]]),
)


def test_a_row_over_the_whole_source_is_dense_already():
    assert Alignment(WEIGHTS).dense(3) is WEIGHTS


def test_windows_at_their_places():
    wanted = torch.tensor(
        [
            [[0.6, 0.4, 0.0, 0.0], [0.0, 0.2, 0.3, 0.5]],  # the first window begins before the sentence
            [[0.0, 0.0, 0.9, 0.1], [0.0, 0.0, 0.0, 0.0]],  # the last one is after its end
        ]
    )
    assert torch.equal(WINDOWS.dense(4), wanted)


def test_what_lies_outside_the_sentence_is_left_out_and_piles_up_nowhere():
    outside = Alignment(torch.ones(1, 3, 3), first=torch.tensor([[-2, 1, 9]]))
    assert outside.dense(2).tolist() == [[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]


def test_a_window_wider_than_the_source():
    assert Alignment(torch.tensor([[[0.0, 0.0, 1.0, 0.0, 0.0]]]), torch.tensor([[-2]])).dense(1).tolist() == [[[1.0]]]


def test_the_gradient_of_a_dense_row_reaches_the_places_inside():
    weights = WINDOWS.weights.clone().requires_grad_()
    dense = Alignment(weights, WINDOWS.first).dense(4)
    (dense * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert weights.grad is not None
    assert weights.grad.tolist() == [[[0, 1, 2], [2, 3, 4]], [[3, 4, 0], [0, 0, 0]]]


def test_windows_of_layers_and_heads():
    weights = torch.tensor([0.5, 0.5]).expand(1, 2, 2, 1, 2)  # [batch, layers, heads, tgt, window]
    first = torch.tensor([[[[0], [1]], [[2], [-1]]]])  # [batch, layers, heads, tgt]
    assert Alignment(weights, first).dense(3).tolist() == [
        [[[[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]]], [[[0.0, 0.0, 0.5]], [[0.5, 0.0, 0.0]]]]
    ]
    assert Alignment(weights, first).averaged(3).tolist() == [[[0.25, 0.25, 0.25]]]


def test_one_map_needs_no_average():
    assert Alignment(WEIGHTS).averaged(3).tolist() == WEIGHTS.tolist()
    assert torch.equal(WINDOWS.averaged(4), WINDOWS.dense(4))


def test_the_map_of_words_is_of_the_last_layer_but_one_or_of_the_guided_head():
    weights = torch.arange(3 * 2 * 4.0).view(1, 3, 2, 1, 4)  # [batch, layers, heads, tgt, src]
    assert Alignment(weights).one_map(4).tolist() == [[[10.0, 11.0, 12.0, 13.0]]]
    assert Alignment(weights).one_map(4, guided=True).tolist() == [[[16.0, 17.0, 18.0, 19.0]]]
    assert Alignment(WEIGHTS).one_map(3, guided=True).tolist() == WEIGHTS.tolist()


def test_the_average_over_layers_and_heads():
    weights = torch.zeros(1, 2, 2, 1, 3)  # [batch, layers, heads, tgt, src]
    weights[0, :, :, 0] = torch.tensor([[[1.0, 0, 0], [0, 1.0, 0]], [[0, 0.5, 0.5], [0, 0.5, 0.5]]])
    assert Alignment(weights).averaged(3).tolist() == [[[0.25, 0.5, 0.25]]]


def test_the_average_keeps_sentences_and_steps_apart():
    weights = torch.arange(2 * 3 * 2 * 4, dtype=torch.float32).view(2, 3, 2, 4)  # [batch, heads, tgt, src]
    averaged = Alignment(weights).averaged(4)
    assert averaged.shape == (2, 2, 4)
    assert averaged[1, 0].tolist() == [32.0, 33.0, 34.0, 35.0]


def test_steps_are_joined_in_their_order():
    steps = [
        Alignment(
            weights=WINDOWS.weights[:, t : t + 1],
            first=WINDOWS.first[:, t : t + 1] if WINDOWS.first is not None else None,
            centre=WINDOWS.centre[:, t : t + 1] if WINDOWS.centre is not None else None,
            log_prob=torch.tensor([[-1.0 - t], [-3.0 - t]]),
            entropy=torch.tensor([[0.1 + t], [0.3 + t]]),
        )
        for t in range(2)
    ]
    joined = Alignment.join(steps)
    assert torch.equal(joined.dense(4), WINDOWS.dense(4))
    assert joined.centre is not None
    assert joined.centre.tolist() == [[0.0, 2.0], [3.25, 5.0]]
    assert joined.log_prob is not None
    assert joined.log_prob.tolist() == [[-1.0, -2.0], [-3.0, -4.0]]
    assert joined.entropy is not None
    assert joined.entropy.tolist() == torch.tensor([[0.1, 1.1], [0.3, 1.3]]).tolist()


def test_joined_steps_have_what_each_has():
    joined = Alignment.join([Alignment(WEIGHTS[:, :1]), Alignment(WEIGHTS[:, 1:])])
    assert joined.weights.tolist() == WEIGHTS.tolist()
    assert (joined.first, joined.centre, joined.log_prob, joined.entropy) == (None, None, None, None)


def test_steps_of_layers_and_heads_are_joined_along_the_target():
    steps = [torch.full((1, 2, 3, 1, 4), float(t)) for t in range(3)]
    joined = Alignment.join([Alignment(step) for step in steps])
    assert joined.weights.shape == (1, 2, 3, 3, 4)
    assert joined.weights[0, 1, 2, :, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("rows", [[1], [1, 0], [0, 0, 1], []])
def test_rows_are_selected_in_the_order_asked_for(rows: list[int]):
    whole = dataclasses.replace(
        WINDOWS, log_prob=torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]), entropy=torch.tensor([[0.1, 0.2], [0.3, 0.4]])
    )
    chosen = whole.select(torch.tensor(rows, dtype=torch.long))
    for field in dataclasses.fields(Alignment):
        assert torch.equal(getattr(chosen, field.name), getattr(whole, field.name)[rows]), field.name


def test_selection_leaves_what_is_not_there():
    chosen = Alignment(WEIGHTS).select(torch.tensor([1]))
    assert torch.equal(chosen.weights, WEIGHTS[1:])
    assert chosen.first is None
