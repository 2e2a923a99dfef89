"""The service, disturbed.

::

    python -m benchmarks.serving_campaign run                 # everything; about an hour, half of it the soak
    python -m benchmarks.serving_campaign run overload drain  # some rows
    python -m benchmarks.serving_campaign run --small         # as for every change: minutes, only printed
    python -m benchmarks.serving_campaign report              # the page again

The exit code is 1 where a promise is broken, or a planted fault was not found.
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
from benchmarks.serving_campaign.company import company
from benchmarks.serving_campaign.draining import draining
from benchmarks.serving_campaign.hostile import hostile
from benchmarks.serving_campaign.html import html
from benchmarks.serving_campaign.overload import overload
from benchmarks.serving_campaign.report import NAME, keep, page, report
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row
from benchmarks.serving_campaign.schema import schema
from benchmarks.serving_campaign.soak import soak
from benchmarks.serving_campaign.strangers import strangers
from benchmarks.serving_campaign.swaps import swaps

__all__ = ["ROWS", "main"]

ROWS: dict[str, Callable[[Room], Row]] = {
    "hostile": hostile,
    "overload": overload,
    "aborts": aborts,
    "drain": draining,
    "swaps": swaps,
    "company": company,
    "strangers": strangers,
    "html": html,
    "schema": schema,
    "soak": soak,
}


def main() -> int:
    """Run rows, or write the page."""
    options = _options()
    if options.command == "report":
        return int(not report(options.results))
    end_on_sigterm()
    found: dict[str, Row] = {}
    with tempfile.TemporaryDirectory(prefix="dragoman-serving-campaign-") as folder:
        trained = dict(each.split("=", 1) for each in options.bundle)
        room = Room(
            Path(folder),
            is_small=options.small,
            seed=options.seed,
            bundles={name: Path(path).absolute() for name, path in trained.items()},
        )
        for name in options.rows or ROWS:
            print(f"{name} …", file=sys.stderr, flush=True)
            found[name] = run_row(name, room)
            _say(found[name])
            if not options.small:
                keep(found[name], name, options.results)
    if options.small:
        print(page({name: row.to_json() for name, row in found.items()}))
    else:
        report(options.results)
    return int(not all(row.is_kept for row in found.values()))


def run_row(name: str, room: Room) -> Row:
    """One row, and how long it took."""
    began = time.monotonic()
    row = ROWS[name](room)
    row.seconds = time.monotonic() - began
    return row


def _say(row: Row) -> None:
    verdict = "kept" if row.is_kept else "BROKEN"
    print(f"{row.promise}: {verdict}, {row.trials} trials, {row.seconds:.0f} s; {row.control}", file=sys.stderr)
    for target in row.targets:
        mark = "   " if target.is_met else "***"
        print(f" {mark} {target.what}: {target.found} (goal {target.goal})", file=sys.stderr, flush=True)
    for failure in row.failures[:5]:
        print(f"     {failure[:500]}", file=sys.stderr)


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m benchmarks.serving_campaign", description=__doc__)
    commands = options.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("rows", nargs="*", choices=[*ROWS, []], help="all of them if none is named")
    run.add_argument("--small", action="store_true", help="few trials, and the page is only printed")
    run.add_argument("--seed", type=int, default=1)
    run.add_argument(
        "--bundle", action="append", default=[], metavar="FAMILY=BUNDLE", help="a trained one, for company"
    )
    for command in (run, commands.add_parser("report")):
        command.add_argument("--results", default=NAME, help="another name for the page, for trials")
    return options.parse_args()


if __name__ == "__main__":
    sys.exit(main())
