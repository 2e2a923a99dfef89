"""Guided alignment: the cross-entropy between links and attention, and the aligner that finds the links."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.config import TrainingConfig, TransformerConfig
from dragoman.config.training import GuidedAlignmentConfig
from dragoman.data.batch import Batch
from dragoman.data.preparation.link_stage import hmm_posteriors, jump_matrix
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.models import build_model
from dragoman.training.step import RewardBaseline, guided_alignment_loss, objective
from testkit.generators import Numbers, many_cases, randomised, seeds, sizes
from tests.equations.comparison import Tensors, as_leaves, assert_same, evaluate, parameters


def literal_loss(weights: Tensor, links: set[tuple[int, int, int]]) -> Tensor:
    """−Σ_t Σ_s G_{t,s} log a_t(s), one target token at a time."""
    loss = torch.zeros((), dtype=torch.float64)
    for sentence, target in {(sentence, target) for sentence, target, _ in links}:
        sources = [source for row, word, source in links if (row, word) == (sentence, target)]
        for source in sources:
            loss = loss - weights[sentence, target, source].log() / len(sources)
    return loss


@many_cases
@given(st.data())
def test_the_term_is_its_equation(data: st.DataObject):
    batch, tgt, src = (data.draw(sizes()) for _ in range(3))
    cell = st.tuples(*(st.integers(0, size - 1) for size in (batch, tgt, src)))
    links = data.draw(st.sets(cell))
    scores = Numbers(data.draw(seeds)).normal(batch, tgt, src)
    rows = torch.tensor(sorted(links), dtype=torch.long).reshape(-1, 3)

    def found(given: Tensors, *, is_literal: bool) -> Tensors:
        weights = given["scores"].softmax(-1)
        return {"loss": literal_loss(weights, links) if is_literal else guided_alignment_loss(weights, rows)}

    given64 = as_leaves({"scores": scores}, torch.float64)
    wanted = evaluate(found(given64, is_literal=True), given64)
    given32 = as_leaves({"scores": scores}, torch.float32)
    assert_same(evaluate(found(given32, is_literal=False), given32), wanted, torch.float32)


def test_a_weight_of_zero_has_a_finite_loss():
    weights = torch.tensor([[[0.0, 1.0]]], requires_grad=True)
    loss = guided_alignment_loss(weights, torch.tensor([[0, 0, 0]]))
    loss.backward()
    assert loss.isfinite()
    assert weights.grad is not None
    assert weights.grad.isfinite().all()


CONFIG = TransformerConfig(
    family="transformer", dim=4, heads=2, encoder_layers=1, decoder_layers=2, feedforward=4, dropout=0.0
)
LINKS = Pairs(Sentences(np.array([2, 0, 1, 0]), np.array([3, 1])), Sentences(np.array([0, 0, 1, 2]), np.array([3, 1])))


def test_the_first_head_of_the_last_layer_learns():
    """Down to every parameter of a model."""
    plain = Batch.from_pairs([([4, 5, 6], [5, 4]), ([6], [4, 4, 5])])
    sides = (
        Sentences(np.array([4, 5, 6, 6]), np.array([3, 1])),
        Sentences(np.array([5, 4, 4, 4, 5]), np.array([2, 3])),
    )
    batch = Batch.from_flat(Pairs(*sides, links=LINKS), np.arange(2))
    assert batch.links is not None
    model = randomised(build_model(CONFIG, 8, 8), 1)
    decoded = model(batch.source, batch.source_lengths, batch.inputs, batch.target_lengths, return_attention=True)
    assert decoded.alignment is not None
    head = decoded.alignment.weights[:, -1, 0]
    term = literal_loss(head.double(), {(0, 0, 2), (0, 0, 0), (0, 1, 1), (1, 2, 0)})
    config = TrainingConfig(guided_alignment=GuidedAlignmentConfig(weight=0.75))
    baseline = RewardBaseline(0.9)
    without, unlinked, guided = (
        objective(model, given, settings, None, baseline).total
        for given, settings in ((batch, TrainingConfig()), (plain, config), (batch, config))
    )
    weights = parameters(model)
    assert torch.equal(without, unlinked)
    assert float(term.detach()) > 0.1
    assert_same(
        evaluate({"loss": guided}, weights), evaluate({"loss": without + 0.75 * term.float()}, weights), torch.float32
    )


@pytest.mark.parametrize("seed", range(5))
def test_posteriors_are_those_of_all_alignments(seed: int):
    """Each alignment of the words, with and without the empty word, weighted by its probability."""
    numbers = np.random.default_rng(seed)
    tgt, src = 3, 1 + seed % 3
    emission = numbers.random((1, tgt, src)).astype(np.float32)
    empty = numbers.random((1, tgt)).astype(np.float32)
    jumps = (numbers.random(5) + 0.1).astype(np.float32)
    found, moves = hmm_posteriors(emission, empty, np.array([src]), jumps)
    jump = jump_matrix(jumps, src)
    wanted, expected, total = np.zeros((tgt, src)), np.zeros((src, src)), 0.0
    for begin in range(src):  # the position before the first word, if it is that of the empty word
        for links in product([None, *range(src)], repeat=tgt):
            probability, place, made = 1.0, begin, []
            for t, link in enumerate(links):
                if link is None:
                    probability *= 0.2 * empty[0, t]
                else:
                    if t:
                        made.append((place, link))
                        probability *= jump[place, link] / jump[place].sum()
                    probability *= 0.8 * emission[0, t, link]
                    place = link
            probability /= src
            if links[0] is not None:
                # the first jump is to any position alike: without an empty word before it, `begin` has no meaning
                probability /= src
            total += probability
            for t, link in enumerate(links):
                if link is not None:
                    wanted[t, link] += probability
            for before, after in made:
                expected[before, after] += probability
    assert np.allclose(found[0], wanted / total, atol=1e-5)
    assert np.allclose(moves, expected / total, atol=1e-5)


def test_padding_changes_no_posterior():
    numbers = np.random.default_rng(1)
    emission, empty = numbers.random((1, 3, 2), np.float32), numbers.random((1, 3), np.float32)
    jumps = np.array([0.2, 0.5, 0.3], np.float32)
    padded = np.zeros((1, 5, 4), np.float32)
    padded[:, :3, :2], padded[:, 3:, :2] = emission, 1
    alone, moves = hmm_posteriors(emission, empty, np.array([2]), jumps)
    found, others = hmm_posteriors(padded, np.pad(empty, ((0, 0), (0, 2)), constant_values=1), np.array([2]), jumps)
    assert np.allclose(found[:, :3, :2], alone, atol=1e-6)
    assert not found[:, :, 2:].any()
    assert np.isfinite(others).all()
    assert np.isfinite(moves).all()
