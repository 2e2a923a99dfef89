"""A large file through ``dragoman translate``: constant memory, and the same bytes after repeated kills.

::

    python -m benchmarks.translate_campaign --work DIR           # a million lines, 20 kills; about ten minutes
    python -m benchmarks.translate_campaign --work DIR --lines 20000

The command runs in separate processes with a tiny, untrained model, and is killed with ``kill -9`` at random points. A
smaller run prints its page; that of a million lines is stored. The exit code is 1 if a guarantee is violated: the same
bytes, no memory growth, the requested number of kills, and no undetected forgery.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.reporting import heading, parser, table, write
from dragoman.files import read_json, sha256_of_file
from testkit.random_bundle import random_bundle, words

LINES, KILLS = 1_000_000, 20
CONTROL_LINES = 20_000
MARKS = (0.1, 0.5, 1.0)
GROWTH = 0.1  # of the peak memory at the first mark: allowed growth until the last one, plus GROWTH_MIB
GROWTH_MIB = 16.0
LATEST = 0.9  # of the lines: a kill that is meant for later could come too late
UNNOTICED = "**NOT noticed**"
POLL_SECONDS = 0.02
SEARCH = ["--beam", "1", "--max-length", "8"]


@dataclass(frozen=True)
class Setting:
    """What is translated, by what, and how."""

    work: Path
    source: Path
    bundle: Path
    lines: int
    threads: int

    def command(self, output: Path, *more: str) -> list[str]:
        head = [sys.executable, "-m", "dragoman", "translate", str(self.bundle), str(self.source), "-o", str(output)]
        return [*head, *SEARCH, "--threads", str(self.threads), *more]

    def start(self, output: Path, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command(output, *more), stderr=subprocess.PIPE, text=True, encoding="utf-8")


@dataclass
class Figures:
    """What was found."""

    lines: int
    kills_asked: int
    engine: str = ""
    seconds: float = 0.0
    peak_mib: dict[str, float] = field(default_factory=dict)
    kills: list[dict[str, int]] = field(default_factory=list)
    is_identical: bool = False
    controls: dict[str, str] = field(default_factory=dict)

    def promises(self) -> list[tuple[str, str, bool]]:
        """What is promised, what was found, and whether it was kept."""
        first, last = (self.peak_mib.get(f"{mark:.0%}") for mark in (MARKS[0], MARKS[-1]))
        is_constant = first is not None and last is not None and last <= first * (1 + GROWTH) + GROWTH_MIB
        grown = "not measured at both ends" if first is None or last is None else f"{last - first:+.1f} MiB"
        noticed = [what != UNNOTICED for what in self.controls.values()]
        same = "the same" if self.is_identical else "another"
        return [
            ("killed and gone on with, the output is the same to the byte", same, self.is_identical),
            (
                f"from {MARKS[0]:.0%} to the end peak memory grows by at most {GROWTH:.0%} and {GROWTH_MIB:.0f} MiB",
                grown,
                is_constant,
            ),
            (f"{self.kills_asked} kills", str(len(self.kills)), len(self.kills) == self.kills_asked),
            (
                f"{len(CONTROLS)} forgeries are noticed",
                str(sum(noticed)),
                len(noticed) == len(CONTROLS) and all(noticed),
            ),
        ]

    @property
    def are_promises_kept(self) -> bool:
        return all(is_kept for _, _, is_kept in self.promises())


def make_setting(work: Path, lines: int, threads: int) -> Setting:
    """Write the input and the bundle."""
    work.mkdir(parents=True)
    draw, vocabulary = random.Random(5), words(5, 2000)
    with (work / "input.txt").open("w", encoding="utf-8") as file:
        for _ in range(lines):
            file.write(" ".join(draw.choices(vocabulary, k=draw.randint(0, 6))) + "\n")
    bundle = random_bundle(work / "bundle")
    return Setting(work, work / "input.txt", bundle.folder, lines, threads)


def lines_done(output: Path) -> int:
    """How many lines the journal speaks of."""
    found = read_json(journal_of(output))
    return int(found["done"]["lines"]) if found else 0


def journal_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.part.json")


def peak_mib(process: subprocess.Popen[str]) -> float:
    """The most memory that a running process has had."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def run_whole(setting: Setting, output: Path, figures: Figures) -> None:
    """Translate without interruption, and note the peak of memory at some marks."""
    began, highest = time.monotonic(), 0.0
    process = setting.start(output)
    while process.poll() is None:
        highest = max(highest, peak_mib(process))
        share = lines_done(output) / setting.lines
        for mark in MARKS[:-1]:
            if share >= mark:
                figures.peak_mib.setdefault(f"{mark:.0%}", round(highest, 1))
        time.sleep(POLL_SECONDS)
    said = finish(process, 0)
    figures.peak_mib[f"{MARKS[-1]:.0%}"] = round(highest, 1)
    figures.seconds = round(time.monotonic() - began, 1)
    figures.engine = next(
        line.removeprefix("engine").strip() for line in said.splitlines() if line.startswith("engine")
    )


