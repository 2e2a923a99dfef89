"""Workers of a real Ray on this machine: the bytes of one process, also if workers are killed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman.environment import is_installed
from dragoman.files import read_json
from testkit.random_bundle import random_bundle, words
from tests.unit.cluster.ray_environment import ray_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster"),
    pytest.mark.xdist_group("ray"),
]


def run_cases(folder: Path) -> dict[str, Any]:
    environment = ray_environment()
    command = [sys.executable, "-m", "tests.unit.cluster.pool_cases", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.long
def test_one_worker_and_errors(tmp_path: Path) -> None:
    found = run_cases(tmp_path)
    same = {"lines": 241, "same": True, "job": True, "languages": True, "flags": found["flags"], "killed": 0}
    assert found["1 workers"] == same
    for case, message in {
        "not UTF-8": r"DataError: in\.txt:2 must be UTF-8 text, got byte 0xFF at position 1 of the line; .*",
        "die": r"DataError: in\.txt:2-2 must be translated by one of the workers, got 4 that ended unexpectedly; .*",
        "differ": r"ConfigError: all workers must have the same model, engine and version; .*",
    }.items():
        assert re.fullmatch(message, found[case]), found[case]
    assert "ZeroDivisionError" in found["fail"]  # other errors keep their traceback


@pytest.mark.long
def test_killed_on_ray_and_continued_without_it(tmp_path: Path) -> None:
    random_bundle(tmp_path / "bundle")
    lines = 30_000
    (tmp_path / "in").write_text("".join(f"{' '.join(words(row % 50, 5))}\n" for row in range(lines)), encoding="utf-8")
    environment = ray_environment()
    search = ["--engine", "ctranslate2", "--threads", "1", "--beam", "1", "--max-length", "8"]
    command = [sys.executable, "-m", "dragoman", "translate", str(tmp_path / "bundle"), str(tmp_path / "in"), *search]
    subprocess.run([*command, "-o", str(tmp_path / "whole")], check=True, capture_output=True, timeout=600)

    output = ["-o", str(tmp_path / "out")]
    on_ray = subprocess.Popen(
        [*command, *output, "--on", "ray", "--workers", "1"], env=environment, stderr=subprocess.PIPE
    )
    journal = tmp_path / "out.part.json"
    for _ in range(4000):
        if on_ray.poll() is not None or (journal.exists() and (read_json(journal) or {})["done"]["lines"]):
            break
        time.sleep(0.05)
    on_ray.kill()
    _, error = on_ray.communicate()
    assert journal.exists(), error[-2000:]
    done = read_json(journal)["done"]["lines"]  # type: ignore[index]
    assert 0 < done < lines

    subprocess.run([*command, *output, "--resume"], check=True, capture_output=True, timeout=600)

    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
