"""Synthetic corpora on a real Ray of this machine: the bytes of one process, with samples and a round trip."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.environment import is_installed
from testkit.random_bundle import random_bundle, words
from tests.unit.cluster.ray_environment import ray_environment

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster"),
    pytest.mark.xdist_group("ray"),
]


SMALL_BLOCKS = """
from dragoman.api.files import input_lines
from dragoman.cli.main import main
from tests.unit.cluster.ray_environment import ray_environment
input_lines._LINES = 64
main()
"""
"""The command line with blocks of 64 lines instead of 2,048, so that a short text has several."""


def test_same_bytes_as_one_process(tmp_path: Path) -> None:
    random_bundle(tmp_path / "bundle-1", seed=1)
    lines = 300  # five blocks
    text = "".join(f"{' '.join(words(row % 90, 2))}\n" for row in range(lines))
    (tmp_path / "text").write_text(text, encoding="utf-8")
    environment = ray_environment()
    search = ["--sample", "--temperature", "1000", "--max-length", "12", "--engine", "torch", "--threads", "1"]
    pairs = ["--noise", "--tag", "<BT>"]
    command = [sys.executable, "-c", SMALL_BLOCKS, "backtranslate", "bundle-1", "text", *search, *pairs]
    for folder, more in (("local", []), ("cluster", ["--on", "ray", "--workers", "2"])):
        run = [*command, "-o", folder, *more]
        done = subprocess.run(
            run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
    names = {"synthetic.source", "synthetic.target", "record.json", "lines.jsonl.gz", "translation.jsonl"}
    for name in names:
        assert (tmp_path / "local" / name).read_bytes() == (tmp_path / "cluster" / name).read_bytes()
    assert (tmp_path / "local/synthetic.source").read_text(encoding="utf-8").count("\n") > 1
