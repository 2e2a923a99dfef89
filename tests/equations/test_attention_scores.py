"""M9: the five score functions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.rnn import AttentionConfig
from dragoman.nn.attention.score import (
    ConcatScore,
    DotScore,
    GeneralScore,
    LocationScore,
    ScaledDotScore,
    ScoreFunction,
)
from dragoman.nn.attention.single_head import build_attention
from testkit.generators import Numbers, many_cases, randomised, seeds, sizes
from tests.equations.comparison import Tensors, assert_agrees, assert_close
from tests.equations.generators_attention import Look, looks
from tests.equations.literal_attention import score as literal_score
from tests.equations.literal_recurrent import Weights
from tests.equations.score_names import CONTENT_SCORES, EVERY_SCORE, SAME_SIZE_SCORES


@dataclass(frozen=True)
class Case:
    """Queries and keys with any leading dimensions. Shapes: queries [*, tgt, query], keys [*, src, key]."""

    config: AttentionConfig
    queries: Tensor
    keys: Tensor
    seed: int

    def score(self) -> ScoreFunction:
        made = build_attention(self.config, self.queries.size(-1), self.keys.size(-1)).score
        return randomised(made, self.seed)

    def given(self) -> dict[str, Tensor]:
        return {"queries": self.queries, "keys": self.keys}

    def shipped(self, score: ScoreFunction, given: Tensors) -> Tensors:
        return {"scores": score(given["queries"], score.prepare(given["keys"]))}

    def literal(self, weights: Weights, given: Tensors) -> Tensors:
        named = {f"score.{name}": weight for name, weight in weights.items()}
        scores = []
        for queries, keys in zip(given["queries"].flatten(0, -3), given["keys"].flatten(0, -3), strict=True):
            for h in queries:
                for s, key in enumerate(keys):
                    value = literal_score(self.config, named, h, key, s)
                    assert value is not None
                    scores.append(value)
        return {"scores": torch.stack(scores).view(*self.queries.shape[:-1], self.keys.size(-2))}


@st.composite
def cases(draw: st.DrawFn, score: str) -> Case:
    leading = draw(st.lists(sizes(1, 3), min_size=1, max_size=2))
    tgt, src, key_size = draw(sizes(1, 3)), draw(sizes(1, 5)), draw(sizes(1, 4))
    query_size = key_size if score in SAME_SIZE_SCORES else draw(sizes(1, 4))
    config = AttentionConfig.model_validate(
        {"score": score, "hidden": draw(sizes(1, 4)), "positions": src + draw(st.integers(0, 2))}
    )
    numbers = Numbers(draw(seeds))
    queries, keys = numbers.normal(*leading, tgt, query_size), numbers.normal(*leading, src, key_size)
    return Case(config, queries, keys, draw(seeds))


@pytest.mark.parametrize("score", EVERY_SCORE)
@many_cases
@given(data=st.data())
def test_every_score_is_its_equation(score: str, data: st.DataObject):
    case = data.draw(cases(score))
    assert_agrees(case.score(), case.given(), case.shipped, case.literal)


@pytest.mark.parametrize("name", EVERY_SCORE)
@many_cases
@given(data=st.data())
def test_every_score_under_a_softmax(name: str, data: st.DataObject):
    """As a decoder uses it; for location also with sources longer than its positions."""
    data.draw(looks(scores=[name])).assert_is_its_equations()


# -------------------------------------------------------------------------------------------------------- known numbers

H = torch.tensor([[[1.0, 2.0, -1.0, 0.5]]])  # [1, 1, 4]
KEYS = torch.tensor([[[1.0, 1.0, 1.0, 2.0], [0.0, -1.0, 0.0, 4.0]]])  # [1, 2, 4]


def of(score: ScoreFunction, keys: Tensor = KEYS) -> list[float]:
    with torch.no_grad():
        found: list[float] = score(H, score.prepare(keys))[0, 0].tolist()
    return found


def test_dot_and_its_scaled_form():
    assert of(DotScore()) == [3.0, 0.0]
    assert of(ScaledDotScore()) == [1.5, 0.0]  # divided by √4, not by 4 and not by a root of the score


def test_general_has_the_query_on_its_left():
    score = GeneralScore(query=4, key=2)
    with torch.no_grad():
        score.W_a.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]))
    assert of(score, torch.tensor([[[1.0, 0.0], [0.0, 1.0], [3.0, 5.0]]])) == [2.0, 2.0, 16.0]


def test_concat_adds_before_the_tanh():
    score = ConcatScore(query=4, key=4, hidden=1)
    with torch.no_grad():
        score.W_q.copy_(torch.tensor([[1.0, 0.0, 0.0, 0.0]]))
        score.U_k.copy_(torch.tensor([[0.0, 1.0, 0.0, 0.0]]))
        score.v_a.fill_(2.0)
    assert of(score) == pytest.approx([2 * math.tanh(2.0), 0.0])


def test_location_looks_at_no_key():
    score = LocationScore(query=4, positions=3)
    with torch.no_grad():
        score.W_a.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]]))
    assert of(score) == of(score, 100 * KEYS) == [1.0, 2.0]
    assert of(score, torch.zeros(1, 5, 7)) == [1.0, 2.0, -1.0, *[torch.finfo(torch.float32).min] * 2]


# --------------------------------------------------------------------------------- a source longer than the positions


@many_cases
@given(case=looks(scores=["location"], longest=7))
def test_words_beyond_the_last_position_are_never_attended_to(case: Look):
    positions = case.config.positions
    attention, given = case.attention(), {name: x.clone().requires_grad_() for name, x in case.given().items()}
    found = case.at_once(attention, given)
    assert not found["weights"][..., positions:].any()
    assert_close(found["weights"].sum(-1), torch.ones(found["weights"].shape[:-1]), 1e-12)
    values = given.get("values", given["keys"])
    (gradient,) = torch.autograd.grad(found["context"].sum(), values)
    assert not gradient[:, positions:].any()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_source_far_longer_than_the_positions(dtype: torch.dtype):
    config = AttentionConfig(score="location", positions=2)
    numbers = Numbers(3)
    source = numbers.normal(1, 50, 3)
    case = Look(config, 30 * numbers.normal(1, 4, 3), source, None, torch.tensor([50]), torch.arange(4).unsqueeze(0), 1)
    attention = case.attention().to(dtype)
    given = {name: x.to(dtype) for name, x in case.given().items()}
    changed = {**given, "keys": torch.cat([given["keys"][:, :2], 1e6 * given["keys"][:, 2:]], 1)}
    assert torch.equal(case.at_once(attention, given)["context"], case.at_once(attention, changed)["context"])
    assert torch.isfinite(case.at_once(attention, given)["weights"]).all()


@pytest.mark.parametrize("name", CONTENT_SCORES)
def test_the_other_scores_need_their_keys(name: str):
    config = AttentionConfig.model_validate({"score": name})
    case = Case(config, Numbers(1).normal(1, 1, 2), Numbers(2).normal(1, 2, 2), 3)
    score = case.score()
    turned = {**case.given(), "keys": -case.keys}
    assert not torch.equal(case.shipped(score, case.given())["scores"], case.shipped(score, turned)["scores"])
