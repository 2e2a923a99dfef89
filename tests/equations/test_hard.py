"""M13: hard attention. Which place it takes, how it draws one, and that what it learns from is unbiased."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config import AttentionConfig, RnnConfig, TrainingConfig
from dragoman.data.batch import Batch
from dragoman.models import build_model
from dragoman.nn.attention import Alignment
from dragoman.nn.attention.alignment import HardAligner
from dragoman.nn.attention.single_head import build_attention
from dragoman.nn.stateless_noise import Noise, number_sites
from dragoman.training.step import RewardBaseline, objective, reinforce_loss
from testkit.generators import Numbers, Padded, lengths, many_cases, padded_batches, randomised, seeds
from tests.equations.comparison import assert_close, assert_same, evaluate, parameters
from tests.equations.generators_attention import VOCAB, Look, Translator, looks, small_config
from tests.equations.literal_attention import DECODERS
from tests.equations.literal_recurrent import Weights, encode

# ------------------------------------------------------------------------------------------------ the most likely place


@many_cases
@given(case=looks(alignment="hard"))
def test_without_noise_the_most_likely_place(case: Look):
    """Also log p(s_t), the entropy, and the gradients of both."""
    case.assert_is_its_equations()


def test_one_place_gets_all_the_weight():
    case = Look(
        AttentionConfig(score="dot", alignment="hard"),
        queries=torch.tensor([[[1.0, 0.0]]], dtype=torch.float64),
        keys=torch.tensor([[[0.1, 5.0], [0.3, 6.0], [0.2, 7.0], [9.0, 8.0]]], dtype=torch.float64),
        values=None,
        lengths=torch.tensor([3]),  # the fourth, with the highest score, is padding
        positions=torch.zeros(1, 1, dtype=torch.long),
        seed=0,
    )
    found = case.at_once(case.attention(), case.given())
    assert found["weights"].tolist() == [[[0.0, 1.0, 0.0, 0.0]]]
    assert found["context"].tolist() == [[[0.3, 6.0]]]
    soft = [math.exp(score) / (math.exp(0.1) + math.exp(0.3) + math.exp(0.2)) for score in (0.1, 0.3, 0.2)]
    assert found["log_prob"].item() == pytest.approx(math.log(soft[1]), abs=1e-12)
    assert found["entropy"].item() == pytest.approx(-sum(p * math.log(p) for p in soft), abs=1e-12)


@given(case=looks(alignment="hard"))
def test_the_context_has_no_gradient_to_the_score(case: Look):
    """Only log p(s_t) and the entropy have one: the choice itself is not differentiable."""
    attention, given = case.attention(), {name: x.clone().requires_grad_() for name, x in case.given().items()}
    context = case.at_once(attention, given)["context"]
    leaves = [given["queries"], *attention.parameters()]
    assert torch.autograd.grad(context.sum(), leaves, allow_unused=True) == (None,) * len(leaves)


# -------------------------------------------------------------------------------------------------------------- drawing

SHARES = torch.tensor([0.4, 0.05, 0.25, 0.1, 0.2], dtype=torch.float64)
CRITICAL = {4: 18.47, 16: 39.25}
"""The 99.9 % quantile of chi-square by degrees of freedom."""

DRAWS = 20_000


def draw(noise: Noise, *, tgt: int = 1, scores: Tensor | None = None) -> Tensor:
    """The places every row of the noise draws, all under one distribution. Shapes: scores [src] -> [batch, tgt]."""
    scores = SHARES.log() if scores is None else scores
    batch, src = len(noise.key), len(scores)
    attention = build_attention(AttentionConfig(score="dot", alignment="hard"), src, src)
    number_sites(attention)
    units = torch.eye(src, dtype=torch.float64).expand(batch, -1, -1)  # so a query's s-th component scores place s
    memory = attention.make_memory(units, units, torch.full((batch,), src))
    context, alignment = attention(scores.expand(batch, tgt, -1), memory, torch.arange(tgt), noise)
    assert torch.equal(context, alignment.weights)
    places: Tensor = alignment.weights.argmax(-1)
    return places


def chi_square(counts: Tensor, shares: Tensor) -> float:
    """Σ (seen − expected)² / expected. Shapes: both the same."""
    expected = shares * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def test_sentences_draw_places_as_often_as_their_weights_say():
    places = draw(Noise.of(seed=1, step=1, rows=torch.arange(DRAWS)))[:, 0]
    seen = places.bincount(minlength=5)
    assert chi_square(seen, SHARES) < CRITICAL[4]
    assert chi_square(seen, torch.full((5,), 0.2)) > 10 * CRITICAL[4], "the test can fail"


def test_steps_of_one_sentence_draw_places_as_often_as_their_weights_say():
    places = draw(Noise.of(seed=2, step=1, rows=torch.tensor([11])), tgt=DRAWS)[0]
    assert chi_square(places.bincount(minlength=5), SHARES) < CRITICAL[4]


def test_updates_draw_places_as_often_as_their_weights_say():
    places = torch.cat([draw(Noise.of(seed=3, step=step, rows=torch.tensor([11])))[0] for step in range(2000)])
    assert chi_square(places.bincount(minlength=5), SHARES) < CRITICAL[4]


@pytest.mark.parametrize("which", ["steps", "sentences", "updates", "seeds"])
def test_two_draws_know_nothing_of_each_other(which: str):
    rows = torch.arange(DRAWS)
    if which == "steps":
        first, second = draw(Noise.of(4, 1, rows), tgt=2).unbind(1)
    else:
        other = {"sentences": (4, 1, rows + DRAWS), "updates": (4, 2, rows), "seeds": (5, 1, rows)}[which]
        first, second = draw(Noise.of(4, 1, rows))[:, 0], draw(Noise.of(*other))[:, 0]
    pairs = (first * 5 + second).bincount(minlength=25).view(5, 5)
    independent = pairs.sum(1, keepdim=True) * pairs.sum(0) / DRAWS**2
    assert chi_square(pairs, independent) < CRITICAL[16]
    always_alike = (first * 5 + first).bincount(minlength=25).view(5, 5)
    assert chi_square(always_alike, independent) > 10 * CRITICAL[16], "the test can fail"


def test_a_place_without_weight_is_never_drawn():
    noise = Noise.of(6, 1, torch.arange(2000))
    assert draw(noise, scores=torch.tensor([-900.0, 0.0, -900.0, 0.0, -900.0]).double()).unique().tolist() == [1, 3]
    assert draw(noise, scores=torch.tensor([0.0, -900.0, -900.0, -900.0, -900.0]).double()).unique().tolist() == [0]
    assert draw(noise, scores=torch.tensor([-900.0, -900.0, -900.0, -900.0, 0.0]).double()).unique().tolist() == [4]


@many_cases
@given(case=looks(alignment="hard"), seed=seeds, update=st.integers(1, 1000))
def test_a_draw_depends_on_the_sentence_and_not_on_its_company(case: Look, seed: int, update: int):
    """Nor on the padding, nor on how many steps are taken at once."""
    attention, rows = case.attention(), torch.arange(len(case.lengths)) + 17
    memory = case.make_memory(attention, case.given())
    _, together = attention(case.queries, memory, case.positions, Noise.of(seed, update, rows))
    for row, length in enumerate(case.lengths.tolist()):
        assert not together.weights[row, :, length:].any(), "padding is never drawn"
        mine, noise = slice(row, row + 1), Noise.of(seed, update, rows[row : row + 1])
        values = None if case.values is None else case.values[mine, :length]
        alone = replace(
            case, queries=case.queries[mine], keys=case.keys[mine, :length], values=values, lengths=case.lengths[mine]
        )
        memory = alone.make_memory(attention, alone.given())
        for t in range(case.positions.size(1)):
            _, single = attention(alone.queries[:, t : t + 1], memory, case.positions[mine, t : t + 1], noise)
            assert torch.equal(single.weights[0, 0], together.weights[row, t, :length])


def test_a_draw_in_a_whole_model_depends_on_the_sentence_and_not_on_its_company():
    model = randomised(build_model(WIRINGS["after, fed back"], VOCAB + 4, VOCAB + 4), 3)
    pairs = [([4, 5, 6], [5, 6, 7, 4]), ([7, 4, 5, 6, 4], [4]), ([5], [6, 6])]

    def weights(chosen: list[int]) -> list[Tensor]:
        batch = Batch.from_pairs([pairs[n] for n in chosen], rows=[100 + n for n in chosen])
        noise = Noise.of(9, 4, batch.rows)
        decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, noise)
        sizes = zip(batch.target_lengths.tolist(), batch.source_lengths.tolist(), strict=True)
        return [decoded.alignment.weights[row, :tgt, :src] for row, (tgt, src) in enumerate(sizes)]

    together = weights([0, 1, 2])
    for order in ([0], [1], [2], [2, 0], [1, 2, 0]):
        for number, found in zip(order, weights(order), strict=True):
            assert torch.equal(found, together[number])


# -------------------------------------------------------------------------------------------- REINFORCE without a model


def loop_over_reinforce(
    given: Padded, log_prob: Tensor, entropy: Tensor, mean: float, weight: float, entropy_weight: float
) -> Tensor:
    """−Σ_t (Σ_{u ≥ t} (log p(y_u) − b)) log p(s_t) − λ_e Σ_t H_t, sentence by sentence, step by step."""
    total = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(given.lengths.tolist()):
        for t in range(length):
            reward = 0.0
            for u in range(t, length):
                reward += float(-given.values[row, u, 0]) - mean
            total = total - weight * reward * log_prob[row, t] - entropy_weight * entropy[row, t]
    return total


@many_cases
@given(
    batch=padded_batches(1),
    mean=st.sampled_from([None, 0.0, -1.25, 0.5]),
    weight=st.sampled_from([1.0, 0.3]),
    entropy_weight=st.sampled_from([0.0, 0.01, 2.0]),
    seed=seeds,
)
def test_the_reinforce_and_entropy_terms(
    batch: Padded, mean: float | None, weight: float, entropy_weight: float, seed: int
):
    numbers, shape = Numbers(seed), batch.values.shape[:2]
    log_prob, entropy = (-numbers.normal(*shape).abs()).requires_grad_(), numbers.normal(*shape).requires_grad_()
    losses = batch.values[..., 0].clone().requires_grad_()
    alignment = Alignment(torch.zeros(*shape, 1), log_prob=log_prob, entropy=entropy)
    found = reinforce_loss(
        alignment, losses, batch.lengths, RewardBaseline(0.9, mean), weight=weight, entropy_weight=entropy_weight
    )
    wanted = loop_over_reinforce(batch, log_prob, entropy, mean or 0.0, weight, entropy_weight)
    leaves = {"log_prob": log_prob, "entropy": entropy, "losses": losses}
    assert_same(evaluate({"loss": found}, leaves), evaluate({"loss": wanted}, leaves))


@many_cases
@given(data=st.data(), decay=st.sampled_from([0.0, 0.5, 0.9]), seed=seeds)
def test_the_baseline_is_a_moving_average_of_the_words_log_probability(data: st.DataObject, decay: float, seed: int):
    baseline, average = RewardBaseline(decay), None
    for number in range(3):
        tgt = data.draw(lengths())
        losses = Numbers(seed + number).normal(len(tgt), int(tgt.max())).abs()
        words = []
        for row, length in enumerate(tgt.tolist()):
            losses[row, length:] = 0.0
            words += [-float(loss) for loss in losses[row, :length]]
        now = sum(words) / len(words)
        average = now if average is None else decay * average + (1 - decay) * now
        baseline = baseline.after(float(losses.sum()), int(tgt.sum()))
        assert baseline.mean == pytest.approx(average, abs=1e-12)


# ------------------------------------------------------------------------------------------------ REINFORCE is unbiased


def hard(score: str, **decoder: Any) -> RnnConfig:
    return small_config(attention={"score": score, "alignment": "hard", "positions": 3}, **decoder)


WIRINGS = {
    "before": hard("general", attend="before"),
    "before, deep output": hard("concat", attend="before", output="deep"),
    "after": hard("dot", attend="after"),
    "after, fed back": hard("location", attend="after", input_feeding=True),
}


@contextmanager
def looking_at(places: Tensor) -> Iterator[None]:
    """Hard attention draws these places. Shapes: [batch, tgt]."""

    def draw(aligner: HardAligner, soft: Tensor, positions: Tensor, noise: Noise) -> Tensor:
        return places.gather(1, positions.expand(soft.size(0), -1))

    with mock.patch.object(HardAligner, "_draw", draw):
        yield


def ways(batch: Batch) -> list[Tensor]:
    """Every combination of source positions, one per target step. Shapes: each [batch, tgt]."""
    choices = []
    for src, tgt in zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True):
        spare = batch.inputs.size(1) - tgt
        choices.append([(*way, *[0] * spare) for way in itertools.product(range(src), repeat=tgt)])
    return [torch.tensor(way) for way in itertools.product(*choices)]


def log_joint(config: RnnConfig, weights: Weights, batch: Batch, places: Tensor) -> tuple[Tensor, Tensor]:
    """log p(places) and log p(labels | places) of a batch, from the literal decoder."""
    of_places, of_labels = torch.zeros(2, dtype=torch.float64).unbind()
    for row, (src, tgt) in enumerate(zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)):
        encoding = encode(config, weights, batch.source[row, :src].tolist())
        decode = DECODERS[config.decoder.attend]
        steps = decode(config, weights, encoding, batch.inputs[row, :tgt].tolist(), places[row].tolist())
        for t, step in enumerate(steps):
            assert step.attended.log_prob is not None
            of_places = of_places + step.attended.log_prob
            of_labels = of_labels + step.log_probs[batch.labels[row, t]]
    return of_places, of_labels


def exact_gradients(config: RnnConfig, weights: dict[str, Tensor], batch: Batch) -> dict[str, Tensor]:
    """The gradient of −E[log p(labels | places)] over every way to look."""
    expected = torch.zeros((), dtype=torch.float64)
    for places in ways(batch):
        of_places, of_labels = log_joint(config, weights, batch, places)
        expected = expected - of_places.exp() * of_labels
    return evaluate_gradients(expected, weights)


def expected_estimate(
    config: RnnConfig, model: Translator, batch: Batch, baseline: RewardBaseline, **training: Any
) -> dict[str, Tensor]:
    """The mean of the gradient estimates, each combination weighted by its probability."""
    weights = parameters(model)
    mean = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    settings = TrainingConfig.model_validate({"entropy_weight": 0.0, **training})
    likely = 0.0
    for places in ways(batch):
        with torch.no_grad():
            probability = float(log_joint(config, weights, batch, places)[0].exp())
        likely += probability
        with looking_at(places):
            total = objective(model, batch, settings, Noise.of(1, 1, batch.rows), baseline).total
        for name, gradient in evaluate_gradients(total, weights).items():
            mean[name] += probability * gradient
    assert likely == pytest.approx(1.0, abs=1e-12)
    return mean


def evaluate_gradients(total: Tensor, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    found = torch.autograd.grad(total, list(weights.values()), allow_unused=True, materialize_grads=True)
    return dict(zip(weights, found, strict=True))


def assert_unbiased(config: RnnConfig, model: Translator, batch: Batch, baseline: RewardBaseline) -> None:
    wanted = exact_gradients(config, parameters(model), batch)
    for name, gradient in expected_estimate(config, model, batch, baseline).items():
        assert_close(gradient, wanted[name], 1e-9, name)


def tiny_model(config: RnnConfig, seed: int) -> Translator:
    return randomised(build_model(config, VOCAB + 4, VOCAB + 4), seed, scale=1.0)


ONE = Batch.from_pairs([([4, 6], [7, 5])])  # three places (the end counts), three words: 27 ways to look
TWO = Batch.from_pairs([([5], [4]), ([6], [])])  # 2 positions, 2 words; 2 positions, 1 word: 8 combinations


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("mean", [None, 0.0, -1.7])
def test_the_estimate_is_unbiased(wiring: str, mean: float | None):
    config = WIRINGS[wiring]
    for batch in (ONE, TWO):
        assert_unbiased(config, tiny_model(config, 1), batch, RewardBaseline(0.9, mean))


@pytest.mark.slow
@many_cases
@given(
    wiring=st.sampled_from(sorted(WIRINGS)),
    batch=st.sampled_from([TWO, Batch.from_pairs([([4], [5])])]),
    mean=st.sampled_from([0.0, -2.0, 1.0]),
    seed=seeds,
)
def test_the_estimate_is_unbiased_for_any_weights(wiring: str, batch: Batch, mean: float, seed: int):
    assert_unbiased(WIRINGS[wiring], tiny_model(WIRINGS[wiring], seed), batch, RewardBaseline(0.9, mean))


def test_an_estimate_without_the_reinforce_term_is_biased():
    """So the tests above can fail: the likelihood alone does not teach where to look."""
    config = WIRINGS["before"]
    model = tiny_model(config, 1)
    wanted = exact_gradients(config, parameters(model), TWO)
    found = expected_estimate(config, model, TWO, RewardBaseline(0.9), reinforce_weight=0.0)
    off = {name: float((found[name] - wanted[name]).abs().max()) for name in wanted}
    assert off["decoder.attention.score.W_a"] > 1e-3
    assert off["decoder.output.weight"] < 1e-9


@pytest.mark.parametrize("wiring", WIRINGS)
def test_the_entropy_is_rewarded(wiring: str):
    """The term adds −λ_e Σ_t ∂H_t, the mean of it over the places drawn."""
    config, batch = WIRINGS[wiring], TWO
    model = tiny_model(config, 2)
    weights = parameters(model)
    without = expected_estimate(config, model, batch, RewardBaseline(0.9))
    rewarded = expected_estimate(config, model, batch, RewardBaseline(0.9), entropy_weight=0.25)
    wanted = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for places in ways(batch):
        probability = log_joint(config, weights, batch, places)[0].detach().exp()
        for name, gradient in evaluate_gradients(-0.25 * entropies(config, weights, batch, places), weights).items():
            wanted[name] += probability * gradient
    for name in weights:
        assert_close(rewarded[name] - without[name], wanted[name], 1e-9, name)
    assert max(float(gradient.abs().max()) for gradient in wanted.values()) > 1e-4


def entropies(config: RnnConfig, weights: Weights, batch: Batch, places: Tensor) -> Tensor:
    """Σ_t H_t of a batch, from the literal decoder."""
    total = torch.zeros((), dtype=torch.float64)
    for row, (src, tgt) in enumerate(zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)):
        encoding = encode(config, weights, batch.source[row, :src].tolist())
        decode = DECODERS[config.decoder.attend]
        for step in decode(config, weights, encoding, batch.inputs[row, :tgt].tolist(), places[row].tolist()):
            assert step.attended.entropy is not None
            total = total + step.attended.entropy
    return total
