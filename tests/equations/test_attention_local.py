"""M10, M11: windows around t, and around a predicted place."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config.rnn import AttentionConfig
from dragoman.nn.attention import Attention
from dragoman.nn.attention.alignment import LocalPredictiveAligner
from testkit.generators import Numbers, many_cases, seeds
from tests.equations.comparison import Tensors, as_leaves, assert_close, assert_same, evaluate, parameters
from tests.equations.generators_attention import Look, looks, off_whole_numbers
from tests.equations.literal_attention import predicted_centre, window
from tests.equations.score_names import CONTENT_SCORES

LATEST = 14
"""A first step so late that the windows of local-m lie wholly behind any sentence here."""


def look_at(config: AttentionConfig, lengths: list[int], positions: list[int], *, src: int | None = None) -> Look:
    """Queries at these steps of every sentence. Sizes: 3."""
    numbers, batch = Numbers(5), len(lengths)
    return Look(
        config,
        queries=numbers.normal(batch, len(positions), 3),
        keys=numbers.normal(batch, src or max(lengths), 3),
        values=numbers.normal(batch, src or max(lengths), 2),
        lengths=torch.tensor(lengths),
        positions=torch.tensor([positions] * batch),
        seed=7,
    )


def local(alignment: str, window: int, score: str = "general") -> AttentionConfig:
    return AttentionConfig.model_validate({"score": score, "alignment": alignment, "window": window, "hidden": 2})


# -------------------------------------------------------------------------------------------------------------- local-m


@many_cases
@given(case=looks(alignment="local-m", latest=LATEST))
def test_local_m_at_any_step(case: Look):
    case.assert_is_its_equations()


@many_cases
@given(case=looks(alignment="local-m", latest=3, most_steps=5))
def test_local_m_near_the_sentence(case: Look):
    case.assert_is_its_equations()


@pytest.mark.parametrize("reach", [1, 2, 3, 4])
def test_local_m_at_every_edge(reach: int):
    """Every step from the first to one whose window has left the longest sentence, for every pair of lengths."""
    for length in range(1, 7):
        case = look_at(local("local-m", reach), [length, 6], list(range(6 + reach + 2)), src=8)
        case.assert_is_its_equations()


def test_local_m_centres_on_the_step():
    case = look_at(local("local-m", 1), [5], [0, 1, 2, 4, 5, 6, 9])
    found = case.at_once(case.attention(), case.given())
    looked_at = [row.nonzero().flatten().tolist() for row in found["weights"][0]]
    assert looked_at == [[0, 1], [0, 1, 2], [1, 2, 3], [3, 4], [4], [], []]
    assert found["centre"].tolist() == [[0, 1, 2, 4, 5, 6, 9]]
    sums = found["weights"][0].sum(-1)
    assert_close(sums, torch.tensor([1.0, 1, 1, 1, 1, 0, 0]), 1e-12)
    assert not found["context"][0, 5:].any()


# -------------------------------------------------------------------------------------------------------------- local-p


def centres(case: Look, attention: Attention) -> Tensor:
    """p_t, read literally. Shapes: -> [batch, tgt]."""
    weights = parameters(attention)
    rows = [
        torch.stack([predicted_centre(weights, h, length) for h in case.queries[row]])
        for row, length in enumerate(case.lengths.tolist())
    ]
    return torch.stack(rows).detach()


@many_cases
@given(case=looks(alignment="local-p", longest=7))
def test_local_p(case: Look):
    assume(off_whole_numbers(centres(case, case.attention())) > 1e-4)  # float32 could fall on either side
    case.assert_is_its_equations()


@dataclass(frozen=True)
class Aimed(Look):
    """A look whose predicted places are given: p_t = S · σ(10 tanh(first component of the query))."""

    def attention(self) -> Attention:
        made = super().attention()
        aligner = cast("LocalPredictiveAligner", made.aligner)
        with torch.no_grad():
            aligner.W_p.zero_()[:, 0] = 1.0
            aligner.v_p.fill_(10.0 / aligner.v_p.numel())
        return made


def aim(case: Look, places: Tensor) -> Aimed:
    """The case with queries that predict these places. Shapes: places [batch, tgt], inside (0, S)."""
    share = places / case.lengths.unsqueeze(1)
    queries = case.queries.clone()
    queries[..., 0] = torch.atanh((share / (1 - share)).log() / 10)
    return Aimed(case.config, queries, case.keys, case.values, case.lengths, case.positions, case.seed)


@st.composite
def aimed(draw: st.DrawFn, offsets: list[float]) -> Aimed:
    """Places at a given distance from whole numbers, both ends of the sentence among them."""
    case = draw(looks(alignment="local-p", longest=7))
    places = torch.empty(case.positions.shape, dtype=torch.float64)
    for row, length in enumerate(case.lengths.tolist()):
        for t in range(places.size(1)):
            place = draw(st.integers(0, length)) + draw(st.sampled_from(offsets))
            places[row, t] = min(max(place, 0.001), length - 0.001)
    return aim(case, places)


@many_cases
@given(case=aimed([-0.5, -0.49, -0.01, -0.001, 0.001, 0.01, 0.49, 0.5]))
def test_local_p_near_whole_numbers_and_at_both_ends(case: Aimed):
    case.assert_is_its_equations()


@many_cases
@given(case=aimed([-1e-6, -1e-10, 1e-10, 1e-6]))
def test_local_p_as_near_as_float64_can_tell(case: Aimed):
    attention, given = case.attention(), as_leaves(case.given(), torch.float64)
    leaves = {**parameters(attention), **given}
    assert off_whole_numbers(centres(case, attention)) > 1e-12
    wanted = evaluate(case.literal(parameters(attention), given), leaves)
    for road in (case.at_once, case.step_by_step):
        assert_same(evaluate(road(attention, given), leaves), wanted)


@many_cases
@given(case=looks(alignment="local-p", longest=7), even=st.integers(1, 3))
def test_local_p_at_a_whole_number_has_a_place_more(case: Look, even: int):
    """A query of zeros predicts S / 2 exactly: a window of 2 D + 1 places, where any other place has one of 2 D."""
    lengths = torch.full_like(case.lengths, 2 * even)
    keys = Numbers(case.seed).normal(len(lengths), 2 * even + 1, case.keys.size(-1))
    exact = replace(case, queries=torch.zeros_like(case.queries), keys=keys, values=None, lengths=lengths)
    assert centres(exact, exact.attention()).eq(even).all()
    exact.assert_is_its_equations()
    looked_at = (exact.at_once(exact.attention(), exact.given())["weights"] > 0).sum(-1)
    assert looked_at.eq(len(window(even, case.config.window, 2 * even))).all()


def test_the_window_holds_what_lies_within_reach_of_a_real_number():
    # [p − 2, p + 2] around 3 − ε, 3 + ε, 3.5, and at both ends of a sentence of 8
    case = aim(look_at(local("local-p", 2), [8], [0] * 5), torch.tensor([[2.999, 3.001, 3.5, 0.01, 7.99]]))
    weights = case.at_once(case.attention(), case.given())["weights"][0]
    looked_at = [row.nonzero().flatten().tolist() for row in weights]
    assert looked_at == [[1, 2, 3, 4], [2, 3, 4, 5], [2, 3, 4, 5], [0, 1, 2], [6, 7]]


def test_the_sentences_own_length_counts_not_the_padded_one():
    case = look_at(local("local-p", 2), [2, 4, 8], [0], src=11)
    case = replace(case, queries=torch.zeros_like(case.queries))
    assert case.at_once(case.attention(), case.given())["centre"].tolist() == [[1.0], [2.0], [4.0]]


def test_weights_are_not_normalised_again():
    """Align sums to one over the window, and the Gaussian takes from it: at p_t = 2 with D = 2, σ = 1."""
    case = replace(look_at(local("local-p", 2), [4], [0]), queries=torch.zeros(1, 1, 3, dtype=torch.float64))
    weights = case.at_once(case.attention(), case.given())["weights"][0, 0]  # a zero query scores every key alike
    wanted = [0.25 * math.exp(-2.0), 0.25 * math.exp(-0.5), 0.25, 0.25 * math.exp(-0.5)]
    assert weights.tolist() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("score", CONTENT_SCORES)
@pytest.mark.parametrize("road", ["at_once", "step_by_step"])
def test_the_gradient_reaches_the_predictor(score: str, road: str):
    """Through the Gaussian alone: by finite differences, and not by the oracle's autograd."""
    case = look_at(local("local-p", 2, score), [5, 7], [0, 1, 2])
    attention = case.attention()
    weights = {name: parameters(attention)[name] for name in ("aligner.v_p", "aligner.W_p")}

    def total() -> Tensor:
        outputs: Tensors = getattr(case, road)(attention, case.given())
        return (outputs["context"] * torch.arange(outputs["context"].numel()).view_as(outputs["context"]).cos()).sum()

    found = torch.autograd.grad(total(), list(weights.values()))
    for weight, gradient in zip(weights.values(), found, strict=True):
        assert bool((gradient.abs() > 1e-4).all())
        flat = weight.detach().view(-1)
        for place, analytic in enumerate(gradient.flatten().tolist()):
            assert difference(flat, place, total) == pytest.approx(analytic, rel=1e-5, abs=1e-8)


