"""Fault campaign of training: every guarantee is tried many times, with a planted fault that must be found.

*Trials* are disturbances: of the command line, each in its own process, or of tests. A run is disturbed until it
ends; then its last checkpoint (weights, optimizer, counters, position in the data), its bundle's weights and its log
must be byte for byte those of an undisturbed run. After each disturbance the newest checkpoint must be complete, not
older than before, and at most `checkpoint_every` updates behind the log; after a signal, none. The *control* is the
same with a planted fault, which must be found.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.reporting import heading, table, write
from benchmarks.training_campaign.suites import SUITES, suite_row
from testkit.training_faults.process_start import CommandLine, Start
from testkit.training_faults.project import VARIANTS, Project, make_project
from testkit.training_faults.runs import Reference, Run, train_reference
from testkit.training_faults.trials import Row, disk_trials, kill_trials, small_disk, stop_trials

__all__ = ["Campaign", "main", "page"]

LANES = 2
CONTROLS = 4  # trials with a planted fault

Trials = Callable[..., Row]


class Campaign:
    """All that is tried, one row after the other, within a time."""

    def __init__(self, folder: Path, seconds: float, seed: int) -> None:
        self._folder = folder
        self._end = time.monotonic() + seconds
        self._seed = seed
        self._project: Project = make_project(folder / "project")
        self.rows: list[Row] = []
        self._references = self._make_references()

    def disturb(self, trials: Trials, count: int, promise: str, fault: str) -> None:
        """Two lanes of trials side by side, then some with a planted fault."""
        began = time.monotonic()
        row = Row(promise)
        shares = [count // LANES + (lane < count % LANES) for lane in range(LANES)]
        with ThreadPoolExecutor(LANES) as lanes:
            jobs = [
                lanes.submit(self._lane, trials, CommandLine(), f"{promise}-{lane}", share, lane)
                for lane, share in enumerate(shares)
                if share
            ]
            for job in jobs:
                row.add(job.result())
        if fault and count:
            control = self._lane(trials, CommandLine(fault), f"{promise}-control", CONTROLS, LANES)
            row.control = f"{fault}: {'found' if control.failures else 'NOT FOUND'}"
        self._done(row, began)

    def fill_disks(self, count: int) -> None:
        """Full disks, where this user may mount one."""
        began, row = time.monotonic(), Row("disk full")
        with small_disk(self._folder / "disk") as disk:
            if disk is None:
                row.remark = "not tried: this user may not mount a disk"
            elif count:
                row = disk_trials(self._references[0], CommandLine(), disk, count, self._seed, self._told("disk full"))
                faulty = CommandLine("careless-disk")
                control = disk_trials(self._references[0], faulty, disk, 2, self._seed + 1, self._told("its control"))
                row.control = f"careless-disk: {'found' if control.failures else 'NOT FOUND'}"
        self._done(row, began)

    def run_suites(self) -> None:
        """The promises that tests try."""
        for suite in SUITES:
            self._say(f"{suite.promise}: tests …")
            self._done(suite_row(suite, self._folder, max(1.0, self._end - time.monotonic())))

    def _make_references(self) -> list[Reference]:
        self._say("training undisturbed …")
        runs = [
            Run(self._project, self._folder / f"reference{number}", settings)
            for number, settings in enumerate(VARIANTS.values())
        ]
        references = [train_reference(run, CommandLine()) for run in runs]
        self._say(", ".join(f"{each.startup:.1f} s to start, {each.training:.1f} s to train" for each in references))
        return references

    def _lane(self, trials: Trials, start: Start, name: str, count: int, lane: int) -> Row:
        folder = self._folder / name.replace(" ", "-")
        folder.mkdir()
        references = self._references[lane % len(self._references) :] + self._references
        return trials(references, start, folder, count, self._seed + lane, self._told(name))

    def _told(self, name: str) -> Callable[[Row], None]:
        def tell(row: Row) -> None:
            if time.monotonic() > self._end:
                raise TimeoutError(f"the campaign must end in time; {name} had {row.trials} trials")
            self._say(f"{name}: {row.trials} trials, {len(row.failures)} failures")

        return tell

    def _done(self, row: Row, began: float | None = None) -> None:
        if began is not None:
            row.seconds = time.monotonic() - began
        self.rows.append(row)
        for failure in row.failures[:3]:
            self._say(f"FAILED {row.promise}: {failure}")
        self._say(f"{row.promise}: {row.trials} trials, {len(row.failures)} failures, {row.seconds:.0f} s")

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def page(rows: list[Row], command: str) -> str:
    """The report."""
    header = ["promise", "trials", "runs", "failures", "seconds", "where, and how long", "control"]
    cells = [
        [
            row.promise,
            str(row.trials),
            str(row.runs or "–"),
            f"**{len(row.failures)}**",
            f"{row.seconds:.0f}",
            "; ".join(
                [f"{count} in {place}" for place, count in row.where.most_common()]
                + ([f"longest {row.longest:.1f} s"] if row.longest else [])
                + ([row.remark] if row.remark else [])
            )
            or "–",
            row.control or "–",
        ]
        for row in rows
    ]
    failures = [f"- {row.promise}: {failure}" for row in rows for failure in row.failures[:5]]
    faults = "\n".join(["\nWhat failed:\n", *failures, ""]) if failures else ""
    kinds = "; ".join(VARIANTS)
    about = f"{__doc__ or ''}\nRuns, in turn: {kinds}.\n"
    return f"{heading('Training, disturbed', command, 1)}\n{about}\n{table(header, cells)}{faults}"


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m benchmarks.training_campaign", description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--sigterms", type=int, default=50)
    options.add_argument("--sigints", type=int, default=5)
    options.add_argument("--disks", type=int, default=10, help="full disks")
    options.add_argument("--no-suites", action="store_true", help="leave out the promises that tests try")
    options.add_argument("--minutes", type=float, default=30.0, help="the most it may take")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--results", default="campaign", help="another name for the page, for trials")
    return options.parse_args()


def main() -> int:
    """Run it; 1 where something failed, or a control was not found."""
    chosen = _options()

    def sigints(*arguments: object) -> Row:
        return stop_trials(*arguments, signal.SIGINT)  # type: ignore[call-arg, arg-type]

    with tempfile.TemporaryDirectory(prefix="dragoman-campaign-") as room:
        campaign = Campaign(Path(room), 60 * chosen.minutes, chosen.seed)
        try:
            campaign.disturb(kill_trials, chosen.kills, "kill -9", "forget-optimizer")
            campaign.disturb(stop_trials, chosen.sigterms, "SIGTERM", "forget-place")
            campaign.disturb(sigints, chosen.sigints, "SIGINT", "")
            campaign.fill_disks(chosen.disks)
            if not chosen.no_suites:
                campaign.run_suites()
        except TimeoutError as error:
            campaign.rows.append(Row("all in time", trials=1, failures=[str(error)]))
    command = f"python -m benchmarks.training_campaign --kills {chosen.kills} --sigterms {chosen.sigterms}"
    write(chosen.results, page(campaign.rows, command), [asdict(row) for row in campaign.rows])
    return int(any(row.failures or "NOT FOUND" in row.control for row in campaign.rows))


if __name__ == "__main__":
    sys.exit(main())
