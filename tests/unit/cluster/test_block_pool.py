"""Workers of a real Ray on this machine: the bytes of one process, also if workers are killed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from dragoman.environment import is_installed
from tests.unit.cluster.pool_cases import KILLS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("ray"), reason="needs dragoman[cluster]"),
    pytest.mark.xdist_group("ray"),
]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-m", "tests.unit.cluster.pool_cases", str(tmp_path_factory.mktemp("ray"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.parametrize(("workers", "killed"), [(1, 0), (2, KILLS)])
def test_same_bytes_as_one_process(found: dict[str, Any], workers: int, killed: int) -> None:
    expected = {"lines": 241, "same": True, "job": True, "language": True, "flags": found["flags"], "killed": killed}

    assert found[f"{workers} workers"] == expected


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("not UTF-8", r"DataError: in\.txt:2 must be UTF-8 text, got byte 0xFF at position 1 of the line; .*"),
        ("die", r"DataError: in\.txt:2-2 must be translated by one of the workers, got 4 that ended unexpectedly; .*"),
        ("differ", r"ConfigError: all workers must have the same model, engine and version, got different ones; .*"),
        ("missing", r"BundleError: /none/bundle must exist on every node, got a node without it; .*"),
    ],
)
def test_errors_are_one_line(found: dict[str, Any], case: str, message: str) -> None:
    assert re.fullmatch(message, found[case]), found[case]


def test_other_errors_keep_their_traceback(found: dict[str, Any]) -> None:
    assert "ZeroDivisionError" in found["fail"]
