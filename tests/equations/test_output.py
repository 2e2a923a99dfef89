"""From features to words: the deep output, the softmax, and the cross-entropy that is taken a chunk at a time."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dragoman.nn.embedding import DeepOutput, Output
from dragoman.training.step import cross_entropy
from testkit.generators import Numbers, Padded, many_cases, padded_batches, randomised, seeds, sizes
from tests.equations.comparison import TOLERANCE, Tensors, assert_agrees, assert_close
from tests.equations.literal_recurrent import Weights, deep_output, log_softmax

smoothings = st.sampled_from([0.0, 0.1, 0.5])


@many_cases
@given(hidden=sizes(), embedding=sizes(), context=sizes(), dim=sizes(), rows=sizes(1, 3), steps=sizes(), seed=seeds)
def test_the_deep_output_is_its_equation(
    hidden: int, embedding: int, context: int, dim: int, rows: int, steps: int, seed: int
) -> None:
    numbers = Numbers(seed + 1)
    given = {
        "state": numbers.normal(rows, steps, hidden),
        "previous": numbers.normal(rows, steps, embedding),
        "context": numbers.normal(rows, steps, context),
    }

    def shipped(deep: DeepOutput, given: Tensors) -> Tensors:
        return {"t": deep(given["state"], given["previous"], given["context"])}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        flat = [given[name].flatten(0, 1) for name in ("state", "previous", "context")]
        return {
            "t": torch.stack([deep_output(weights, *step) for step in zip(*flat, strict=True)]).view(rows, steps, -1)
        }

    assert_agrees(randomised(DeepOutput(hidden, embedding, context, dim), seed), given, shipped, literal)


def test_maxout_takes_the_larger_of_each_pair_of_neighbours() -> None:
    deep = DeepOutput(4, 1, 1, 2)
    with torch.no_grad():
        for parameter in deep.parameters():
            parameter.zero_()
        deep.U_o.weight.copy_(torch.eye(4))
    nothing = torch.zeros(1, 1)
    assert deep(torch.tensor([[1.0, 3.0, -5.0, -7.0]]), nothing, nothing).tolist() == [[3.0, -5.0]]


@many_cases
@given(dim=sizes(), vocab=sizes(1, 7), rows=sizes(1, 3), seed=seeds)
def test_the_output_is_a_log_softmax(dim: int, vocab: int, rows: int, seed: int) -> None:
    def literal(weights: Weights, given: Tensors) -> Tensors:
        return {"log_probs": torch.stack([words(weights, features) for features in given["features"]])}

    given = {"features": Numbers(seed + 1).normal(rows, dim)}
    output = randomised(Output(dim, vocab), seed)
    assert_agrees(output, given, lambda output, given: {"log_probs": output(given["features"])}, literal)


def words(weights: Weights, features: Tensor) -> Tensor:
    """log softmax(W_s features + b)."""
    return log_softmax(weights["weight"] @ features + weights["bias"])


# -------------------------------------------------------------------------------------------------------- cross-entropy


@dataclass(frozen=True)
class Case:
    """Features of a decoder and the reference words. Shapes: labels [batch, tgt]."""

    vocab: int
    batch: Padded
    labels: Tensor
    chunk: int
    seed: int

    def output(self) -> Output:
        return randomised(Output(self.batch.values.size(-1), self.vocab), self.seed)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    batch, vocab, seed = draw(padded_batches(draw(sizes()))), draw(sizes(1, 7)), draw(seeds)
    labels = Numbers(seed + 1).tokens(vocab, *batch.values.shape[:2])
    return Case(vocab, batch, labels, draw(st.sampled_from([1, 2, 3, 1024])), seed)


def literal_losses(case: Case, weights: Weights, features: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Σ (1 − ε)·(−log p(y_t)) + ε·mean_v(−log p(v)) over real steps; and −log p(y_t) itself, zero in the padding.

    Shapes: -> a scalar, [batch, tgt].
    """
    total = torch.zeros((), dtype=torch.float64)
    losses = torch.zeros(case.labels.shape, dtype=torch.float64)
    for row, length in enumerate(case.batch.lengths.tolist()):
        for step in range(length):
            log_probs = words(weights, features[row, step])
            right = -log_probs[int(case.labels[row, step])]
            spread = torch.zeros((), dtype=torch.float64)
            for log_prob in log_probs:
                spread = spread - log_prob / case.vocab
            total = total + (1 - smoothing) * right + smoothing * spread
            losses[row, step] = right.detach()
    return total, losses


