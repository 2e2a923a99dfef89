"""Run one probe; a process of its own: ``python -m claims.pool.probe_worker``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from claims.ledger.record import FORMAT, ModelRecord
from claims.measurement.probes import PROBES
from claims.pool.probe_run import PROBE_VERSION, ProbeRun
from claims.pool.training_worker import lower_priority, now, significant
from dragoman.environment import machine_info, package_versions
from dragoman.errors import ConfigError


def run_probe(run: ProbeRun, record: Path, commit: str = "") -> None:
    """Run a probe and write its record."""
    if run.base not in PROBES:
        raise ConfigError(f"probe must be one of {', '.join(PROBES)}, got {run.base}; correct it in the claim")
    started, began = now(), time.process_time()
    samples = PROBES[run.base](run.seed)
    facts = {
        "format": FORMAT,
        "name": run.name,
        "key": run.key,
        "base": run.base,
        "changes": [],
        "seed": run.seed,
        "corpus": "",
        "code": {"version": PROBE_VERSION, "commit": commit},
        "machine": machine_info(accelerators=False).signature,
        "packages": package_versions(),
        "dates": {"started": started, "ended": now()},
        "training": {"cpu_seconds": round(time.process_time() - began, 1)},
        "samples": {name: [significant(value) for value in values] for name, values in samples.items()},
    }
    record.parent.mkdir(parents=True, exist_ok=True)
    ModelRecord(facts).write(record)


def main() -> None:
    """Run the probe of the command line."""
    parser = argparse.ArgumentParser(description="Run one probe of the claims ledger.")
    parser.add_argument("probe")
    parser.add_argument("seed", type=int)
    parser.add_argument("record", type=Path)
    parser.add_argument("commit", nargs="?", default="")
    chosen = parser.parse_args()
    lower_priority()
    torch.set_num_threads(1)
    run_probe(ProbeRun(chosen.probe, chosen.seed), chosen.record, chosen.commit)


if __name__ == "__main__":
    main()
