"""Probes: values by condition and round, and the verdicts that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from claims.ledger.claim import Comparison
from claims.ledger.effect import compute_effect
from claims.ledger.record import ModelRecord
from claims.measurement.first_word_latency import first_word_latency
from claims.measurement.gradient_distance import gradient_distance
from claims.measurement.hard_attention import gradient_noise, relative_variance
from claims.measurement.probes import (
    attention_step,
    cell_speed,
    head_cost,
    softmax_gradient,
    training_throughput,
)
from claims.measurement.samples import Samples, interleaved
from claims.pool.probe_run import ProbeRun
from claims.pool.probe_worker import run_probe
from dragoman.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("probe", "conditions"),
    [
        (
            lambda: attention_step(1, (8, 64)),
            {f"{kind} {n}" for kind in ("global", "local-m", "local-p") for n in (8, 64)},
        ),
        (lambda: head_cost(1, (1, 2)), {"1", "2"}),
        (lambda: cell_speed(1, 4, 2), {"lstm", "gru-fused", "gru-published", "rnn"}),
        (
            lambda: training_throughput(1, (4, 8), 16),
            {f"{kind} {n}" for kind in ("rnn", "rnn-feeding", "transformer") for n in (4, 8)},
        ),
        (lambda: first_word_latency(1, (2, 4)), {f"{kind} {n}" for kind in ("one", "two") for n in (2, 4)}),
        (
            lambda: gradient_distance(1, (1, 4), 3, 8),
            {f"{kind} {n}" for kind in ("rnn", "rnn-large", "gru-fused", "lstm") for n in (1, 4)},
        ),
        (lambda: gradient_noise(1, 1, 2), {"soft", "hard"}),
        (lambda: softmax_gradient(1, (4, 64)), {f"{kind} {n}" for kind in ("scaled", "unscaled") for n in (4, 64)}),
    ],
)
def test_a_probe_returns_as_many_positive_values_for_every_condition(
    probe: Callable[[], Samples], conditions: set[str]
):
    samples = probe()
    assert set(samples) == conditions
    assert len({len(values) for values in samples.values()}) == 1
    assert all(value > 0 for values in samples.values() for value in values)


def test_actions_are_measured_in_rounds():
    order: list[str] = []
    samples = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=2, repeats=1)
    assert order == ["a", "b"] * 3  # the first round warms up
    assert {name: len(values) for name, values in samples.items()} == {"a": 2, "b": 2}


def test_the_gradient_of_the_softmax_vanishes_without_scaling():
    samples = softmax_gradient(1, (256,))
    assert sum(samples["scaled 256"]) > 2 * sum(samples["unscaled 256"])


def test_the_relative_variance_is_the_one_of_its_definition():
    gradients = torch.tensor([[1.0, 2.0], [3.0, 2.0]])  # mean (2, 2), variance 2 + 0
    assert relative_variance(gradients) == pytest.approx(2 / 8)
    assert relative_variance(gradients[:1].expand(3, -1)) == 0


def test_a_record_of_a_probe_gives_effects_in_doublings(tmp_path: Path):
    path = tmp_path / "record.json.gz"
    run_probe(ProbeRun("softmax-gradient", 1), path)
    record = ModelRecord.read(path)
    facts = dict(record.facts) | {"samples": {"fast": [1.0, 2.0], "slow": [8.0, 16.0]}}
    terms = [{"variant": "x", "search": "slow"}, {"variant": "x", "weight": -1.0, "search": "fast"}]
    comparison = Comparison.model_validate({"name": "slow", "measure": "log2", "terms": terms, "hypothesis": 3.0})
    assert compute_effect(comparison, {"x": [ModelRecord(facts)] * 2}).value == pytest.approx(3.0)
    with pytest.raises(DataError, match="must have the condition 'slow'"):
        compute_effect(comparison, {"x": [record]})


def test_an_unknown_probe_is_rejected(tmp_path: Path):
    with pytest.raises(ConfigError, match="probe must be one of attention-noise"):
        run_probe(ProbeRun("nothing", 1), tmp_path / "record.json.gz")
