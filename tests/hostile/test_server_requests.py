"""Requests that are meant to harm: each is answered or cut off, costs next to nothing, and the next one is served.

A real server with a service that translates by rule stands behind them, so that all the time it takes is the shell's.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from tests.server.fake_server import RunningServer, eventually, exchange, running

BODY_SECONDS = 0.6
MOST_CPU = 2.5  # four times what the costliest takes on a quiet machine
HEAD = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GOOD = b'{"q": "hello", "source": "en", "target": "de"}'


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    limits = {"body_seconds": BODY_SECONDS, "seconds": 2.0, "connections": 40}
    with running({"limits": limits}) as started:
        yield started


@pytest.fixture(scope="module")
def patient_server() -> Iterator[RunningServer]:
    """A server with the usual deadline, which also suffices on a busy machine."""
    with running() as started:
        yield started


@contextmanager
def still_serves(server: RunningServer) -> Iterator[None]:
    """Check that a request took little CPU time, and that the server handles the next one."""
    before = server.cpu_seconds()
    yield
    assert server.process.poll() is None, "it has ended"
    assert server.cpu_seconds() - before < MOST_CPU, "it took too much of the processor"
    assert httpx.post(server.url + "/translate", content=GOOD, headers={"content-type": "application/json"}).is_success


@pytest.fixture(autouse=True)
def _still_serves(server: RunningServer) -> Iterator[None]:
    with still_serves(server):
        yield


def statuses(received: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3})", received)]


def request(body: bytes) -> bytes:
    return HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def test_a_slow_body(server: RunningServer):
    send_slow_body(server, patience=60)


def send_slow_body(server: RunningServer, patience: float) -> None:
    """Send a body byte by byte; fail if it is not rejected within `patience` seconds."""
    with server.connect() as connection:
        connection.settimeout(0.05)
        connection.sendall(HEAD + b"Content-Length: 5000\r\n\r\n")
        begun, answer = time.monotonic(), b""
        while not answer and time.monotonic() - begun < patience:
            try:
                connection.sendall(b" ")
                answer = connection.recv(65536)
            except TimeoutError:
                continue
        assert statuses(answer) == [408]
        assert b"application/problem+json" in answer
        assert time.monotonic() - begun > BODY_SECONDS * 0.8


@pytest.mark.parametrize("data", [b"", b"G", b"GET / HT", HEAD, b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 5])
def test_a_head_that_does_not_end(server: RunningServer, data: bytes):
    send_unfinished_head(server, data, patience=60)


def send_unfinished_head(server: RunningServer, data: bytes, patience: float) -> None:
    """Send part of a head; fail if the connection is not closed within `patience` seconds."""
    with server.connect() as connection:
        connection.settimeout(patience)
        connection.sendall(data)
        try:
            answer = connection.recv(65536)
        except TimeoutError:
            pytest.fail("the connection stays open")
        assert statuses(answer) in ([], [408])


def test_an_answer_that_is_not_read(server: RunningServer):
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        texts = ["wort " * 900] * 60
        body = json.dumps({"q": texts, "source": "en", "target": "de"}).encode()
        for _ in range(8):
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        time.sleep(0.2)
    assert eventually(lambda: httpx.get(server.url + "/livez").is_success)


@pytest.mark.parametrize("size", [1, 7])
def test_a_flood_of_chunks(server: RunningServer, size: int):
    crumbs = (b"%x\r\n%s\r\n" % (size, b" " * size)) * 150_000
    received = exchange(server, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + crumbs)
    assert statuses(received) in ([], [400], [413])


def test_chunks_without_an_end(server: RunningServer):
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    received = exchange(server, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 40)
    assert statuses(received) in ([], [413])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"a" * 40_000 + b"\r\n\r\n", [431]),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", [431]),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n", [431]),
        (b"GET /livez HTTP/1.1\r\n\r\n", [400]),
        (b"GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", [400]),
        (b"GET /livez HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", [421]),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200), [400]),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 400]),
        (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", [400]),
        (bytes(range(256)) * 40, [400]),
        (HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", [400]),
        (HEAD + b"Content-Length: -5\r\n\r\n", [400]),
        (HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n", [400]),
        (HEAD + b"Content-Length: 2000000\r\n\r\n", [413]),
        (HEAD + b"Transfer-Encoding: gzip\r\nConnection: close\r\n\r\n", [400]),
    ],
)
def test_nonsense_is_refused(server: RunningServer, data: bytes, expected: list[int]):
    found = statuses(exchange(server, data, seconds=3.0))
    assert found in (expected, expected[:1])


def test_nothing_can_be_put_into_headers(server: RunningServer):
    for value in (b"x\ry: z", b"a\x00b", b"<script>", "ü".encode(), b"a" * 300):
        data = (
            b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Request-Id: " + value + b"\r\nOrigin: "
        )
        received = exchange(server, data + value + b"\r\n\r\n")
        assert value not in received
        assert set(statuses(received)) <= {200, 400}
    received = exchange(
        server, b"GET /livez?a=%0d%0aSet-Cookie:%20x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert b"Set-Cookie" not in received


def test_many_requests_at_once_on_a_connection(server: RunningServer):
    one = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    few = exchange(server, one * 5 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert statuses(few) == [200] * 6
    many = exchange(server, one * 20_000)
    assert set(statuses(many)) <= {200}
    garbage = exchange(server, one + b"\x00\x01nonsense\r\n\r\n" * 100, seconds=3.0)
    assert set(statuses(garbage)) <= {200, 400}


def test_a_body_cut_short():
    with running() as server:
        for length in (0, 1, 20):
            with server.connect() as connection:
                connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n" + b"{" * length)
        assert eventually(lambda: server.lines.count("left") == 3), "each place was given back"
        assert statuses(exchange(server, request(GOOD))) == [200]
        assert eventually(lambda: server.lines.count("left") == 4), "and only once"


def test_more_connections_than_there_may_be(server: RunningServer):
    connections = []
    try:
        connections += [server.connect() for _ in range(60)]
        refused = connections[-1].recv(65536)
        assert statuses(refused) == [503]
        assert b"retry-after: 1" in refused
    finally:
        for connection in connections:
            connection.close()
    assert eventually(lambda: httpx.get(server.url + "/livez").is_success)


def test_connections_that_send_only_line_ends_are_closed_and_health_checks_are_answered_meanwhile():
    """Each sends a request, which is answered, and then an empty line again and again."""
    ask = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with running({"limits": {"body_seconds": BODY_SECONDS, "connections": 6}}) as small:
        connections = [small.connect() for _ in range(6)]
        try:
            for connection in connections:
                connection.sendall(ask)
                assert connection.recv(65536)
            assert statuses(exchange(small, request(GOOD))) == [503]
            for path in ("/health", "/livez", "/readyz"):
                assert httpx.get(small.url + path).is_success
            begun = time.monotonic()
            while any(is_open(each) for each in connections) and time.monotonic() - begun < 30:
                for connection in connections:
                    send_if_open(connection, b"\r\n")
                time.sleep(0.05)
            assert not any(is_open(each) for each in connections)
        finally:
            for connection in connections:
                connection.close()
        assert eventually(lambda: statuses(exchange(small, request(GOOD))) == [200])


def send_if_open(connection: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        connection.sendall(data)


def is_open(connection: socket.socket) -> bool:
    """Whether the server has not closed a connection on which it sends nothing."""
    connection.setblocking(False)
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_java_and_curl_offer_http2_and_are_served(server: RunningServer):
    """The HTTP client of Java sends these headers with every first request."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n"
    data = HEAD + offer + b"Content-Length: %d\r\n\r\n" % len(GOOD)
    with server.connect() as connection:
        connection.sendall(data)
        time.sleep(0.05)
        connection.sendall(GOOD)
        received = b""
        while b"hello-de" not in received and (part := connection.recv(65536)):
            received += part
    assert statuses(received) == [200]
    assert b"hello-de" in received