def finish(process: subprocess.Popen[str], code: int) -> str:
    """Wait for the end of a process, which must have this exit code; returns its output."""
    _, said = process.communicate()
    if process.returncode != code:
        raise SystemExit(f"exit code {process.returncode} instead of {code}: {said}")
    return said


def kill_at(setting: Setting, output: Path, point: int, delay: float) -> dict[str, int] | None:
    """Resume, and kill a little after this number of lines; None if it ended before."""
    process = setting.start(output, "--resume")
    began = lines_done(output)
    while process.poll() is None and lines_done(output) < point:
        time.sleep(POLL_SECONDS)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    if process.returncode not in {0, -signal.SIGKILL}:
        raise SystemExit(f"exit code {process.returncode}: {said}")
    if process.returncode == 0:
        return None
    part = output.with_name(f"{output.name}.part")
    found = read_json(journal_of(output)) or {"done": {"output_bytes": 0}}
    beyond = part.stat().st_size - found["done"]["output_bytes"] if part.exists() else 0
    return {"began_at": began, "journal": lines_done(output), "bytes_beyond_journal": beyond}


def run_killed(setting: Setting, output: Path, kills: int, figures: Figures) -> None:
    """Kill it at random points and resume each time. A kill after the end is not counted."""
    draw = random.Random(7)
    for point in sorted(draw.randrange(int(LATEST * setting.lines)) for _ in range(kills)):
        if found := kill_at(setting, output, point, draw.random()):
            figures.kills.append(found)
            print(f"killed with {found['journal']:,} lines done", file=sys.stderr)
    finish(setting.start(output, "--resume"), 0)


def _forge(change: Callable[[dict[str, Any], Path], None]) -> Callable[[Path], None]:
    def forge(output: Path) -> None:
        journal = read_json(journal_of(output))
        assert journal
        change(journal["done"], output.with_name(f"{output.name}.part"))
        journal_of(output).write_text(json.dumps(journal), encoding="utf-8")

    return forge


def _fewer_lines(done: dict[str, Any], _: Path) -> None:
    done["lines"] -= 1


def _fewer_bytes(done: dict[str, Any], _: Path) -> None:
    done["output_bytes"] -= 7


def _other_input(done: dict[str, Any], _: Path) -> None:
    done["input_bytes"] -= 3


def _a_line_lost(done: dict[str, Any], part: Path) -> None:
    """A lie that agrees with itself in all but what the lines say: only a comparison of outputs can see it."""
    data = part.read_bytes()[: done["output_bytes"]]
    part.write_bytes(data[: data.rfind(b"\n", 0, -1) + 1])
    done |= {"output_bytes": part.stat().st_size, "output_sha256": sha256_of_file(part)}


