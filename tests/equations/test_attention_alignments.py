"""M7, M8: looking everywhere; any score, whole sentences at once and step by step, alone and in a padded batch."""

from __future__ import annotations

from unittest import mock

import torch
from hypothesis import given

from dragoman.nn.attention.score import ConcatScore
from testkit.generators import many_cases
from tests.equations.comparison import assert_close
from tests.equations.generators_attention import Look, looks


@many_cases
@given(case=looks(alignment="global"))
def test_looking_everywhere(case: Look):
    case.assert_is_its_equations()


@many_cases
@given(case=looks(alignment="global"))
def test_weights_are_a_distribution_over_the_real_words(case: Look):
    weights = case.at_once(case.attention(), case.given())["weights"]
    assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]), 1e-12)
    assert bool((weights >= 0).all())
    for row, length in enumerate(case.lengths.tolist()):
        assert not weights[row, :, length:].any()


@given(case=looks(alignment="global"))
def test_a_sentence_sees_the_same_alone_as_in_a_batch(case: Look):
    attention = case.attention()
    together = case.at_once(attention, case.given())
    for row, length in enumerate(case.lengths.tolist()):
        alone = Look(
            case.config,
            case.queries[row : row + 1],
            case.keys[row : row + 1, :length],
            None if case.values is None else case.values[row : row + 1, :length],
            case.lengths[row : row + 1],
            case.positions[row : row + 1],
            case.seed,
        )
        found = alone.at_once(attention, alone.given())
        assert_close(found["context"][0], together["context"][row], 1e-12)
        assert_close(found["weights"][0], together["weights"][row, :, :length], 1e-12)


@given(case=looks(alignment="global", scores=["concat"]))
def test_what_the_keys_alone_decide_is_computed_once_a_sentence(case: Look):
    """However many steps there are, U meets the keys once."""
    with mock.patch.object(ConcatScore, "prepare", autospec=True, side_effect=ConcatScore.prepare) as prepare:
        case.step_by_step(case.attention(), case.given())
    assert [keys.shape for _, keys in (call.args for call in prepare.call_args_list)] == [case.keys.shape]
