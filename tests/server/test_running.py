"""A real server with a fake service: keys, limits, errors, logs and metrics."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.server.access.api_keys import create_key
from tests.server.fake_server import RunningServer, eventually, running

ASKED = {"q": "hello world", "source": "en", "target": "de"}
SECRET_TEXT = "Geheimniskram"
LEAVES = httpx.Timeout(30.0, read=1.0)


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with running({"limits": {"body_bytes": 2000, "body_seconds": 0.5}}) as started:
        yield started


def post(server: RunningServer, path: str = "/translate", **options: Any) -> httpx.Response:
    return httpx.post(server.url + path, **({"json": ASKED} | options))


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem that an answer is; all of them have the same members."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert (body["status"], body["error"]) == (status, body["detail"])
    assert {"type", "title"} <= set(body)
    return body


def test_an_answer_and_its_headers(server: RunningServer):
    response = post(server, headers={"x-request-id": "mine-1"})
    assert response.json()["translatedText"] == "hello-de world-de"
    assert response.headers["x-request-id"] == "mine-1"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["access-control-allow-origin"] == "*"
    assert "set-cookie" not in response.headers
    assert "access-control-allow-credentials" not in response.headers
    assert "server" not in response.headers


def test_health(server: RunningServer):
    for path in ("/health", "/livez", "/readyz"):
        assert httpx.get(server.url + path).json() == {"status": "ok"}
    head = httpx.head(server.url + "/health")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "15")


def test_a_browser_may_ask_beforehand(server: RunningServer):
    asked = {"origin": "https://a.example", "access-control-request-method": "POST"}
    response = httpx.options(server.url + "/translate", headers=asked)
    assert response.status_code == 204
    assert response.headers["access-control-allow-origin"] == "*"
    assert "Authorization" in response.headers["access-control-allow-headers"]


@pytest.mark.parametrize(
    ("headers", "status"), [({}, 413), ({"host": "evil.example"}, 421)], ids=["too large", "another host"]
)
def test_a_client_that_sends_its_whole_body_first_reads_the_error(
    server: RunningServer, headers: dict[str, str], status: int
):
    url, size = httpx.URL(server.url), 4 << 20
    head = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(size)} | headers
    with socket.create_connection((url.host, url.port or 0), timeout=30) as client:
        client.sendall(
            "".join(["POST /translate HTTP/1.1\r\n", *map("%s: %s\r\n".__mod__, head.items()), "\r\n"]).encode()
        )
        client.sendall(b"x" * size)  # as nginx does: a closed connection resets it, and loses the response
        assert client.recv(100).startswith(f"HTTP/1.1 {status} ".encode())


def test_errors_are_problems(server: RunningServer):
    assert "/docs" in problem(httpx.get(server.url + "/no/such"), 404)["error"]
    wrong = httpx.get(server.url + "/translate")
    problem(wrong, 405)
    assert "POST" in wrong.headers["allow"]
    problem(post(server, json=None, content=b"{", headers={"content-type": "application/json"}), 400)
    problem(post(server, "/v1/translate", json=None, content=b"x", headers={"content-type": "text/plain"}), 415)
    body = b'{"q": "\\ud800", "source": "en", "target": "de"}'
    problem(post(server, json=None, content=body, headers={"content-type": "application/json"}), 400)
    assert "--hosts" in problem(post(server, headers={"host": "evil.example"}), 421)["error"]
    assert "2,000 bytes" in problem(post(server, json=ASKED | {"q": "x" * 3000}), 413)["error"]
    chunks = (b"x" * 500 for _ in range(10))
    problem(post(server, json=None, content=chunks, headers={"content-type": "application/json"}), 413)


def test_a_fault_of_ours_says_nothing_but_its_id():
    with running(fault=SECRET_TEXT) as server:
        response = post(server)
        body = problem(response, 500)
        assert body["request_id"] == response.headers["x-request-id"]
        assert SECRET_TEXT not in response.text
        assert eventually(lambda: any("RuntimeError" in line for line in server.log))
        assert eventually(lambda: "left" in server.lines)
        assert SECRET_TEXT not in "\n".join(server.log)
        assert httpx.get(server.url + "/livez").status_code == 200


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_log_has_a_line_a_request_and_never_a_text(form: str, tmp_path: Path):
    key = create_key(tmp_path / "keys", "anna")
    with running({"log": form, "keys": str(tmp_path / "keys")}) as server:
        post(server, f"/translate?q={SECRET_TEXT}", json=ASKED | {"q": SECRET_TEXT, "api_key": key})
        post(server, f"/{SECRET_TEXT}", headers={"authorization": f"Bearer {key}", "x-request-id": f"({SECRET_TEXT})"})
        assert eventually(lambda: len(server.log) == 2)
    whole = "\n".join(server.log)
    assert SECRET_TEXT not in whole
    assert key not in whole
    if form == "json":
        line = json.loads(server.log[0])
        assert (line["method"], line["route"], line["status"], line["key"]) == ("POST", "/translate", 200, "anna")
        assert (line["tokens"], line["bytes_out"]) == (1, len(f'{{"translatedText":"{SECRET_TEXT}-de"}}'))
    else:
        assert re.search(
            r"Z POST /translate 200 [\d.]+ ms tokens=1 in=\d+ out=\d+ id=[0-9a-f]{16} key=anna$", server.log[0]
        )
        assert " POST (unknown) 404 " in server.log[1]


def test_keys(tmp_path: Path):
    path = tmp_path / "keys"
    anna, ops = create_key(path, "anna"), create_key(path, "ops", ["admin", "metrics"])
    with running({"keys": str(path)}) as server:
        assert "operator" in problem(post(server), 403)["error"]
        assert problem(post(server, json=ASKED | {"api_key": "wrong"}), 403)["error"] == "Invalid API key"
        assert post(server, json=ASKED | {"api_key": anna}).status_code == 200
        assert post(server, json=None, data=ASKED | {"api_key": anna}).status_code == 200
        asked = {"text": "hello", "source": "en", "target": "de"}
        problem(post(server, "/v1/translate", json=asked), 403)
        bearer = {"authorization": f"Bearer {anna}"}
        assert post(server, "/v1/translate", json=asked, headers=bearer).status_code == 200
        deepl = {"authorization": f"DeepL-Auth-Key {anna}"}
        asked_deepl = {"text": ["hello"], "target_lang": "DE", "source_lang": "EN"}
        assert post(server, "/v2/translate", json=asked_deepl, headers=deepl).status_code == 200
        problem(post(server, "/v2/translate", json=asked_deepl, headers={"authorization": "DeepL-Auth-Key no"}), 403)
        problem(post(server, "/v1/models/reload", headers=bearer), 403)
        assert post(server, "/v1/models/reload", headers={"authorization": f"Bearer {ops}"}).status_code == 200
        assert httpx.get(server.url + "/livez").status_code == 200
        late = create_key(path, "late")
        problem(post(server, json=ASKED | {"api_key": late}), 403)
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: post(server, json=ASKED | {"api_key": late}).status_code == 200)
        path.write_text("nonsense")
        server.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: sum(" reload: " in line for line in server.log) == 2)
        assert any("keys: 3 kept: " in line for line in server.log)
        assert post(server, json=ASKED | {"api_key": late}).status_code == 200


def test_rates_are_in_tokens():
    with running({"limits": {"tokens_per_minute": 6}}) as server:
        for _ in range(3):
            assert post(server).status_code == 200
        refused = post(server)
        assert "6 source tokens" in problem(refused, 429)["error"]
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        assert httpx.get(server.url + "/languages").status_code == 200
        metrics = httpx.get(server.url + "/metrics").text
        assert 'dragoman_rejected_total{reason="rate"} 1.0' in metrics


def test_behind_a_proxy_addresses_are_what_it_says():
    with running({"limits": {"tokens_per_minute": 2}, "trust_proxy": True}) as server:
        assert post(server, headers={"x-forwarded-for": "10.0.0.1"}).status_code == 200
        assert post(server, headers={"x-forwarded-for": "10.0.0.2, 10.0.0.1"}).status_code == 429
        assert post(server, headers={"x-forwarded-for": "10.0.0.1, 10.0.0.2"}).status_code == 200
        assert post(server, headers={"x-forwarded-for": "10.0.0.2:4711"}).status_code == 429, "the port is no address"
        assert post(server, headers={"x-forwarded-for": "10.0.0.3:4711"}).status_code == 200
    with running({"limits": {"tokens_per_minute": 2}}) as server:
        assert post(server, headers={"x-forwarded-for": "10.0.0.1"}).status_code == 200
        assert post(server, headers={"x-forwarded-for": "10.0.0.2"}).status_code == 429, "not believed"


@pytest.mark.parametrize(("is_trusted", "scheme"), [(True, "https"), (False, "http")])
def test_behind_a_proxy_with_tls_addresses_begin_so(is_trusted: bool, scheme: str):
    with running({"trust_proxy": is_trusted}) as server:
        answer = httpx.post(
            server.url + "/translate_file",
            files={"file": ("letter.txt", b"hello")},
            data={"source": "en", "target": "de"},
            headers={"x-forwarded-proto": "https"},
        )
        assert answer.json()["translatedFileUrl"].startswith(f"{scheme}://127.0.0.1:")


def test_metrics_count_by_route_and_carry_nobodys_words(server: RunningServer):
    httpx.get(server.url + f"/{SECRET_TEXT}?{SECRET_TEXT}")
    httpx.request(SECRET_TEXT.upper()[:4], server.url + "/translate")
    post(server)
    text = httpx.get(server.url + "/metrics").text
    assert 'dragoman_requests_total{method="POST",route="/translate",status="200"}' in text
    assert 'route="(unknown)",status="404"' in text
    for name in (
        "queue_depth",
        "queue_wait_seconds",
        "batch_size",
        "tokens_total",
        "rejected_total",
        "quality_flags_total",
    ):
        assert f"# TYPE dragoman_{name.removesuffix('_total')}" in text
    for word in (SECRET_TEXT, "GEHE", "127.0.0.1", "_created"):
        assert word not in text
    assert "process_resident_memory_bytes" in text


def test_metrics_need_a_right_from_afar_where_there_are_keys(tmp_path: Path):
    key, ops = create_key(tmp_path / "keys", "anna"), create_key(tmp_path / "keys", "ops", ["metrics"])
    with running({"keys": str(tmp_path / "keys"), "trust_proxy": True}) as server:
        assert httpx.get(server.url + "/metrics").status_code == 200
        afar = {"x-forwarded-for": "10.0.0.1"}
        assert httpx.get(server.url + "/metrics", headers=afar).status_code == 403
        assert httpx.get(server.url + "/metrics", headers=afar | {"authorization": f"Bearer {key}"}).status_code == 403
        assert httpx.get(server.url + "/metrics", headers=afar | {"authorization": f"Bearer {ops}"}).status_code == 200
    with running({"metrics": False, "page": False}) as server:
        problem(httpx.get(server.url + "/metrics"), 404)
        problem(httpx.get(server.url + "/"), 404)


def test_who_leaves_stops_the_work():
    with running(delay=20.0) as server:
        with pytest.raises(httpx.ReadTimeout):
            post(server, timeout=LEAVES)
        assert eventually(lambda: server.lines == ["cancelled"])
        with pytest.raises(httpx.ReadTimeout):
            post(
                server,
                "/v1/translate",
                json={"text": "a b c", "source": "en", "target": "de", "stream": True},
                timeout=LEAVES,
            )
        assert eventually(lambda: server.lines[:2] == ["cancelled", "cancelled"])


def test_an_answer_that_is_not_ready_in_time():
    with running({"limits": {"seconds": 0.2}}, delay=20.0) as server:
        problem(post(server, timeout=15.0), 503)
        assert eventually(lambda: server.lines == ["left"])


def test_what_is_too_much_is_refused_before_its_body_came():
    with running(is_full=True) as server, server.connect() as connection:
        connection.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 2" in answer
