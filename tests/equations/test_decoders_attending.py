"""M7, M8: whole models that attend before their cell steps, and after; and that the two are not the same."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.rnn import RnnConfig, Wiring
from dragoman.models import build_model
from dragoman.nn.attention.score import ConcatScore
from dragoman.nn.recurrent import CELLS
from testkit.generators import Numbers, Sentences, many_cases, randomised, sentence_batches
from tests.equations.comparison import assert_close, parameters
from tests.equations.generators_attention import (
    ATTENDING,
    VOCAB,
    Translating,
    Translator,
    small_config,
    translating,
    windows_are_clear,
)
from tests.equations.score_names import CONTENT_SCORES

BEFORE = [wiring for wiring in ATTENDING if wiring.attend == "before"]
AFTER = [wiring for wiring in ATTENDING if wiring.attend == "after"]
OTHER_ALIGNMENTS = ["local-m", "local-p", "hard"]


def small(cell: str = "gru-published", **decoder: Any) -> RnnConfig:
    """Two layers, additive attention."""
    return small_config(cell, layers=2, hidden=3, attention={"score": "concat"}, **decoder)


PAIRS = (
    Sentences(Numbers(1).tokens(VOCAB, 3, 5), torch.tensor([3, 1, 5])),
    Sentences(Numbers(2).tokens(VOCAB, 3, 4), torch.tensor([4, 2, 1])),
)


# ------------------------------------------------------------------------------------------------- attending before: M7


@pytest.mark.slow
@many_cases
@given(case=translating(wirings=BEFORE, scores=["concat"]))
def test_attending_before_the_cell(case: Translating):
    """With a linear output and with the deep one."""
    case.assert_is_its_equations()


@pytest.mark.slow
@many_cases
@given(case=translating(wirings=BEFORE, scores=CONTENT_SCORES, alignments=OTHER_ALIGNMENTS, most_layers=1))
def test_attending_before_the_cell_with_other_alignments(case: Translating):
    assume(windows_are_clear(case))
    case.assert_is_its_equations()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("output", ["linear", "deep"])
def test_every_cell_after_its_context(cell: str, output: str):
    Translating(small(cell, attend="before", output=output), *PAIRS, seed=3).assert_is_its_equations()


@pytest.mark.parametrize("cell", CELLS)
def test_the_first_state_is_made_of_the_backward_state_at_the_first_word(cell: str):
    """s_0 = tanh(W_s ←h_1), for every layer and every part of a state; ←h_1 is the right half of the first state."""
    case = Translating(small(cell, attend="before"), *PAIRS, seed=4)
    model = case.model()
    memory = case.make_memory(model)
    states = model.encoder(case.source.tokens, case.source.lengths, None).states
    backward = states[:, 0, 3:]  # [batch, hidden of one direction]
    W_s, bias = (parameters(model)[f"decoder.begin.W_s.{name}"] for name in ("weight", "bias"))
    wanted = torch.tanh(backward @ W_s.t() + bias)
    found = torch.cat([part for layer in model.decoder.start(memory).layers for part in layer], 1)
    assert_close(found, wanted, 1e-12)


@given(source=sentence_batches(VOCAB))
def test_padding_does_not_reach_the_first_state(source: Sentences):
    model = randomised(build_model(small(attend="before"), VOCAB, VOCAB), 5)
    together = model.encode(source.tokens, source.lengths).first
    for row, length in enumerate(source.lengths.tolist()):
        alone = model.encode(source.tokens[row : row + 1, :length], source.lengths[row : row + 1]).first
        for layer, other in zip(together, alone, strict=True):
            assert_close(layer[0][row], other[0][0], 1e-12)


@pytest.mark.parametrize("wiring", ATTENDING, ids=str)
@pytest.mark.parametrize("road", ["at_once", "step_by_step"])
def test_what_the_keys_alone_decide_is_computed_once_a_sentence(wiring: Wiring, road: str):
    """U h_j: one product for the whole batch when it is encoded, none at any step."""
    case = Translating(small(**wiring._asdict()), *PAIRS, seed=3)
    model = case.model()
    with mock.patch.object(ConcatScore, "prepare", autospec=True, side_effect=ConcatScore.prepare) as prepare:
        getattr(case, road)(model, {})
    assert [call.args[1].shape for call in prepare.call_args_list] == [(3, 5, 6)]


# -------------------------------------------------------------------------------------------------- attending after: M8


@pytest.mark.slow
@pytest.mark.parametrize("wiring", AFTER, ids=["alone", "fed back"])
@many_cases
@given(data=st.data())
def test_attending_after_the_cell(wiring: Wiring, data: st.DataObject):
    data.draw(translating(wirings=[wiring])).assert_is_its_equations()


@pytest.mark.slow
@many_cases
@given(case=translating(wirings=AFTER, scores=CONTENT_SCORES, alignments=OTHER_ALIGNMENTS, most_layers=1))
def test_attending_after_the_cell_with_other_alignments(case: Translating):
    assume(windows_are_clear(case))
    case.assert_is_its_equations()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("feeding", [False, True])
def test_every_cell_before_its_context(cell: str, feeding: bool):
    Translating(small(cell, attend="after", input_feeding=feeding), *PAIRS, seed=3).assert_is_its_equations()


# ------------------------------------------------------------------------------- the previous context in the query: M22


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(
    "decoder", [{"attend": "before"}, {"attend": "after"}, {"attend": "after", "input_feeding": True}], ids=str
)
def test_the_previous_context_in_the_query(cell: str, decoder: dict[str, Any]):
    Translating(small(cell, query_context=True, **decoder), *PAIRS, seed=3).assert_is_its_equations()


@pytest.mark.parametrize("attend", ["before", "after"])
@pytest.mark.parametrize(
    "attention",
    [
        {"score": "general"},
        {"score": "location", "positions": 6},
        {"score": "general", "alignment": "hard"},
        {"score": "concat", "alignment": "local-m", "window": 2},
        {"score": "concat", "alignment": "local-p", "window": 2},
        {"score": "general", "memory": "split"},
    ],
    ids=str,
)
def test_the_previous_context_in_the_query_of_other_attention(attend: str, attention: dict[str, Any]):
    config = small_config("lstm", layers=1, hidden=4, attention=attention, attend=attend, query_context=True)
    case = Translating(config, *PAIRS, seed=3)
    assert windows_are_clear(case)
    case.assert_is_its_equations()


@pytest.mark.parametrize("attend", ["before", "after"])
def test_the_previous_context_changes_the_second_step_and_not_the_first(attend: str):
    """c_0 is zero, so that the first step has the query without it."""
    model = randomised(build_model(small(attend=attend, query_context=True), VOCAB, VOCAB), 6)
    source, target = PAIRS
    memory = model.encode(source.tokens, source.lengths)
    with torch.no_grad():
        before = model.decoder(target.tokens, target.lengths, memory).alignment.weights
        dict(model.named_parameters())["decoder.attention.score.W_q"][:, 3:] += 1.0  # the part of the context
        after = model.decoder(target.tokens, target.lengths, memory).alignment.weights
    assert torch.equal(before[:, 0], after[:, 0])
    assert not torch.allclose(before[0, 1], after[0, 1])


# ---------------------------------------------------------------------------------------------- the two routes differ


def same_weights(*, context_enters: bool) -> tuple[Translator, Translator]:
    """A model that attends before, and one that attends after, with the same numbers wherever both have them.

    The cell of the first has inputs more, for the context; with zeros there it is the cell of the second.
    """
    before, after = (randomised(build_model(small(attend=attend), VOCAB, VOCAB), 6) for attend in ("before", "after"))
    mine, others = dict(before.named_parameters()), dict(after.named_parameters())
    lowest = "decoder.stack.cells.0.W"
    with torch.no_grad():
        for name in (mine.keys() & others.keys()) - {lowest}:
            mine[name].copy_(others[name])
        words = others[lowest].size(1)
        mine[lowest][:, :words] = others[lowest]
        if not context_enters:
            mine[lowest][:, words:] = 0.0
    return before, after


def looked_at(model: Translator) -> tuple[Tensor, list[Tensor]]:
    """A batch of one: its weights step by step, and the queries that were asked. Shapes: weights [tgt, src]."""
    source, inputs = torch.tensor([[4, 1, 3, 2]]), torch.tensor([[2, 4, 1, 3, 3]])
    queries: list[Tensor] = []
    attention = model.decoder.get_submodule("attention")
    hook = attention.register_forward_pre_hook(lambda module, args: queries.extend(args[0][0].detach()))
    decoded = model(source, torch.tensor([4]), inputs, torch.tensor([5]))
    hook.remove()
    return decoded.alignment.weights[0].detach(), queries


def test_one_asks_with_the_state_before_the_word_the_other_with_the_state_after_it():
    """With the context kept out of the cell both have the same states, and one is a step behind the other."""
    before, after = same_weights(context_enters=False)
    (weights_before, queries_before), (weights_after, queries_after) = looked_at(before), looked_at(after)
    first = before.encode(torch.tensor([[4, 1, 3, 2]]), torch.tensor([4])).first[-1][0][0]
    assert_close(queries_before[0], first, 1e-12)
    for t in range(4):
        assert_close(queries_before[t + 1], queries_after[t], 1e-12)
        assert_close(weights_before[t + 1], weights_after[t], 1e-12)
    for t in range(5):
        assert float((weights_before[t] - weights_after[t]).abs().max()) > 1e-3


def test_the_two_routes_look_at_different_places_where_the_context_enters_the_cell():
    """Then one is not even the other a step later."""
    before, after = same_weights(context_enters=True)
    (weights_before, _), (weights_after, _) = looked_at(before), looked_at(after)
    assert float((weights_before - weights_after).abs().amax(-1).min()) > 1e-4
    assert float((weights_before[1:] - weights_after[:-1]).abs().amax(-1).min()) > 1e-4
