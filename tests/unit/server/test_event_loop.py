"""No request blocks the event loop: sizes are checked before validation, and long work runs in threads."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.server.asgi_calls import Caller

MIB = 1 << 20
LIMIT = 0.1  # seconds of CPU time per step of the event loop; 0.02 on an idle machine
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
LISTS = {
    "/translate": '{"q": %s, "source": "en", "target": "de"}',
    "/detect": '{"q": %s}',
    "/v1/translate": '{"text": %s, "target": "de"}',
    "/v2/translate": '{"text": %s, "target_lang": "DE"}',
    "/v1/chat/completions": '{"model": "en:de", "messages": %s}',
    "/v3/glossaries": '{"name": "a", "dictionaries": %s}',
    "/language/translate/v2": '{"q": %s, "target": "de"}',
    "/v3/projects/p:translateText": '{"contents": %s, "targetLanguageCode": "de"}',
    "/immersive": '{"text_list": %s, "target_lang": "de"}',
    "/kiss": '{"texts": %s, "to": "de"}',
}
"""Every route with a list in its body."""


def filled(start: str, unit: str, end: str) -> str:
    """A body of 1 MiB."""
    return start + unit * ((MIB - len(start) - len(end)) // len(unit)) + end


def json_bodies() -> Iterator[tuple[str, str]]:
    for path, body in LISTS.items():
        for unit, last in (("0,", "0"), ("[],", "0"), ("{},", "0"), ('"a",', '"a"'), ('"\\"",', '""'), ("[", "]")):
            start, end = (body % f"[{unit}|{last}]").split("|")
            yield path, filled(start, unit, end)
    for unit in ("0,", "[],", '{"Text":"a"},', '"a",'):
        yield "/translate?api-version=3.0&to=de", filled("[", unit, "0]")
    yield "/translate?api-version=3.0&to=de&to=en", json.dumps([{"Text": "{" * 4999}] * 32)
    yield (
        "/v1/chat/completions",
        json.dumps({"model": "en:de", "messages": [{"role": "user", "content": [0] * 900}] * 5}),
    )
    many = ",".join(f'"{number:x}": 0' for number in range(MIB // 12))
    yield "/v1/translate", f'{{"text": "a", "target": "de", "glossary": {{{many}}}}}'
    for path in (*LISTS, "/v1/inspect"):
        yield path, f'{{"text": "a", "q": "a", "source": "en", "target": "de", "target_lang": "de", {many}}}'
    for text in ("{" * 4999, "%(" * 2499, "\\\\" * 2499, "1" * 4999):
        for path, body in LISTS.items():
            yield path, body % json.dumps([text] * 64)


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def longest_step(call: Caller, path: str, content: bytes, kind: str) -> tuple[float, httpx.Response]:
    """Return the CPU seconds of the longest step of the event loop during a request, and the response.

    A request above the limit is sent again, up to twice: another program on the same core may have slowed it down.
    """
    for _ in range(2):
        seconds, response = asyncio.run(_longest_step(call, path, content, kind))
        if seconds < LIMIT:
            return seconds, response
    return asyncio.run(_longest_step(call, path, content, kind))


async def _longest_step(
    call: Caller, path: str, content: bytes, kind: str, method: str = "POST"
) -> tuple[float, httpx.Response]:
    loop, longest, is_done = asyncio.get_running_loop(), 0.0, False
    last = time.thread_time()

    def tick() -> None:
        nonlocal longest, last
        now = time.thread_time()
        longest, last = max(longest, now - last), now
        if not is_done:
            loop.call_soon(tick)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(call.app), base_url="http://127.0.0.1") as client:
        await client.get("/livez")  # imports and caches of the client
        gc.disable()  # a collection of the objects of all tests is no part of the request
        try:
            last = time.thread_time()
            tick()
            response = await client.request(method, path, content=content, headers={"content-type": kind})
            is_done = True
            tick()
        finally:
            gc.enable()
    return longest, response


@pytest.mark.parametrize(
    ("path", "body"), [pytest.param(*each, id=f"{each[0]} {each[1][:40]}") for each in json_bodies()]
)
def test_json_of_any_shape_does_not_block_the_loop(call: Caller, path: str, body: str):
    seconds, response = longest_step(call, path, body.encode(), JSON)
    assert seconds < LIMIT
    assert response.status_code in (200, 400, 413), response.text


@pytest.mark.parametrize("path", ["/translate", "/detect", "/v2/translate", "/language/translate/v2"])
@pytest.mark.parametrize("unit", ["%41", "+", "q=&", "%", "text=a&"])
def test_a_form_of_any_shape_does_not_block_the_loop(call: Caller, path: str, unit: str):
    seconds, response = longest_step(call, path, filled("source=en&target=de&q=", unit, "").encode(), FORM)
    assert seconds < LIMIT
    assert response.status_code in (400, 413), response.text


@pytest.mark.parametrize("path", ["/translate", "/detect", "/v2/translate", "/translate_file"])
@pytest.mark.parametrize(
    "unit", ["\r", "\r\n--", "\r\n--x\r\n", '\r\n--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb']
)
def test_a_form_in_parts_of_any_shape_does_not_block_the_loop(call: Caller, path: str, unit: str):
    start = '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    body = filled(start, unit, "\r\n--x--\r\n")
    seconds, response = longest_step(call, path, body.encode(), "multipart/form-data; boundary=x")
    assert seconds < LIMIT
    assert response.status_code in (400, 413), response.text


@pytest.mark.parametrize("path", ["/openapi.json", "/spec", "/docs"])
def test_the_description_of_the_api_does_not_block_the_loop(path: str):
    """Its first request makes it, so each attempt has a server of its own."""
    steps = [asyncio.run(_longest_step(Caller(), path, b"", JSON, "GET")) for _ in range(2)]
    assert {response.status_code for _, response in steps} == {200}
    assert min(seconds for seconds, _ in steps) < LIMIT


def test_a_query_of_many_fields_is_refused(call: Caller):
    response = call.post("/translate?" + "a&" * 15_000, data={"q": "a"})
    assert (response.status_code, "at most 1,000 fields" in response.text) == (400, True)


def test_lists_have_a_limit_before_their_entries_are_validated(call: Caller):
    for path, body in LISTS.items():
        response = call.post(path, content=(body % json.dumps([0] * 1001)).encode(), headers={"content-type": JSON})
        assert "must have at most 1,000 entries, got 1,001; send fewer" in response.text
        response = call.post(path, content=(body % json.dumps([0] * 20_000)).encode(), headers={"content-type": JSON})
        assert "the body must have at most 5,000 JSON values" in response.text


@pytest.mark.parametrize("text", ['"' * 4999, "\\" * 4999, '\\"' * 2499, "[{,:" * 1249, "\n" * 4999])
def test_texts_full_of_signs_of_json_are_translated(call: Caller, text: str):
    response = call.post("/translate", json={"q": [text] * 64, "source": "en", "target": "de"})
    assert response.status_code == 200
    assert len(response.json()["translatedText"]) == 64


def test_the_measure_finds_a_blocked_loop(call: Caller, monkeypatch: pytest.MonkeyPatch):
    def burn(work: Callable[[], object]) -> object:
        end = time.thread_time() + 2 * LIMIT
        while time.thread_time() < end:
            pass
        return work()

    detect = call.service.routes
    monkeypatch.setattr(call.service, "routes", lambda: burn(detect))
    assert longest_step(call, "/detect", b'{"q": "Two dogs"}', JSON)[0] >= LIMIT
