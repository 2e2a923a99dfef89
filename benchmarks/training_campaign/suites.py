"""Promises whose trials are tests: which ones, how many there were, and how they ended."""

from __future__ import annotations

import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from testkit.training_faults.process_start import ROOT, environment
from testkit.training_faults.trials import Row


@dataclass(frozen=True)
class Suite:
    """The tests of a promise. `control` names those among them that show that a fault would be seen.

    `only` selects tests by name. `markers` selects them by marker; by default the long ones run too.
    """

    promise: str
    tests: tuple[str, ...]
    control: str
    only: str = ""
    markers: str = "not measure"


SUITES = (
    Suite(
        "a crash inside a save",
        ("tests/unit/training/test_checkpoint.py",),
        "a careless save",
        "stopped or careless",
    ),
    Suite("corruption found", ("tests/hostile/test_damaged_checkpoints.py",), "no hashes"),
    Suite("exact place in the data", ("tests/equivalence/test_loader_determinism.py",), "another order"),
    Suite("resumed = uninterrupted", ("tests/equivalence/test_resume.py",), "nine things left out, one at a time"),
    Suite("another world size", ("tests/equivalence/test_world_size.py",), "gradients summed in another order"),
    Suite(
        "NaN, spike, memory",
        ("tests/hostile/test_training_faults.py",),
        "the monitor switched off",
        "bad_ or spike or in_a_row or rollback or memory",
    ),
    Suite("bad corpus", ("tests/hostile/test_malformed_corpora.py",), "a reader that pairs lines with zip"),
)


def suite_row(suite: Suite, folder: Path, seconds: float) -> Row:
    """Run the tests of a promise; each is a trial."""
    began = time.monotonic()
    row = Row(suite.promise, control=suite.control)
    missing = [test for test in suite.tests if not (ROOT / test).exists()]
    if missing:
        row.remark = f"no {missing[0]} here"
        return row
    report = folder / "tests.xml"
    command = [sys.executable, "-m", "pytest", "-q", *suite.tests, f"--junitxml={report}", "-p", "no:cacheprovider"]
    command += ["-m", suite.markers]
    command += ["-k", suite.only] if suite.only else []
    try:
        subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, check=False, timeout=seconds)
        count(row, ET.parse(report).getroot())
    except subprocess.TimeoutExpired:
        row.fail(f"not done after {seconds:.0f} s")
    row.seconds = time.monotonic() - began
    return row


def count(row: Row, report: ET.Element) -> None:
    """Add up a JUnit report."""
    for case in report.iter("testcase"):
        if case.find("skipped") is not None:
            row.where["skipped"] += 1
            continue
        row.trials += 1
        if case.find("failure") is not None or case.find("error") is not None:
            row.fail(f"{case.get('classname')}::{case.get('name')}")