def difference(flat: Tensor, place: int, total: Callable[[], Tensor], step: float = 1e-5) -> float:
    """The central difference of a function of the parameter this is a view of."""
    kept = float(flat[place])
    values = []
    for shift in (step, -step):
        flat[place] = kept + shift
        values.append(float(total().detach()))
    flat[place] = kept
    return (values[0] - values[1]) / (2 * step)


# ------------------------------------------------------------------------------------------- only the window is touched


def outside_every_window(case: Look, attention: Attention) -> Tensor:
    """True for the positions that no step of their sentence sees. Shapes: -> [batch, src]."""
    at = case.positions.double() if case.config.alignment == "local-m" else centres(case, attention)
    outside = torch.ones(case.keys.shape[:2], dtype=torch.bool)
    for row, length in enumerate(case.lengths.tolist()):
        for centre in at[row].tolist():
            outside[row, window(centre, case.config.window, length)] = False
    return outside


@pytest.mark.parametrize("alignment", ["local-m", "local-p"])
@pytest.mark.parametrize("road", ["at_once", "step_by_step"])
@given(data=st.data())
def test_positions_outside_every_window_change_nothing(alignment: str, road: str, data: st.DataObject):
    case = data.draw(looks(alignment=alignment, longest=12, latest=LATEST))
    attention = case.attention()
    outside = outside_every_window(case, attention)
    given = as_leaves(case.given(), torch.float64)
    run = getattr(case, road)
    before = run(attention, given)
    gradients = evaluate(before, given).gradients
    noise = Numbers(data.draw(seeds)).normal(*outside.shape).unsqueeze(-1) * 100
    changed = dict(given)
    for name in given.keys() & {"keys", "values"}:
        assert not gradients[name][outside].any(), f"exactly zero gradient of {name}"
        changed[name] = torch.where(outside.unsqueeze(-1), given[name] + noise, given[name])
    for name, after in run(attention, changed).items():
        assert torch.equal(after, before[name]), name


@pytest.mark.parametrize("alignment", ["local-m", "local-p"])
@pytest.mark.parametrize("score", CONTENT_SCORES)
@pytest.mark.parametrize("src", [3, 40, 400])
def test_the_window_is_gathered_and_nothing_else_is_scored(alignment: str, score: str, src: int):
    case = look_at(local(alignment, 2, score), [src, 3], [0, 1])
    attention = case.attention()
    scored: list[tuple[int, ...]] = []
    attention.score.register_forward_pre_hook(lambda module, inputs: scored.append(tuple(inputs[1].shape[:-1])))
    case.at_once(attention, case.given())
    assert scored == [(2, 2, 5)]  # two sentences, two steps, 2 D + 1 places each, however long the source
