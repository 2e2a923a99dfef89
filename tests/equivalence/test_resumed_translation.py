"""A file that is translated by processes which are killed again and again = one that is translated in one go.

``python -m benchmarks.translate_campaign`` does the same with a million lines.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testkit.random_bundle import random_bundle, words

LINES = 3000
SHORT_WINDOWS = """
import resource
from dragoman.api.files import input_lines, resumable_output
from dragoman.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, ({most_bytes}, resource.RLIM_INFINITY))
input_lines._LINES, resumable_output._INTERVAL = 50, {every}
main()
"""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle and something to translate."""
    folder = tmp_path_factory.mktemp("resumed")
    random_bundle(folder / "bundle")
    draw, vocabulary = random.Random(3), words(3, 500)
    lines = (" ".join(draw.choices(vocabulary, k=draw.randint(0, 6))) for _ in range(LINES))
    (folder / "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def start(
    room: Path, output: Path, *more: str, every: float = 0.0, most_bytes: int = resource.RLIM_INFINITY
) -> subprocess.Popen[bytes]:
    """The command as a process, with short windows, frequent journal entries and small files."""
    code = SHORT_WINDOWS.format(every=every, most_bytes=most_bytes)
    arguments = [
        str(room / "bundle"),
        str(room / "in"),
        "-o",
        str(output),
        "--threads",
        "1",
        "--max-length",
        "6",
        *more,
    ]
    return subprocess.Popen(
        [sys.executable, "-c", code, "translate", *arguments],
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def ended(process: subprocess.Popen[bytes]) -> int:
    _, said = process.communicate()
    assert process.returncode in {0, 75, -signal.SIGKILL}, said.decode()
    return process.returncode


def lines_done(output: Path) -> int:
    try:
        journal = json.loads(output.with_name(f"{output.name}.part.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return 0
    return int(journal["done"]["lines"])


def stop_at(process: subprocess.Popen[bytes], output: Path, line: int, number: signal.Signals, delay: float) -> int:
    while process.poll() is None and lines_done(output) < line:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(number)
    return ended(process)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_killed_again_and_again(room: Path, tmp_path: Path, suffix: str):
    whole, output = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    assert ended(start(room, whole, every=1.0)) == 0
    draw = random.Random(suffix)
    points = sorted(draw.randrange(LINES - 200) for _ in range(4))
    codes = []
    for point in points:
        process = start(room, output, "--resume", every=draw.choice([0.0, 0.02]))
        codes.append(stop_at(process, output, point, signal.SIGKILL, draw.random() / 50))
    assert -signal.SIGKILL in codes
    assert ended(start(room, output, "--resume")) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"whole{suffix}", f"out{suffix}"])


@pytest.mark.slow
def test_a_scheduler_that_asks_first(room: Path, tmp_path: Path):
    whole, output = tmp_path / "whole", tmp_path / "out"
    assert ended(start(room, whole, every=1.0)) == 0
    assert stop_at(start(room, output), output, 100, signal.SIGTERM, 0.0) == 75
    assert 100 <= lines_done(output) < LINES
    assert ended(start(room, output, "--resume")) == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.slow
def test_a_disk_that_is_full(room: Path, tmp_path: Path):
    whole, output = tmp_path / "whole", tmp_path / "out"
    assert ended(start(room, whole)) == 0  # and now there is nothing to convert any more
    process = start(room, output, most_bytes=whole.stat().st_size // 2)
    _, said = process.communicate()
    assert process.returncode == 1, said
    assert said.decode().splitlines()[-1].endswith("check the disk, the folder and its permissions")
    assert "Traceback" not in said.decode()
    assert 0 < lines_done(output) < LINES
    assert ended(start(room, output, "--resume")) == 0
    assert output.read_bytes() == whole.read_bytes()
