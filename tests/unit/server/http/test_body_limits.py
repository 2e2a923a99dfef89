"""Bodies that are too large, too slow, too many or incomplete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from dragoman.server.errors import Overloaded, RequestError, TooLarge
from dragoman.server.http.request_body import BodyBuffer, BodyTimeout, declared_length, find_keys

NAMES = (b"api_key", b"auth_key")

FORM = b"application/x-www-form-urlencoded"
PART = b'--x\r\nContent-Disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'


def read(room: BodyBuffer, chunks: Sequence[bytes | None], limit: int = 10, seconds: float = 5.0) -> bytes | None:
    """None among the chunks is the client's leaving; without a last one it never comes."""
    parts = iter(chunks)

    async def receive() -> dict[str, object]:
        for number, part in enumerate(parts, start=1):
            if part is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": part, "more_body": part != b"." and number >= 0}
        await asyncio.sleep(60)
        raise AssertionError

    return asyncio.run(room.read(receive, limit, seconds))


def test_a_body_in_parts_is_put_together():
    room = BodyBuffer()
    assert read(room, [b"ab", b"", b"c", b"."]) == b"abc."
    assert read(room, [b"."]) == b"."
    assert room.held == 5, "until the requests are over"
    room.release(4)
    room.release(1)
    assert room.held == 0


def test_there_is_no_room_while_others_are_under_way():
    room = BodyBuffer(max_bytes=6)
    assert read(room, [b"abcd", b"."])
    with pytest.raises(Overloaded):
        read(room, [b"e", b"."])
    room.release(5)
    assert read(room, [b"e", b"."]) == b"e."


def test_a_client_that_leaves_has_no_body():
    room = BodyBuffer()
    assert read(room, [b"ab", None]) is None
    assert room.held == 0


def test_what_is_too_large_or_too_slow_or_too_much_is_refused():
    room = BodyBuffer(max_bytes=6)
    with pytest.raises(TooLarge, match="at most 3 bytes"):
        read(room, [b"ab", b"cd", b"."], limit=3)
    with pytest.raises(BodyTimeout, match=r"within 0\.05 s"):
        read(room, [b"ab"], seconds=0.05)
    with pytest.raises(Overloaded):
        read(room, [b"abcd", b"efg", b"."])
    assert room.held == 0


@pytest.mark.parametrize(
    ("headers", "length"),
    [({}, 0), ({b"content-length": b"7"}, 7), ({b"transfer-encoding": b"chunked", b"content-length": b"7"}, None)],
)
def test_the_head_says_how_long_it_is(headers: dict[bytes, bytes], length: int | None):
    assert declared_length(headers, 7) == length


@pytest.mark.parametrize("length", [b"8", b"9" * 50, b"9" * 5000])
def test_too_long_by_the_head(length: bytes):
    with pytest.raises(TooLarge):
        declared_length({b"content-length": length}, 7)


@pytest.mark.parametrize("length", [b"-1", b"+1", b"1_0", b"", b"0x10", b"1.0", b"\xb2"])
def test_no_length_at_all(length: bytes):
    with pytest.raises(RequestError, match="whole number"):
        declared_length({b"content-length": length}, 7)


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
    assert find_keys(NAMES, kind, b"", body) == ["secret"]


def test_a_key_is_found_in_the_query():
    assert find_keys(NAMES, b"", b"api_key=secret&q=a", b"") == ["secret"]


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
    assert find_keys(NAMES, kind, b"", body) == []


@pytest.mark.parametrize("unit", [b'"api_key":', b'name="api_key"\r\n', b"&api_key=", b"api_kex", b'"', b"a", bytes(1)])
@pytest.mark.parametrize("kind", [b"application/json", FORM, b"multipart/form-data"])
def test_the_search_is_fast_in_any_body(kind: bytes, unit: bytes):
    body = unit * ((10 << 20) // len(unit))
    started = time.thread_time()
    assert len(find_keys(NAMES, kind, b"", body)) <= 8
    assert time.thread_time() - started < 0.5  # 0.03 s on an idle machine
