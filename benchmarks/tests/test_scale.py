"""The fit finds known costs, and the simulation gives what can be computed by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.environment import is_installed

pytest.importorskip("simpy")
if not is_installed("ray"):
    pytest.skip("needs the extra cluster", allow_module_level=True)

from benchmarks.scale import simulation
from benchmarks.scale.__main__ import fit
from benchmarks.scale.measurement import Sample, without_ray
from benchmarks.scale.simulation import Cluster, simulate
from dragoman.cluster import worker_pool
from testkit.random_bundle import random_bundle

SMALL = Cluster(tasks=400, task_seconds=1.0, driver_seconds=0.0, nodes=2, workers_per_node=2)


def test_a_known_cost_is_found():
    samples = [Sample("prepare", units, 0, 3.0 + 2e-5 * units, 0.0) for units in (10_000, 100_000, 300_000)]
    found = fit(samples)
    assert found["fixed"] == pytest.approx(3.0)
    assert found["per_unit"] == pytest.approx(2e-5)
    assert found["residuals"] == [0.0, 0.0, 0.0]


@pytest.mark.slow
def test_the_cost_of_translation_still_grows_linearly(tmp_path: Path):
    bundle = random_bundle(tmp_path / "bundle")
    texts = tmp_path / "texts"
    texts.write_text("".join(f"{'ab ' * (1 + number % 7)}\n" for number in range(70)), encoding="utf-8")
    found = fit(without_ray(tmp_path, bundle.folder, texts, [], [300, 600, 1200]))
    assert max(map(abs, found["residuals"])) < 0.3
    assert found["per_unit"] > 0


def test_limits_are_those_of_the_pool():
    assert (simulation.AHEAD, simulation.WAITING) == (worker_pool._AHEAD, worker_pool._WAITING)


def test_equal_tasks_take_the_ideal_time():
    assert simulate(SMALL).seconds == pytest.approx(SMALL.ideal_seconds)


def test_a_slow_driver_is_the_limit():
    slow = replace(SMALL, driver_seconds=0.5)
    assert simulate(slow).seconds == pytest.approx(400 * 0.5 + 1.0)


def test_an_object_store_for_one_task_leaves_one_worker_busy():
    full = replace(SMALL, task_bytes=10.0, store_bytes=10.0, bytes_per_second=1e9)
    assert simulate(full).seconds == pytest.approx(400.0, rel=0.01)


def test_failures_and_stragglers_cost_time():
    failing = replace(SMALL, failure_hours=0.01, repair_seconds=5.0)
    found = simulate(failing)
    assert found.failures > 0
    assert found.repeated > 0
    assert found.seconds > SMALL.ideal_seconds
    assert simulate(failing) == found, "the seed decides"
    assert simulate(replace(SMALL, straggler_share=0.05, straggler_factor=5.0)).seconds > SMALL.ideal_seconds