CONTROLS = {
    "the journal says a line less": _fewer_lines,
    "the journal says some bytes less": _fewer_bytes,
    "the journal says less of the input": _other_input,
    "a line is taken away, and the journal agrees": _a_line_lost,
}


def run_controls(setting: Setting, figures: Figures) -> None:
    """Journals that lie: each must be refused, or the comparison must see it."""
    whole, stopped = setting.work / "whole.txt", setting.work / "stopped.txt"
    finish(setting.start(whole), 0)
    if kill_at(setting, stopped, 1, 0.0) is None:
        raise SystemExit("it came to its end before it could be killed; take more lines")
    for name, change in CONTROLS.items():
        output = setting.work / "control.txt"
        for suffix in (".part", ".part.json"):
            shutil.copyfile(f"{stopped}{suffix}", f"{output}{suffix}")
        _forge(change)(output)
        process = setting.start(output, "--resume")
        _, said = process.communicate()
        if process.returncode == 1:
            figures.controls[name] = f"refused: {said.splitlines()[-1].replace(str(setting.work), 'DIR')}"
        elif output.read_bytes() != whole.read_bytes():
            figures.controls[name] = "seen by the comparison"
        else:
            figures.controls[name] = UNNOTICED
        for left in setting.work.glob("control.txt*"):
            left.unlink()


def page(figures: Figures, threads: int) -> str:
    """The result for people."""
    text = heading(
        f"Translating {figures.lines:,} lines, killed {len(figures.kills)} times",
        f"python -m benchmarks.translate_campaign --lines {figures.lines} --kills {figures.kills_asked}",
        threads,
    )
    rate = figures.lines / figures.seconds
    text += (
        f"\nA tiny Transformer that was never trained, short lines, greedy; engine {figures.engine}. "
        f"Uninterrupted: {figures.seconds:,.0f} s, {rate:,.0f} lines/s, start-up included.\n\n"
    )
    kept = [[what, found, "kept" if is_kept else "**broken**"] for what, found, is_kept in figures.promises()]
    text += table(["promise", "found", ""], kept) + "\n"
    marks = [[share, f"{peak:,.1f}"] for share, peak in figures.peak_mib.items()]
    text += table(["done", "peak memory, MiB"], marks) + "\n"
    same = "identical, byte for byte" if figures.is_identical else "**NOT the same**"
    text += f"Killed with `kill -9` and gone on with `--resume`: the output is {same}.\n\n"
    rows = [[f"{number}", *(f"{value:,}" for value in kill.values())] for number, kill in enumerate(figures.kills, 1)]
    text += table(["kill", "lines done at its start", "and at its end", "bytes that were cut off"], rows)
    text += "\nControls, which must not go unnoticed:\n\n"
    return text + table(["what was forged", "what happened"], [[name, what] for name, what in figures.controls.items()])


def main() -> None:
    options = parser(__doc__)
    options.set_defaults(threads=1)  # batches of a tiny model are too small to share
    options.add_argument("--work", type=Path, required=True, help="a folder to be made, for files of some 100 MB")
    options.add_argument("--lines", type=int, default=LINES)
    options.add_argument("--kills", type=int, default=KILLS)
    given = options.parse_args()
    setting = make_setting(given.work, given.lines, given.threads)
    figures = Figures(given.lines, given.kills)
    whole, killed = given.work / "whole.txt", given.work / "killed.txt"
    run_whole(setting, whole, figures)
    run_killed(setting, killed, given.kills, figures)
    figures.is_identical = whole.read_bytes() == killed.read_bytes()
    run_controls(make_setting(given.work / "controls", CONTROL_LINES, given.threads), figures)
    text = page(figures, given.threads)
    if given.lines == LINES:
        write("translate-campaign", text, asdict(figures) | {"promises": figures.promises()})
    else:
        print(text)
    if not figures.are_promises_kept:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
