"""API keys in queries and bodies are found without parsing."""

from __future__ import annotations

import time

import pytest

from dragoman.server.http.body_key import find_keys

FORM = b"application/x-www-form-urlencoded"
PART = b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (b"application/json", b'{"q": "a", "api_key": "secret"}'),
        (b"application/json; charset=utf-8", b'{"api_key"\n:\t"secret"}'),
        (b"application/vnd.api+json", b'{"auth_key":"secret"}'),
        (FORM, b"api_key=secret"),
        (FORM, b"q=a&api_key=%73ecret&source=en"),
        (FORM, b"auth_key=secret&text=a"),
        (b"multipart/form-data; boundary=x", PART % (b"api_key", b"", b"secret") + b"--x--"),
        (
            b"multipart/form-data; boundary=x",
            PART % (b"file", b'; filename="a"', bytes(3000)) + PART % (b"api_key", b"", b"secret"),
        ),
        (b"multipart/form-data; boundary=x", PART % (b"api_key", b"\r\nContent-Type: text/plain", b"secret")),
    ],
)
def test_a_key_is_found_in_every_kind_of_body(kind: bytes, body: bytes):
    assert find_keys(kind, b"", body) == ["secret"]


def test_a_key_is_found_in_the_query():
    assert find_keys(b"", b"api_key=secret&q=a", b"") == ["secret"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (b"application/json", b'{"q": "the field \\"api_key\\": \\"secret\\""}'),
        (b"application/json", b'{"q": ["api_key", "secret"]}'),
        (b"application/json", b'{"my_api_key": "secret"}'),
        (FORM, b"q=api_key%3Dsecret&my_api_key=secret"),
        (b"text/plain", b"api_key=secret"),
        (b"multipart/form-data; boundary=x", PART % (b"q", b"", b"api_key secret")),
    ],
)
def test_texts_that_mention_a_key_have_none(kind: bytes, body: bytes):
    assert find_keys(kind, b"", body) == []


@pytest.mark.parametrize("unit", [b'"api_key":', b'name="api_key"\r\n', b"&api_key=", b"api_kex", b'"', b"a", bytes(1)])
@pytest.mark.parametrize("kind", [b"application/json", FORM, b"multipart/form-data"])
def test_the_search_is_fast_in_any_body(kind: bytes, unit: bytes):
    body = unit * ((10 << 20) // len(unit))
    started = time.thread_time()
    assert len(find_keys(kind, b"", body)) <= 8
    assert time.thread_time() - started < 0.5  # 0.03 s on an idle machine
