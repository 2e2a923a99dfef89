"""Kill campaign of the commands on Ray: the output must be that of one process.

A cluster of two nodes runs on this machine, with a processor each. Each command runs on two workers and is disturbed at
random moments: a *worker* process is killed, or the *raylet* of the second node, after which another node joins, or the
*driver*, the command itself, which is then started again with `--resume`. A run that ended is compared with that of one
process without Ray; then the next run starts, until all kills are done. The *control* has a planted fault, which the
comparison must find.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.cluster_campaign.commands import COMMANDS, Command
from benchmarks.cluster_campaign.nodes import Nodes, two_nodes
from benchmarks.reporting import RESULTS, heading, table, write
from dragoman.files import read_json

NAME = "cluster-campaign"
KINDS = ("worker", "raylet", "driver")
END_TIMEOUT = 300.0  # seconds without kills in which a command must end
CONTROL_SECONDS = 120.0  # in which the control must have made progress, and is killed then
_RAY = ["--on", "ray", "--workers", "2"]


@dataclass
class Row:
    """What happened to one command."""

    command: str
    planned: int
    kills: list[dict[str, str | float]] = field(default_factory=list)
    runs: int = 0
    failures: list[str] = field(default_factory=list)
    control: str = ""
    seconds: float = 0.0

    def count(self, kind: str) -> int:
        return Counter(str(kill["kind"]) for kill in self.kills)[kind]


class Trials:
    """Runs of one command, with kills."""

    def __init__(self, command: Command, nodes: Nodes, row: Row, draw: random.Random, deadline: float) -> None:
        self._command, self._nodes, self._row, self._draw = command, nodes, row, draw
        self._deadline = deadline
        self.reference = command.output("reference")
        subprocess.run(self._words(command.arguments(self.reference, is_continued=False)), check=True, **_QUIET)

    def _words(self, arguments: list[str]) -> list[str]:
        return [sys.executable, "-m", "dragoman", *arguments]

    def start(self, output: Path, *, is_continued: bool) -> subprocess.Popen[str]:
        """Start the command on the cluster."""
        words = self._words(self._command.arguments(output, is_continued=is_continued))
        environment = {**os.environ, "RAY_ADDRESS": self._nodes.address, "OMP_NUM_THREADS": "1"}
        log = (self._command.work / "log").open("w", encoding="utf-8")
        return subprocess.Popen([*words, *_RAY], env=environment, stdout=subprocess.DEVNULL, stderr=log, text=True)

    def run(self, kinds: list[str]) -> None:
        """Run the command again and again until all kills are done."""
        while kinds and time.monotonic() < self._deadline:
            self._row.runs += 1
            output = self._command.output(f"run{self._row.runs}")
            self._disturb(output, kinds)
            found = self._command.differences(output, self.reference)
            if found:
                self._row.failures.append(f"run {self._row.runs}: not the same: {', '.join(found[:5])}")
            _say(f"{self._row.command}: {len(self._row.kills)} kills, {len(self._row.failures)} failures")

    def _disturb(self, output: Path, kinds: list[str]) -> None:
        """Run once, with kills while it runs; a command that gives up is a failure, and is continued."""
        process = self.start(output, is_continued=False)
        while True:
            began = time.monotonic()
            timeout = self._draw.uniform(*self._command.spacing) if kinds else END_TIMEOUT
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                if not kinds:
                    process.kill()
                    process.wait()
                    raise SystemExit(f"{self._row.command} does not end: {self._last_line()}") from None
                if self._kill(kinds[0], process, output, time.monotonic() - began) and kinds.pop(0) == "driver":
                    process = self.start(output, is_continued=True)
                continue
            if process.returncode == 0:
                return
            self._row.failures.append(f"run {self._row.runs}: exit code {process.returncode}: {self._last_line()}")
            if len(self._row.failures) > self._row.planned:
                raise SystemExit(f"{self._row.command} fails: {self._last_line()}")
            process = self.start(output, is_continued=True)

    def _kill(self, kind: str, process: subprocess.Popen[str], output: Path, after: float) -> bool:
        """Kill something; False if there is nothing to kill, for instance before the first worker has started."""
        progress = self._command.progress(output)
        if kind == "driver":
            process.kill()
            process.wait()
        elif kind == "raylet":
            self._nodes.replace_second()
        else:
            workers = self._nodes.workers()
            if not workers:
                return False
            try:
                os.kill(self._draw.choice(workers), 9)
            except ProcessLookupError:
                return False
        self._row.kills.append({"kind": kind, "at": progress, "after": round(after, 1)})
        return True

    def control(self) -> str:
        """Kill the driver, plant a fault, and continue: what found it."""
        output = self._command.output("control")
        process = self.start(output, is_continued=False)
        last = time.monotonic() + CONTROL_SECONDS
        while self._command.progress(output).startswith("no ") and process.poll() is None and time.monotonic() < last:
            time.sleep(0.1)
        if process.poll() is not None:
            return "NOT TRIED: it ended before it was killed"
        process.kill()
        process.wait()
        while self._nodes.workers() and time.monotonic() < last:  # they work until they notice the end of the driver
            time.sleep(0.5)
        self._command.plant(output)
        process = self.start(output, is_continued=True)
        if process.wait(END_TIMEOUT):
            return f"refused: {self._last_line()}"
        if finish := getattr(self._command, "finish_control", None):
            finish(output)
        found = self._command.differences(output, self.reference)
        return f"found: {', '.join(found[:3])}" if found else "NOT FOUND"

    def _last_line(self) -> str:
        lines = (self._command.work / "log").read_text(encoding="utf-8").strip().splitlines()
        return lines[-1].replace(str(self._command.work), "DIR") if lines else "no message"


_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def campaign(
    name: str, nodes: Nodes, work: Path, options: argparse.Namespace, deadline: float, before: Row | None
) -> Row:
    """Disturb one command, or run only its control."""
    began, draw = time.monotonic(), random.Random(options.seed)
    row = Row(name, options.kills) if before is None or not options.control else before
    trials = Trials(COMMANDS[name](work / name), nodes, row, draw, deadline)
    if not options.control:
        kinds = [KINDS[number % len(KINDS)] for number in range(options.kills)]
        draw.shuffle(kinds)
        trials.run(kinds)
        row.seconds = round(time.monotonic() - began, 1)
    row.control = trials.control()
    return row


def page(rows: list[Row], command: str) -> str:
    """Return the report."""
    header = ["command", *(f"{kind} killed" for kind in KINDS), "runs", "failures", "seconds"]
    cells = [
        [
            row.command,
            *(str(row.count(kind)) for kind in KINDS),
            *(str(row.runs), f"**{len(row.failures)}**", f"{row.seconds:.0f}"),
        ]
        for row in rows
    ]
    about = (__doc__ or "").partition("\n")[2].strip()
    text = heading("Kills on a Ray cluster", command, 1) + f"\n{about}\n\n"
    text += table(header, cells)
    text += "\nA command starts once per run, and again after each kill of its driver. "
    text += "A failure is another output, or an error after which the command had to be started again.\n"
    missing = [
        f"{row.command}: {len(row.kills)} of {row.planned} kills" for row in rows if len(row.kills) < row.planned
    ]
    text += f"\nThe time did not suffice: {'; '.join(missing)}.\n" if missing else ""
    failures = [f"- {row.command}, {failure}" for row in rows for failure in row.failures]
    text += "\n".join(["\nWhat failed:\n", *failures, ""]) if failures else ""
    controls = [[row.command, COMMANDS[row.command].fault, row.control] for row in rows]
    text += "\nControls:\n\n" + table(["command", "planted", "result"], controls)
    spread = [[row.command, ", ".join(f"{kill['kind']} at {kill['at']}" for kill in row.kills)] for row in rows]
    return text + "\nWhen they were killed:\n\n" + table(["command", "kills"], spread)


def is_kept(rows: list[Row]) -> bool:
    """Whether nothing failed, and every control was found."""
    return not any(row.failures or not row.control.startswith(("found", "refused")) for row in rows)


def kept_rows(name: str) -> dict[str, Row]:
    """Return the rows of an earlier run by command; those of commands that do not run again are kept."""
    stored = read_json(RESULTS / f"{name}.json")
    return {row["command"]: Row(**row) for row in stored["rows"]} if isinstance(stored, dict) else {}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Run it; 1 if something failed or a control was not found."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.cluster_campaign", description=__doc__)
    options.add_argument("only", nargs="*", choices=[*COMMANDS, []], help="commands to disturb (default: all)")
    options.add_argument("--kills", type=int, default=20, help="of each command, a third of each kind")
    options.add_argument("--minutes", type=float, default=20.0, help="after which no new run starts")
    options.add_argument("--control", action="store_true", help="run only the control, and keep the other figures")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--results", default=NAME, help="another name for the page, for trials")
    chosen = options.parse_args()
    rows: dict[str, Row] = kept_rows(chosen.results)
    began = time.monotonic()
    names = chosen.only or list(COMMANDS)
    with tempfile.TemporaryDirectory(prefix="dragoman-campaign-") as work, two_nodes() as nodes:
        for number, name in enumerate(names, 1):
            deadline = began + 60 * chosen.minutes * number / len(names)
            rows[name] = campaign(name, nodes, Path(work), chosen, deadline, rows.get(name))
            listed = [rows[each] for each in COMMANDS if each in rows]
            typed = f"python -m benchmarks.cluster_campaign --kills {chosen.kills} --seed {chosen.seed}"
            write(chosen.results, page(listed, typed), {"seed": chosen.seed, "rows": [asdict(row) for row in listed]})
    return 0 if is_kept([rows[name] for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main())
