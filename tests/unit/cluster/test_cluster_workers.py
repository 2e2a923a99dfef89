"""Preparation on a real Ray on this machine: the files of one process, also if workers are killed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.config import to_toml
from dragoman.environment import is_installed
from dragoman.files import read_json
from tests.equivalence.test_preparation_determinism import corpora
from tests.unit.cluster.ray_environment import ray_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster"),
    pytest.mark.xdist_group("ray"),
]


def run(*command: str) -> str:
    environment = ray_environment()
    done = subprocess.run(
        [sys.executable, "-m", *command], env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def run_cases(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("tests.unit.cluster.prepare_cases", str(folder)).splitlines()[-1])
    return found


@pytest.mark.long
def test_one_worker_writes_the_same_files_and_a_lost_chunk_is_noticed(tmp_path: Path) -> None:
    found = run_cases(tmp_path)
    assert found["1 worker"]
    assert re.fullmatch(r"DataError: /none/\d is missing on a node; .*", found["not shared"])
    assert not found["a chunk is lost"]
    assert found["manifest without a chunk"] != found["manifest"]


@pytest.mark.long
def test_command_line(tmp_path: Path) -> None:
    manifests = []
    for name, options in (("local", []), ("ray", ["--on", "ray", "--workers", "1"])):
        folder = tmp_path / name
        settings = corpora(folder)
        (folder / "dragoman.toml").write_text(to_toml(settings), encoding="utf-8")
        printed = json.loads(run("dragoman", "prepare", str(folder), "--json", *options))
        assert printed == read_json(folder / "prepared/manifest.json")
        manifests.append((folder / "prepared/manifest.json").read_bytes())
    assert manifests[0] == manifests[1]
