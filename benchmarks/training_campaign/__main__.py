"""Fault campaign of training: every guarantee is tried many times, with a planted fault that must be found.

*Trials* are disturbances: of the command line, each in its own process, or of tests. A run is disturbed until it
ends; then its last checkpoint (weights, optimizer, counters, position in the data), its bundle's weights and its log
must be byte for byte those of an undisturbed run. After each disturbance the newest checkpoint must be complete, not
older than before, and at most `checkpoint_every` updates behind the log; after a signal, none. The *control* is the
same with a planted fault, which must be found. Where the trials are tests, the control is among them.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.reporting import RESULTS, table, write
from benchmarks.training_campaign.suites import SUITES, Suite, suite_row
from dragoman import __version__
from dragoman.environment import machine_info
from testkit.training_faults.process_start import CommandLine, Start, fork_server
from testkit.training_faults.project import VARIANTS, Project, make_project
from testkit.training_faults.runs import Reference, Run, train_reference
from testkit.training_faults.trials import DISK_ROOM, OutOfTime, Row, disk_trials, kill_trials, small_disk, stop_trials

CONTROLS = 4  # trials with a planted fault
NAME = "training-campaign"
NAMES = ("kills", "sigterms", "sigints", "disks", *(suite.promise for suite in SUITES))

Trials = Callable[..., Row]


class Campaign:
    """The guarantees, one after the other, within a time. Each result is stored at once."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._folder, self._options = folder, options
        self._end = time.monotonic() + 60 * options.minutes
        self._references: list[Reference] = []
        self.rows: list[Row] = []

    def run(self, name: str) -> None:
        """Try one guarantee."""
        began, count = time.monotonic(), getattr(self._options, name, 0)
        suite = next((each for each in SUITES if each.promise == name), None)
        if suite is not None:
            row = self._run_suite(suite)
        elif name == "disks":
            row = self._fill_disks(count)
        else:
            trials, promise, fault = {
                "kills": (kill_trials, "kill -9", "forget-optimizer"),
                "sigterms": (stop_trials, "SIGTERM", "forget-place"),
                "sigints": (partial(stop_trials, asked=signal.SIGINT), "SIGINT", ""),
            }[name]
            row = self._disturb(trials, count, promise, fault)
        row.seconds = time.monotonic() - began
        row.planned = count
        for failure in row.failures[:3]:
            self._say(f"FAILED {row.promise}: {failure}")
        self._say(f"{row.promise}: {row.trials} trials, {len(row.failures)} failures, {row.seconds:.0f} s")
        self.rows.append(row)

    def _disturb(self, trials: Trials, count: int, promise: str, fault: str) -> Row:
        """Run lanes of trials side by side, then some with a planted fault."""
        row, lanes = Row(promise), self._options.lanes
        shares = [count // lanes + (lane < count % lanes) for lane in range(lanes)]
        references = self._trained()
        with ThreadPoolExecutor(lanes) as threads:
            jobs = [
                threads.submit(self._lane, trials, references, "", f"{promise}-{lane}", share, lane)
                for lane, share in enumerate(shares)
                if share
            ]
            for job in jobs:
                row.add(job.result())
        if fault and count:
            control = self._lane(trials, references, fault, f"{promise}-control", CONTROLS, lanes, is_control=True)
            row.control = _control(fault, control)
        row.remark = "forked from a process with everything imported" if self._options.start == "fork" else ""
        return row

    def _fill_disks(self, count: int) -> Row:
        """Full disks, where this user may mount one."""
        row = Row("disk full")
        with small_disk(self._folder / "disk") as disk:
            if disk is None:
                row.remark = "not tried: this user may not mount a disk"
            elif count:
                reference, seed = self._trained()[0], self._options.seed
                row = disk_trials(reference, CommandLine(), disk, count, seed, self._told("disk full"))
                faulty = CommandLine("careless-disk")
                told = self._told("its control", is_control=True)
                control = disk_trials(reference, faulty, disk, len(DISK_ROOM), seed + 1, told)
                row.control = _control("careless-disk", control)
        return row

    def _run_suite(self, suite: Suite) -> Row:
        self._say(f"{suite.promise}: tests …")
        return suite_row(suite, self._folder, max(1.0, self._end - time.monotonic()))

    def _trained(self) -> list[Reference]:
        """Undisturbed runs, trained at the first use."""
        if not self._references:
            self._say("training undisturbed …")
            project: Project = make_project(self._folder / "project")
            runs = [
                Run(project, self._folder / f"reference{number}", settings)
                for number, settings in enumerate(VARIANTS.values())
            ]
            self._references = [train_reference(run, CommandLine()) for run in runs]
            times = (f"{each.startup:.1f} s to start, {each.training:.1f} s to train" for each in self._references)
            self._say(", ".join(times))
        return self._references

    def _lane(
        self, trials: Trials, references: list[Reference], fault: str, name: str, count: int, lane: int,
        *, is_control: bool = False,
    ) -> Row:  # fmt: skip
        folder = self._folder / name.replace(" ", "-")
        folder.mkdir()
        turned = references[lane % len(references) :] + references
        with ExitStack() as opened:
            is_forked = self._options.start == "fork"
            start: Start = opened.enter_context(fork_server(fault)) if is_forked else CommandLine(fault)
            told = self._told(name, is_control=is_control)
            return trials(turned, start, folder, count, self._options.seed + lane, told)

    def _told(self, name: str, *, is_control: bool = False) -> Callable[[Row], None]:
        def tell(row: Row) -> None:
            self._say(f"{name}: {row.trials} trials, {len(row.failures)} failures")
            if time.monotonic() > self._end and not is_control:
                raise OutOfTime

        return tell

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _control(fault: str, control: Row) -> str:
    return f"{fault}: {'found' if control.failures else 'NOT FOUND'}"


def keep(row: Row, command: str, name: str) -> dict[str, Any]:
    """Store a row next to those of other runs, and return all."""
    path = RESULTS / f"{name}.json"
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    kept[row.promise] = {
        **asdict(row),
        "where": dict(row.where),  # asdict makes a Counter of pairs of it
        "failures": row.failures[:5],
        "failed": len(row.failures),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "command": command,
        "machine": machine_info().signature,
        "version": __version__,
    }
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return kept


def page(kept: dict[str, Any]) -> str:
    """Return the report of stored rows."""
    header = ["guarantee", "trials", "runs", "failures", "seconds", "where, and how long", "control", "measured"]
    cells = [
        [
            promise,
            _trials(row),
            str(row["runs"] or "–"),
            f"**{row['failed']}**",
            f"{row['seconds']:.0f}",
            "; ".join(
                [f"{count} in {place}" for place, count in sorted(row["where"].items(), key=lambda each: -each[1])]
                + ([f"longest {row['longest']:.1f} s"] if row["longest"] else [])
                + ([row["remark"]] if row["remark"] else [])
            )
            or "–",
            row["control"] or "–",
            row["date"],
        ]
        for promise, row in kept.items()
    ]
    failures = [f"- {promise}: {failure}" for promise, row in kept.items() for failure in row["failures"]]
    faults = "\n".join(["\nWhat failed:\n", *failures, ""]) if failures else ""
    commands = "".join(f"- {promise}: `{row['command']}`\n" for promise, row in kept.items())
    machines = "; ".join(sorted({row["machine"] for row in kept.values()}))
    versions = ", ".join(sorted({row["version"] for row in kept.values()}))
    about = f"{__doc__ or ''}\nRuns, in turn: {'; '.join(VARIANTS)}.\n"
    return (
        f"# Reliability of training\n\n{about}\n{table(header, cells)}{faults}\n"
        f"On: {machines}. dragoman {versions}.\n\nCommands:\n\n{commands}"
    )


def _trials(row: dict[str, Any]) -> str:
    """The number of trials, and of those that were planned if there were fewer."""
    return f"{row['trials']:,}" + (f" of {row['planned']:,}" if row["trials"] < row["planned"] else "")


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m benchmarks.training_campaign", description=__doc__)
    options.add_argument("only", nargs="*", choices=[*NAMES, []], help="guarantees to try (default: all)")
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--sigterms", type=int, default=50)
    options.add_argument("--sigints", type=int, default=5)
    options.add_argument("--disks", type=int, default=10, help="full disks")
    options.add_argument("--start", choices=["command", "fork"], default="command", help="a command, or a fork of one")
    options.add_argument("--lanes", type=int, default=2, help="runs that are disturbed side by side")
    options.add_argument("--minutes", type=float, default=30.0, help="the most it may take")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--results", default=NAME, help="another name for the page, for trials")
    return options.parse_args()


def main() -> int:
    """Run it; 1 where something failed, or a control was not found."""
    chosen = _options()
    names = chosen.only or list(NAMES)
    with tempfile.TemporaryDirectory(prefix="dragoman-campaign-") as room:
        campaign = Campaign(Path(room), chosen)
        for name in names:
            campaign.run(name)
            count = f" --{name} {getattr(chosen, name)}" if hasattr(chosen, name) else ""
            start = (
                " --start fork" if chosen.start == "fork" and name not in {suite.promise for suite in SUITES} else ""
            )
            command = f"python -m benchmarks.training_campaign {_quoted(name)}{count}{start}"
            kept = keep(campaign.rows[-1], command, chosen.results)
            write(chosen.results, page(kept), kept)
    return int(any(row.failures or "NOT FOUND" in row.control for row in campaign.rows))


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


if __name__ == "__main__":
    sys.exit(main())
