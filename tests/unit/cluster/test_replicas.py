"""`dragoman serve --on ray` on a real Ray of this machine: the answers of one process, also if a replica is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from dragoman.environment import is_installed
from dragoman.errors import ConfigError
from tests.server.bundles import tiny_bundle
from tests.unit.cluster.ray_environment import ray_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_installed("ray"), reason="needs the extra cluster"),
    pytest.mark.xdist_group("ray"),
]

START_SECONDS = 300
REPLICA = "ray::ServeReplica:dragoman"
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/translate", {"json": {"q": "a b c", "source": "en", "target": "de"}}),
    ("POST", "/translate", {"data": {"q": "a b", "source": "auto", "target": "de", "alternatives": "2"}}),
    ("POST", "/translate", {"json": {"q": ["<b>a</b> b", "c"], "source": "en", "target": "de", "format": "html"}}),
    ("POST", "/translate", {"json": {"q": "a", "source": "xx", "target": "de"}}),
    ("POST", "/translate", {"content": b"?", "headers": {"content-type": "text/plain"}}),
    ("POST", "/v2/translate", {"json": {"text": ["a b", "c"], "target_lang": "DE", "source_lang": "EN"}}),
    ("POST", "/v2/translate", {"data": {"text": "a b", "target_lang": "DE"}}),
    ("POST", "/v2/translate", {"json": {"text": ["a"], "target_lang": "XX"}}),
    ("POST", "/v1/translate", {"json": {"text": "a b", "source": "en", "target": "de", "alignment": True}}),
    ("POST", "/v1/translate", {"json": {"text": "a b. c", "source": "en", "target": "de", "stream": True}}),
    ("GET", "/languages", {}),
    ("GET", "/v2/languages?type=target", {}),
    ("GET", "/openapi.json", {}),
    ("HEAD", "/health", {}),
    ("GET", "/nowhere", {}),
    ("GET", "/languages", {"headers": {"host": "evil.example"}}),
]
HEADERS = {"content-type", "content-length", "x-content-type-options", "access-control-allow-origin", "cache-control"}


@dataclass
class Running:
    process: subprocess.Popen[str]
    url: str

    def replicas(self) -> list[int]:
        """Process ids of the replicas that this command started."""
        parents, found = {}, []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                if (path / "cmdline").read_bytes().decode("utf-8", "replace").startswith(REPLICA):
                    found.append(int(path.name))
            except (OSError, IndexError):  # it has just ended
                continue

        def is_ours(pid: int) -> bool:
            while pid > 1 and pid != self.process.pid:
                pid = parents.get(pid, 0)
            return pid == self.process.pid

        return [pid for pid in found if is_ours(pid)]


@contextmanager
def serving(bundle: Path, log: Path, *more: str) -> Iterator[Running]:
    environment = {**ray_environment(), "DRAGOMAN_DATABASE": f"sqlite:///{log.parent / 'data.db'}"}
    command = [sys.executable, "-m", "dragoman", "serve", f"tiny={bundle}", "--port", "0", "--threads", "1"]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [*command, "--beam", "2", *more], env=environment, stdin=subprocess.DEVNULL, stderr=output, text=True
        )
    try:
        end = time.monotonic() + START_SECONDS
        while not (found := re.search(r"^serving (http://\S+)$", log.read_text(encoding="utf-8"), re.MULTILINE)):
            assert (process.poll(), time.monotonic() < end) == (None, True), log.read_text(encoding="utf-8")
            time.sleep(0.1)
        yield Running(process, found[1])
    finally:
        process.terminate()
        try:
            process.wait(180)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("bundles") / "tiny", "en", "de")


@pytest.fixture(scope="module")
def cluster(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("ray") / "log"
    replicas = ("--on", "ray", "--min-replicas", "2", "--max-replicas", "2", "--drain-notice", "0.5")
    with serving(bundle, log, *replicas) as started:
        yield started


def test_a_proxy_that_does_not_start_is_an_error_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import RayError

    from dragoman.cluster import replicas

    ended: list[bool] = []

    def start(**_: object) -> None:
        raise RayError

    status = SimpleNamespace(proxies={})
    fake = SimpleNamespace(status=lambda: status, start=start, shutdown=lambda: ended.append(True))
    monkeypatch.setattr(replicas, "serve", fake)
    options = replicas.ReplicaOptions("127.0.0.1", 0, 1, 1, 1, 1.0, 0.0)
    with pytest.raises(ConfigError, match="proxy of Ray Serve must start in time, got RayError; the machine may be"):
        replicas.serve_replicas(SimpleNamespace(), options, lambda: None)
    assert ended == [True]


def test_same_answers_as_one_process(cluster: Running, bundle: Path, tmp_path: Path) -> None:
    with serving(bundle, tmp_path / "log") as local:
        for method, path, how in CALLS:
            one, other = (httpx.request(method, each.url + path, timeout=60, **how) for each in (local, cluster))
            assert (other.status_code, other.content) == (one.status_code, one.content), path
            assert [other.headers.get(name) for name in HEADERS] == [one.headers.get(name) for name in HEADERS], path
            assert len(set(other.headers.get_list("x-request-id", split_commas=True))) == 1


def test_what_replicas_do_not_share_is_rejected(cluster: Running) -> None:
    answer = httpx.get(f"{cluster.url}/metrics", timeout=60)
    assert (answer.status_code, answer.json()["code"]) == (501, "single_process_only")


def test_replicas_share_what_is_stored(cluster: Running) -> None:
    """Each request may go to another replica."""
    pair = {"source_lang": "en", "target_lang": "de"}
    glossary = {"name": "a", **pair, "entries": "a\tb", "entries_format": "tsv"}
    made = httpx.post(f"{cluster.url}/v2/glossaries", json=glossary, timeout=60).json()["glossary_id"]
    for _ in range(6):
        listed = httpx.get(f"{cluster.url}/v3/glossaries", timeout=60).json()["glossaries"]
        assert [each["glossary_id"] for each in listed] == [made]
    handle = httpx.post(f"{cluster.url}/v2/document", data=pair, files={"file": ("a.txt", b"a b c")}, timeout=60).json()
    where, key = f"{cluster.url}/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    while (status := httpx.post(where, json=key, timeout=60).json()["status"]) == "translating":
        time.sleep(0.1)
    assert status == "done"
    assert {httpx.post(f"{where}/result", json=key, timeout=60).status_code for _ in range(6)} == {200}


@pytest.mark.long
def test_a_killed_replica_is_started_again_and_no_answer_is_wrong(cluster: Running) -> None:
    body = {"q": "a b c", "source": "en", "target": "de"}
    expected = httpx.post(f"{cluster.url}/translate", json=body, timeout=60).json()
    found: list[tuple[int, Any]] = []
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            try:
                answer = httpx.post(f"{cluster.url}/translate", json=body, timeout=120)
            except httpx.TransportError:
                found.append((0, None))
                continue
            found.append((answer.status_code, answer.json() if answer.status_code == 200 else None))

    clients = [threading.Thread(target=send) for _ in range(2)]
    for client in clients:
        client.start()
    before = cluster.replicas()
    assert len(before) == 2
    time.sleep(0.5)
    os.kill(before[0], signal.SIGKILL)
    end = time.monotonic() + 180
    while len(set(cluster.replicas()) - {before[0]}) < 2 and time.monotonic() < end:
        time.sleep(0.2)
    killed_at = len(found)
    while len(found) < killed_at + 20 and time.monotonic() < end:
        time.sleep(0.1)
    is_over.set()
    for client in clients:
        client.join()
    assert set(cluster.replicas()) - set(before), "no replica was started again"
    assert all(answer == expected for status, answer in found if status == 200)
    assert {status for status, _ in found} <= {200, 500, 503}, {status for status, _ in found}
    assert sum(status != 200 for status, _ in found) <= len(clients), "only requests of the killed replica may fail"


def test_sigterm_finishes_running_requests(cluster: Running) -> None:
    body = {"q": " ".join(["a b c d."] * 150), "source": "en", "target": "de"}
    answers: list[httpx.Response] = []
    client = threading.Thread(
        target=lambda: answers.append(httpx.post(f"{cluster.url}/translate", json=body, timeout=60))
    )
    client.start()
    time.sleep(0.1)
    cluster.process.terminate()
    client.join()
    assert cluster.process.wait(180) == 0
    assert answers[0].status_code == 200
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{cluster.url}/health")
    assert cluster.replicas() == []
