"""Fit the cost of `dragoman prepare` and `translate` per unit, and simulate a cluster of 64 nodes.

Cost = a + b·n in CPU seconds, by size, without Ray; elapsed seconds with one and two workers of a Ray on this machine
are compared with the simulation, and so are workers that only sleep. The bill of 10^9 pairs and 10^9 sentences follows
from b.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import reporting
from benchmarks.scale.measurement import LINE_BYTES, SLEEPERS, USUAL_BLOCK, Sample, on_ray, scheduling, without_ray
from benchmarks.scale.simulation import Cluster, Outcome, simulate

LARGE = 1_000_000_000
SIMULATED = 20_000  # tasks
SLEEP = 0.5  # seconds per task


def fit(samples: Sequence[Sample]) -> dict[str, Any]:
    """Fit CPU seconds = a + b·n by least squares of relative errors, and list these errors."""
    units = np.array([sample.units for sample in samples], dtype=float)
    seconds = np.array([sample.cpu_seconds for sample in samples])
    design = np.stack([np.ones_like(units), units], axis=1)  # [samples, 2]
    (fixed, slope), *_ = np.linalg.lstsq(design / seconds[:, None], np.ones_like(seconds), rcond=None)
    residuals = (design @ [fixed, slope] - seconds) / seconds
    return {"fixed": float(fixed), "per_unit": float(slope), "residuals": [round(float(r), 3) for r in residuals]}


def validate(samples: Sequence[Sample], command: str) -> dict[str, Any]:
    """Compare two workers with a simulation based on the measurement of one."""
    one, two = (next(s for s in samples if s.command == command and s.workers == count) for count in (1, 2))
    task = (one.elapsed_seconds - one.serial_seconds) / one.tasks
    simulated = one.serial_seconds + simulate(Cluster(one.tasks, task, 0.0, nodes=1, workers_per_node=2)).seconds
    return {
        "one_worker": round(one.elapsed_seconds, 2),
        "two_workers": round(two.elapsed_seconds, 2),
        "serial": round(one.serial_seconds, 2),
        "simulated": round(simulated, 2),
        "error": round(simulated / two.elapsed_seconds - 1, 3),
    }


def validate_scheduling(samples: Sequence[Sample], seconds: float) -> list[dict[str, Any]]:
    """Compare workers that sleep with the simulation."""
    found = []
    for workers in SLEEPERS:
        (sample,) = (each for each in samples if each.command == "sleep" and each.workers == workers)
        driver = sample.cpu_seconds / sample.tasks
        simulated = simulate(Cluster(sample.tasks, seconds, driver, nodes=1, workers_per_node=workers)).seconds
        measured = sample.elapsed_seconds
        found.append(
            {"workers": workers, "measured": measured, "simulated": simulated, "error": simulated / measured - 1}
        )
    return found


def clusters(per_line: float, driver: float) -> list[tuple[str, Cluster, Outcome]]:
    """Simulate the translation of many blocks on 64 nodes: ideal, and with one kind of trouble after the other."""
    base = Cluster(SIMULATED, per_line * USUAL_BLOCK, driver, task_bytes=LINE_BYTES * USUAL_BLOCK)
    steps: list[tuple[str, dict[str, Any]]] = [
        ("equal tasks", {}),
        ("tasks of unequal length", {"spread": 0.3}),
        ("and 1 % of tasks five times as long", {"straggler_share": 0.01, "straggler_factor": 5.0}),
        ("and a failure per node in 200 hours", {"failure_hours": 200.0}),
        ("and an object store of 16 MiB", {"store_bytes": float(16 << 20)}),
    ]
    found, cluster = [], base
    for name, changes in steps:
        cluster = replace(cluster, **changes)
        found.append((name, cluster, simulate(cluster)))
    return found


def page(figures: dict[str, Any], samples: Sequence[Sample], runs: Sequence[tuple[str, Cluster, Outcome]]) -> str:
    """Return the result page."""
    fits, checks = figures["fits"], figures["validation"]
    sizes = [
        [sample.command, f"{sample.units:,}", f"{sample.cpu_seconds:.2f}", f"{100 * residual:+.1f} %"]
        for command in fits
        for sample, residual in zip(
            [s for s in samples if s.command == command and not s.workers], fits[command]["residuals"], strict=True
        )
    ]
    costs = [
        [name, f"{cost['fixed']:.2f}", f"{1e6 * cost['per_unit']:.1f}", f"{LARGE * cost['per_unit'] / 3600:,.0f}"]
        for name, cost in fits.items()
    ]
    seconds = ("one_worker", "serial", "two_workers", "simulated")
    two = [
        [name, *(f"{check[key]:.2f}" for key in seconds), f"{100 * check['error']:+.0f} %"]
        for name, check in checks.items()
    ]
    asleep = [
        [f"{each['workers']}", f"{each['measured']:.2f}", f"{each['simulated']:.2f}", f"{100 * each['error']:+.0f} %"]
        for each in figures["scheduling"]
    ]
    nodes = [
        [
            name,
            f"{run.seconds:,.0f}",
            f"{cluster.ideal_seconds / run.seconds:.0%}",
            f"{run.failures}",
            f"{run.repeated}",
        ]
        for name, cluster, run in runs
    ]
    return (
        reporting.heading("Cost by size, and a simulated cluster", figures["command"], 1)
        + f"\nThe load average of the machine was {figures['load']} before: CPU seconds depend on it a little, elapsed "
        "seconds much.\n\n## CPU seconds by size, without Ray\n\n"
        + reporting.table(["command", "units", "CPU s", "fit − measured"], sizes)
        + "\nFitted: a + b·n.\n\n"
        + reporting.table(["command", "a, s", "b, µs per unit", "CPU hours for 10^9 units"], costs)
        + "\n## One and two workers of Ray, elapsed seconds\n\nThe simulation uses the measurement of one worker.\n\n"
        + reporting.table(["command", "1 worker", "of it serial", "2 workers", "simulated", "error"], two)
        + "\n## Workers that only sleep, elapsed seconds\n\n"
        + reporting.table(["workers", "measured", "simulated", "error"], asleep)
        + f"\n## 64 nodes with 8 workers each, simulated\n\n{SIMULATED:,} blocks of {USUAL_BLOCK:,} lines are "
        "translated.\n\n"
        + reporting.table(["cluster", "s", "of the ideal speed", "failures", "blocks repeated"], nodes)
        + f"\nThe driver takes {1000 * figures['driver_per_block']:.1f} ms per block, a worker "
        f"{USUAL_BLOCK * fits['translate']['per_unit']:.1f} s: with more than {figures['driver_limit']:,} workers the "
        "driver is the limit.\n"
    )


def main() -> None:
    """Run the command."""
    options = reporting.parser(__doc__)
    options.add_argument("--bundle", type=Path, required=True, help="trained bundle, en→de")
    options.add_argument("--texts", type=Path, required=True, help="English sentences, one per line")
    options.add_argument("--pairs", type=int, nargs="+", default=[10_000, 30_000, 100_000])
    options.add_argument("--lines", type=int, nargs="+", default=[200, 500, 1000])
    options.add_argument("--ray-pairs", type=int, default=131_072)
    chosen = options.parse_args()
    load = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory(prefix="dragoman-scale-") as folder:
        inputs = (Path(folder), chosen.bundle.resolve(), chosen.texts.resolve())
        samples = without_ray(*inputs, chosen.pairs, chosen.lines)
        samples += on_ray(*inputs, chosen.ray_pairs, chosen.lines[-1])
        samples += scheduling(blocks=40, seconds=SLEEP)
    commands = ("prepare", "translate")
    fits = {name: fit([s for s in samples if s.command == name and not s.workers]) for name in commands}
    (echo,) = (sample for sample in samples if sample.command == "echo")
    driver = echo.cpu_seconds / echo.tasks
    runs = clusters(fits["translate"]["per_unit"], driver)
    figures = {
        "command": "python -m benchmarks.scale --bundle BUNDLE --texts FILE"
        f" --pairs {' '.join(map(str, chosen.pairs))} --lines {' '.join(map(str, chosen.lines))}",
        "load": load,
        "fits": fits,
        "validation": {name: validate(samples, name) for name in commands},
        "scheduling": validate_scheduling(samples, SLEEP),
        "driver_per_block": driver,
        "driver_limit": int(USUAL_BLOCK * fits["translate"]["per_unit"] / driver),
        "samples": [sample.to_json() for sample in samples],
        "simulated": [{"cluster": name, "seconds": run.seconds, "repeated": run.repeated} for name, _, run in runs],
    }
    reporting.write("scale", page(figures, samples, runs), figures)


if __name__ == "__main__":
    main()