@many_cases
@given(case=cases(), smoothing=smoothings)
def test_the_cross_entropy_is_its_equation(case: Case, smoothing: float) -> None:
    def shipped(output: Output, given: Tensors) -> Tensors:
        lengths, chunk = case.batch.lengths, case.chunk
        found = cross_entropy(output, given["features"], case.labels, lengths, smoothing=smoothing, chunk=chunk)
        assert not found.losses.requires_grad
        return {"total": found.total, "losses": found.losses}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        total, losses = literal_losses(case, weights, given["features"], smoothing)
        return {"total": total, "losses": losses}

    assert_agrees(case.output(), {"features": case.batch.values}, shipped, literal)


@many_cases
@given(case=cases(), smoothing=smoothings, weight=st.floats(0.1, 8.0))
def test_r_drop_is_its_equation(case: Case, smoothing: float, weight: float) -> None:
    """[wu2021] (4): the likelihoods of both masks, and the mean of both directions of (2)."""
    other = Numbers(case.seed + 2).normal(*case.batch.values.shape)
    lengths, labels = case.batch.lengths.repeat(2), case.labels.repeat(2, 1)

    def shipped(output: Output, given: Tensors) -> Tensors:
        both = torch.cat([given["first"], given["second"]])
        found = cross_entropy(output, both, labels, lengths, smoothing=smoothing, r_drop=weight, chunk=case.chunk)
        return {"total": found.total, "losses": found.losses}

    def literal(weights: Weights, given: Tensors) -> Tensors:
        (first, first_losses), (second, second_losses) = (
            literal_losses(case, weights, given[name], smoothing) for name in ("first", "second")
        )
        divergence = torch.zeros((), dtype=torch.float64)
        for row, length in enumerate(case.batch.lengths.tolist()):
            for step in range(length):
                log_p, log_q = (words(weights, given[name][row, step]) for name in ("first", "second"))
                for word in range(case.vocab):
                    divergence = divergence + log_p[word].exp() * (log_p[word] - log_q[word]) / 2
                    divergence = divergence + log_q[word].exp() * (log_q[word] - log_p[word]) / 2
        return {"total": first + second + weight * divergence, "losses": torch.cat([first_losses, second_losses])}

    assert_agrees(case.output(), {"first": case.batch.values, "second": other}, shipped, literal)


@pytest.mark.parametrize("learns", ["features", "weight", "bias", "nothing"])
@given(case=cases(), smoothing=smoothings)
def test_the_gradient_is_right_for_whichever_part_learns(learns: str, case: Case, smoothing: float) -> None:
    """Also where the rest is frozen, or no gradient is required."""
    output = case.output().requires_grad_(False)
    leaves = {"features": case.batch.values.clone(), "weight": output.weight, "bias": output.bias}
    if learns in leaves:
        leaves[learns].requires_grad_()
    found = cross_entropy(output, leaves["features"], case.labels, case.batch.lengths, smoothing=smoothing).total
    wanted, _ = literal_losses(case, leaves, leaves["features"], smoothing)
    assert_close(found, wanted, TOLERANCE[torch.float64] * float(wanted.detach().abs() + 1))
    assert found.requires_grad is (learns in leaves)
    if learns in leaves:
        (ours,), (theirs,) = (torch.autograd.grad(total, [leaves[learns]]) for total in (3 * found, 3 * wanted))
        assert_close(ours, theirs, TOLERANCE[torch.float64])


@many_cases
@given(case=cases(), smoothing=smoothings)
def test_chunks_change_nothing(case: Case, smoothing: float) -> None:
    output = case.output()
    chunked, whole = (
        cross_entropy(
            output, case.batch.values, case.labels, case.batch.lengths, smoothing=smoothing, chunk=chunk
        ).losses
        for chunk in (case.chunk, 1024)
    )
    assert_close(chunked, whole, TOLERANCE[torch.float64])
