"""Shutdown: every admitted request gets its response, and later ones are rejected at once."""

from __future__ import annotations

import http.client
import json
import resource
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

from tests.server.fake_server import RunningServer, eventually, running

IDLE_GRACE = 0.25  # seconds: a little less than the server's own
ASKED = {"q": "hello world", "source": "en", "target": "de"}


def client(server: RunningServer, counts: Counter[str]) -> None:
    """Ask again and again, on a connection that is kept as long as it may be, until the server is gone."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    answered = time.monotonic()
    while True:
        # A connection on which nothing came for long may be closed as the next request is on its way: HTTP has it so,
        # and clients ask again. On a machine that is busy a thread of ours may be such a client.
        is_idle = connection.sock is not None and time.monotonic() - answered > IDLE_GRACE
        try:
            connection.request("POST", "/translate", json.dumps(ASKED), {"content-type": "application/json"})
            response = connection.getresponse()
            assert response.read()
        except OSError as error:
            is_gone = isinstance(error, ConnectionRefusedError)
            counts["refused" if is_gone else "idle for long" if is_idle else "lost"] += 1
            return
        counts[str(response.status)] += 1
        answered = time.monotonic()


@pytest.mark.parametrize("trial", [0, *(pytest.param(each, marks=pytest.mark.long) for each in range(1, 5))])
def test_nothing_that_was_let_in_is_lost(trial: int):
    with running({"log": "off"}, delay=0.05) as server:
        counts: Counter[str] = Counter()
        clients = [threading.Thread(target=client, args=(server, counts)) for _ in range(12)]
        for thread in clients:
            thread.start()
        assert eventually(lambda: counts["200"] > 30)
        time.sleep(0.013 * trial)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        for thread in clients:
            thread.join()
        assert eventually(lambda: counts["200"] == server.lines.count("left"))
        assert "cancelled" not in server.lines
        assert set(counts) <= {"200", "refused", "idle for long"}, counts
        assert counts["refused"] > 0


def test_it_says_at_once_that_it_ends_and_goes_on_for_the_notice():
    with running({"drain_notice": 2.0}) as server, httpx.Client(base_url=server.url) as asking:
        assert asking.get("/readyz").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        assert eventually(lambda: asking.get("/readyz").status_code == 503)
        answer = asking.post("/translate", json=ASKED)
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")
        assert asking.get("/livez").status_code == 200
        assert server.process.wait(60) == 0
        assert time.monotonic() - begun > 1.9


def test_what_takes_too_long_is_cut_off():
    with running({"drain_seconds": 0.5}, delay=60.0) as server:
        answers: list[httpx.Response] = []
        thread = threading.Thread(
            target=lambda: answers.append(httpx.post(server.url + "/translate", json=ASKED, timeout=55))
        )
        thread.start()
        assert eventually(lambda: "dragoman_requests_in_flight 2.0" in httpx.get(server.url + "/metrics").text)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        assert time.monotonic() - begun > 0.4
        thread.join()
        assert (answers[0].status_code, answers[0].headers["retry-after"]) == (503, "1")
    assert any("ended: 1 request was cut off" in line for line in server.log)


def test_a_low_limit_of_open_files_is_raised_for_the_connections():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # inherited by the server
    try:
        with running({"limits": {"connections": 300}}) as server:
            limits = Path(f"/proc/{server.process.pid}/limits").read_text()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    (line,) = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert int(line.split()[3]) >= 300 + 256


@pytest.mark.parametrize("plant", ["thread", "stubborn"])
def test_the_process_is_gone_two_seconds_after_the_drain_whatever_runs(plant: str):
    with running({"drain_seconds": 0.5}, plant=plant) as server, server.connect() as connection:
        body = json.dumps(ASKED).encode()
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert eventually(lambda: "dragoman_requests_in_flight 2.0" in httpx.get(server.url + "/metrics").text)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert time.monotonic() - begun < 10, "2.5 s, and more only on a busy machine; the work takes 60 s"


def test_the_notice_is_part_of_the_drain():
    with running({"drain_seconds": 1.0, "drain_notice": 0.8}, plant="thread") as server:
        thread = threading.Thread(target=lambda: httpx.post(server.url + "/translate", json=ASKED, timeout=55))
        thread.start()
        assert eventually(lambda: "dragoman_requests_in_flight 2.0" in httpx.get(server.url + "/metrics").text)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30) == 0
        assert 0.9 < time.monotonic() - begun < 10
        thread.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(number: signal.Signals):
    with running({"drain_notice": 60.0}) as server:
        server.process.send_signal(number)
        assert eventually(lambda: httpx.get(server.url + "/readyz").status_code == 503)
        assert server.process.poll() is None
        server.process.send_signal(number)
        assert server.process.wait(30) == 128 + number, "before the end of the notice"
