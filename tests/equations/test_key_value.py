"""M15: encoder states split into keys, which are compared, and values, which are taken."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import assume, given
from torch import Tensor

from dragoman.config.rnn import RnnConfig, Wiring
from dragoman.models import Encoded
from testkit.generators import Numbers, Sentences, many_cases
from testkit.legal_wirings import legal_wirings
from tests.equations.comparison import assert_close
from tests.equations.generators_attention import (
    ATTENDING,
    VOCAB,
    Translating,
    Translator,
    small_config,
    translating,
    windows_are_clear,
)

SCORES = ["general", "concat", "dot", "scaled-dot"]
ALIGNMENTS = ["global", "local-m", "local-p", "hard"]


@pytest.mark.slow
@many_cases
@given(case=translating(scores=SCORES, alignments=ALIGNMENTS, memories=["split"], most_layers=1))
def test_split_states_are_attended_to_by_the_equations(case: Translating):
    assume(windows_are_clear(case))
    case.assert_is_its_equations()


PAIRS = (
    Sentences(Numbers(1).tokens(VOCAB, 2, 4), torch.tensor([4, 2])),
    Sentences(Numbers(2).tokens(VOCAB, 2, 3), torch.tensor([2, 3])),
)


@pytest.mark.parametrize("wiring", ATTENDING, ids=str)
@pytest.mark.parametrize("alignment", ALIGNMENTS)
@pytest.mark.parametrize("score", SCORES)
def test_every_legal_attention_over_split_states(wiring: Wiring, alignment: str, score: str):
    attention = {"score": score, "alignment": alignment, "memory": "split", "window": 1}
    Translating(small_config(attention=attention, **wiring._asdict()), *PAIRS, seed=2).assert_is_its_equations()


def test_no_legal_attention_is_forgotten():
    legal = {found for found in legal_wirings() if found[-1] == "split"}
    assert legal == set(itertools.product(ATTENDING, SCORES, ALIGNMENTS, ["split"]))


# ------------------------------------------------------------------------------------------------- which half is which


def split_model(score: str, attend: str) -> tuple[RnnConfig, Translator]:
    config = small_config(attention={"score": score, "memory": "split"}, attend=attend)
    return config, Translating(config, *PAIRS, seed=3).model()


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("attend", ["before", "after"])
def test_weights_come_from_the_first_half_and_contexts_from_the_second(score: str, attend: str):
    """At the first step; later states have seen a context."""
    config, model = split_model(score, attend)
    states = Numbers(4).normal(2, 4, config.encoder.hidden).requires_grad_()
    half = config.encoder.hidden // 2
    memory = model.decoder.make_memory(Encoded(states, torch.tensor([4, 2]), last=Numbers(5).normal(2, half)))
    query = Numbers(6).normal(2, 1, config.decoder.hidden)
    context, alignment = model.decoder.get_submodule("attention")(query, memory.attended, torch.tensor([0]))
    assert context.size(-1) == half
    (of_weights,) = torch.autograd.grad(alignment.weights.square().sum(), states, retain_graph=True)
    assert not of_weights[..., half:].any()
    assert bool(of_weights[0, :, :half].any(-1).all())
    (of_context,) = torch.autograd.grad(context.sum(), states)
    wanted = alignment.weights.transpose(-1, -2).expand(-1, -1, half)  # ∂ Σ c_t / ∂ value_s = a_t(s)
    assert_close(of_context[..., half:], wanted, 1e-12)
    assert_close(context, alignment.weights.detach() @ states[..., half:], 1e-12)


def test_values_do_not_decide_where_to_look():
    config, model = split_model("general", "after")
    half = config.encoder.hidden // 2
    states, last = Numbers(4).normal(2, 4, 2 * half), Numbers(5).normal(2, half)

    def looked_at(states: Tensor) -> Tensor:
        memory = model.decoder.make_memory(Encoded(states, torch.tensor([4, 2]), last=last))
        weights: Tensor = model.decoder(PAIRS[1].tokens, PAIRS[1].lengths, memory).alignment.weights
        return weights.detach()

    other_values, other_keys = states.clone(), states.clone()
    other_values[..., half:] = Numbers(7).normal(2, 4, half)
    other_keys[..., :half] = Numbers(8).normal(2, 4, half)
    assert torch.equal(looked_at(states), looked_at(other_values))
    assert not torch.allclose(looked_at(states), looked_at(other_keys))
