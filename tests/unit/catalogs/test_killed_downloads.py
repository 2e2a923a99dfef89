"""Downloads that are killed continue, and processes that want the same file download it once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import zstandard

from dragoman.catalogs.catalog_model import CatalogFile
from testkit.model_server import ModelServer, sha256

SIZE = 17_000_000
# Forks one process per line of input, and kills it after the given seconds (-1: not at all).
SCRIPT = """
import json, os, signal, sys, time
from pathlib import Path
import httpx, zstandard
from dragoman.catalogs.catalog_model import CatalogFile
from dragoman.catalogs.download import download
from dragoman.catalogs.http_client import Access

file = CatalogFile(**json.loads(sys.argv[1]))
print("ready", flush=True)
for line in sys.stdin:
    folder, seconds = line.rstrip().rsplit(" ", 1)
    child = os.fork()
    if not child:
        download(file, Path(folder), access=Access(allow_http=True))
        os._exit(0)
    if float(seconds) >= 0:
        time.sleep(float(seconds))
        os.kill(child, signal.SIGKILL)  # it is not reaped yet, so the number is its own
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Downloads:
    """A process that starts downloads and kills them."""

    def __init__(self, file: CatalogFile) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, json.dumps(asdict(file))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def start(self, folder: Path, seconds: float = -1) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{folder} {seconds}\n")
        self._process.stdin.flush()

    def status(self) -> int:
        return int(self._line())

    def end(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
def packed(server: ModelServer) -> CatalogFile:
    """A model of real size whose download takes about half a second."""
    data = random.Random(1).randbytes(SIZE)
    body = zstandard.compress(data)
    server.files["/cdn/model.zst"] = body
    server.plant("/cdn", "paced", option=0.002)
    return CatalogFile(
        "model.bin", f"{server.url}/cdn/model.zst", "zst", len(body), sha256(body), len(data), sha256(data)
    )


@pytest.fixture
def downloads(packed: CatalogFile) -> Iterator[Downloads]:
    started = Downloads(packed)
    yield started
    started.end()


def received(folder: Path) -> int:
    """Bytes of the partial file."""
    return sum(path.stat().st_size for path in (folder / ".partial").glob("*") if not path.suffix)


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=pytest.mark.long)])
def test_killed_downloads_continue(
    kills: int, server: ModelServer, packed: CatalogFile, downloads: Downloads, tmp_path: Path
):
    chance, done, killed, places = random.Random(kills), 0, 0, [0]
    while killed < kills or done == 0:
        folder = tmp_path / str(done)
        places = [places[-1], received(folder)]
        assert places == sorted(places)
        server.requests.clear()
        downloads.start(folder, chance.uniform(0.02, 0.3) if killed < kills else -1)
        is_killed = downloads.status() != 0
        killed += is_killed
        asked = {headers.get("range", "bytes=0-") for _, headers in server.requests}
        assert asked <= {f"bytes={place}-" for place in places}, "each download begins where the last one ended"
        assert packed.size not in places or not server.requests, "a whole file is not requested again"
        names = [path.name for path in folder.iterdir() if path.name != ".partial"] if folder.exists() else []
        assert names in ([], ["model.bin"])
        if names:
            assert sha256((folder / "model.bin").read_bytes()) == packed.content_sha256
            done, places = done + 1, [0]
    server.requests.clear()
    for number in range(done):
        downloads.start(tmp_path / str(number))
        assert downloads.status() == 0
        assert [path.name for path in (tmp_path / str(number)).iterdir()] == ["model.bin"]
    assert server.requests == []


def test_two_processes_download_a_file_once(server: ModelServer, packed: CatalogFile, tmp_path: Path):
    both = [Downloads(packed), Downloads(packed)]
    for each in both:
        each.start(tmp_path / "files")
    assert [each.status() for each in both] == [0, 0]
    for each in both:
        each.end()
    assert server.bytes_sent("/cdn") == packed.size
    assert sha256((tmp_path / "files" / "model.bin").read_bytes()) == packed.content_sha256
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["model.bin"]