LONGEST = 4900
TEXTS = {
    "marks": "a" + "\u0301\u0327" * (LONGEST // 2),
    "marks reversed": "a" + "\u0327\u0301" * (LONGEST // 2),
    "double marks": "\u0344" * LONGEST,
    "hidden marks": "\u0f73" * LONGEST,
    "half-width marks": "\uff9e\u0301" * (LONGEST // 2),
    "runs of thirty": ("a" + "\u0301\u0327" * 15) * (LONGEST // 31),
    "jamo": "\u1100\u1161\u11a8" * (LONGEST // 3),
    "music": "\U0001d165\U0001d16e" * (LONGEST // 2),
    "kana marks": "\u3099\u302a" * (LONGEST // 2),
    "eighteen for one": "\ufdfa" * LONGEST,
    "zero bytes": "\0" * LONGEST,
    "joiners": "\u200d" * LONGEST,
    "emoji": "👩‍👩‍👧‍👦" * (LONGEST // 7),
    "right to left": "\u202e\u2066" * (LONGEST // 2),
    "selectors": "\ufe0f" * LONGEST,
    "tags": "\U000e0041" * LONGEST,
    "line breaks": "\n" * LONGEST,
    "odd breaks": "\r\x85\u2028\u2029\x0b\x0c" * (LONGEST // 6),
    "spaces": " " * LONGEST,
    "one word": "x" * LONGEST,
    "digits": "1" * LONGEST,
    "last of all": "\U0010ffff\ufffe\uffff" * (LONGEST // 3),
    "tags of HTML": "<b>" * (LONGEST // 3),
    "ends of HTML": "</b>" * (LONGEST // 4),
    "ampersands": "&" * LONGEST,
    "comments": "<!--" * (LONGEST // 4),
    "braces": "{" * LONGEST,
    "percents": "%(" * (LONGEST // 2),
    "addresses": "http://" * (LONGEST // 7),
    "at signs": "a@" * (LONGEST // 2),
    "full stops": "a. " * (LONGEST // 3),
}


@pytest.mark.parametrize("form", ["text", "html"])
@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_take_others_long(server: RunningServer, name: str, form: str):
    asked = {"q": TEXTS[name], "source": "en", "target": "de", "format": form}
    response = httpx.post(server.url + "/translate", json=asked, timeout=20)
    assert response.status_code in (200, 400, 413), response.text[:300]
    asked["source"] = "auto"
    assert httpx.post(server.url + "/translate", json=asked, timeout=20).status_code in (200, 400, 413)


@pytest.mark.parametrize(
    "body",
    [
        b'{"q": "\\ud800", "source": "en", "target": "de"}',
        b'{"q": ["ok", "\\udc00\\ud800"], "source": "en", "target": "de"}',
        b'{"q": "a", "source": "\\ud800", "target": "de"}',
        b'{"q": "a", "source": "en", "target": "de", "\\ud800": 1}',
        b'{"q": "\xff\xfe", "source": "en", "target": "de"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"q": ' + b"1" * 100_000 + b"}",
        b'{"q": 1e999999}',
        b'{"q": NaN}',
        b'{"q": "a", "q": ["b"]}',
        b"null",
        b"",
        b"\0" * 1000,
        b'{"q": [' + b'"a",' * 100_000 + b'"a"], "source": "en", "target": "de"}',
        b'{"q": {"a": 1}, "source": ["en"], "target": 7}',
        b'{"q": "a", "source": "en", "target": "' + b"x" * 100_000 + b'"}',
        b'{"q": "a", "source": "en", "target": "de", "alternatives": 999999999999999999999}',
        b'{"q": "a", "source": "en", "target": "de", "alternatives": -1}',
    ],
)
@pytest.mark.parametrize("path", [b"/translate", b"/v1/translate", b"/v2/translate", b"/detect"])
def test_bodies_that_are_wrong(server: RunningServer, path: bytes, body: bytes):
    received = exchange(server, request(body).replace(b"/translate", path, 1))
    assert len(statuses(received)) == 1
    assert statuses(received)[0] in (200, 400, 413, 415)
    if statuses(received)[0] != 200:
        assert b"application/problem+json" in received
        assert "error" in json.loads(received.partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("count", [1, 3, 13])  # what is allowed depends on the pattern; 13 is all there may be
@pytest.mark.parametrize("pattern", ["<b>x", "<b>", "</b>x", "<p>x", "<i>x</i> ", "<a href=x>y ", "<b>{x} w", "<!-->x"])
def test_as_much_html_as_there_may_be(patient_server: RunningServer, pattern: str, count: int):
    text = pattern * (LONGEST // len(pattern))
    asked = {"q": [text] * count, "source": "en", "target": "de", "format": "html"}
    with still_serves(patient_server):
        status = httpx.post(patient_server.url + "/translate", json=asked, timeout=60).status_code
    assert status in (200, 413)
    assert status == 200 or count > 1, "an honest page may have as much"


@pytest.mark.parametrize("plant", ["burn", "die"])
def test_a_planted_fault_is_found(plant: str):
    with running(plant=plant) as faulty, pytest.raises((AssertionError, httpx.TransportError)), still_serves(faulty):
        exchange(faulty, request(GOOD))


def test_an_error_of_ours_is_found():
    with running(fault="planted") as faulty, pytest.raises(AssertionError):
        test_texts_that_take_others_long(faulty, "one word", "text")


def test_a_limit_that_is_missing_is_found():
    with running({"limits": {"body_seconds": 100.0}}) as faulty:
        with pytest.raises(AssertionError):
            send_slow_body(faulty, patience=BODY_SECONDS + 2)
        with pytest.raises(pytest.fail.Exception):
            send_unfinished_head(faulty, b"G", patience=BODY_SECONDS + 2)
