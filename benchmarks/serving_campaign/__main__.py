"""Run the reliability campaign of the server.

::

    python -m benchmarks.serving_campaign run                 # everything; about an hour, half of it the soak
    python -m benchmarks.serving_campaign run overload drain  # some experiments
    python -m benchmarks.serving_campaign run --small         # the version of CI: minutes, only printed
    python -m benchmarks.serving_campaign report              # write the report again

The exit code is 1 if a target is missed or a planted fault was not found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.serving.process import end_on_sigterm
from benchmarks.serving_campaign.aborts import aborts
from benchmarks.serving_campaign.batch_independence import batch_independence
from benchmarks.serving_campaign.draining import draining
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from benchmarks.serving_campaign.hostile import hostile
from benchmarks.serving_campaign.html import html
from benchmarks.serving_campaign.overload import overload
from benchmarks.serving_campaign.report import NAME, keep, page, report
from benchmarks.serving_campaign.schema import schema
from benchmarks.serving_campaign.soak import soak
from benchmarks.serving_campaign.swaps import swaps
from benchmarks.serving_campaign.untrusted_bundles import untrusted_bundles

EXPERIMENTS: dict[str, Callable[[Environment], ExperimentResult]] = {
    "hostile": hostile,
    "overload": overload,
    "aborts": aborts,
    "drain": draining,
    "swaps": swaps,
    "batch-independence": batch_independence,
    "untrusted-bundles": untrusted_bundles,
    "html": html,
    "schema": schema,
    "soak": soak,
}


def main() -> int:
    """Run experiments, or write the report."""
    options = _options()
    if options.command == "report":
        return int(not report(options.results))
    end_on_sigterm()
    found: dict[str, ExperimentResult] = {}
    with tempfile.TemporaryDirectory(prefix="dragoman-serving-campaign-") as folder:
        trained = dict(each.split("=", 1) for each in options.bundle)
        environment = Environment(
            Path(folder),
            is_small=options.small,
            seed=options.seed,
            bundles={name: Path(path).absolute() for name, path in trained.items()},
            share=options.share,
        )
        try:
            for name in options.experiments or EXPERIMENTS:
                print(f"{name} …", file=sys.stderr, flush=True)
                found[name] = run_experiment(name, environment)
                _print(found[name])
                if not options.small:
                    keep(found[name], name, options.results)
        finally:
            environment.close()
    if options.small:
        print(page({name: result.to_json() for name, result in found.items()}))
    else:
        report(options.results)
    return int(not all(result.is_passed for result in found.values()))


def run_experiment(name: str, environment: Environment) -> ExperimentResult:
    """Run one experiment and measure its duration."""
    began = time.monotonic()
    result = EXPERIMENTS[name](environment)
    result.seconds = time.monotonic() - began
    result.share = environment.share
    return result


def _print(result: ExperimentResult) -> None:
    verdict = "met" if result.is_passed else "NOT MET"
    print(
        f"{result.promise}: {verdict}, {result.trials} trials, {result.seconds:.0f} s; {result.control}",
        file=sys.stderr,
    )
    for target in result.targets:
        mark = "   " if target.is_met else "***"
        print(f" {mark} {target.what}: {target.found} (goal {target.goal})", file=sys.stderr, flush=True)
    for failure in result.failures[:5]:
        print(f"     {failure[:500]}", file=sys.stderr)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m benchmarks.serving_campaign", description=__doc__)
    commands = options.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("experiments", nargs="*", choices=[*EXPERIMENTS, []], help="default: all")
    run.add_argument("--small", action="store_true", help="few trials; the report is only printed")
    run.add_argument("--share", type=float, default=1.0, help="part of the trials to make, for a busy machine")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument(
        "--bundle", action="append", default=[], metavar="FAMILY=BUNDLE", help="a trained bundle for batch-independence"
    )
    for command in (run, commands.add_parser("report")):
        command.add_argument("--results", default=NAME, help="name of the report")
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(main())
