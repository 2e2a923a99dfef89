import asyncio
import json
import math
import time
from typing import Any

import pytest

from dragoman.server.http.request_body import json_response, large_json_response
from tests.server.asgi_calls import Caller

PART = b'--x\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
WHOLE = b"".join(PART % field for field in ((b"q", b"Two dogs"), (b"source", b"en"), (b"target", b"de"))) + b"--x--\r\n"
MULTIPART = "multipart/form-data; boundary=x"


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def status(call: Caller, path: str, content: bytes, kind: str) -> int:
    return call.post(path, content=content, headers={"content-type": kind}).status_code


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/v1/translate", {"texts": ["a"], "target": "de"}, "text must be given, got texts, which is not a field"),
        ("/v1/translate", {"text": "a", "target_lang": "de"}, "target must be given, got target_lang, which is not"),
        ("/v2/translate", {"texts": ["a"], "target_lang": "DE"}, "text must be given, got texts, which is not a fiel"),
        ("/v1/inspect", {"txet": "a", "target": "de"}, "write text in place of txet"),
        ("/translate", {"text": "a", "source": "en", "target": "de"}, "missing q parameter; write q in place of text"),
        ("/v1/translate", {"target": "de"}, "text is missing; add it"),
    ],
)
def test_a_field_with_a_wrong_name_is_named(call: Caller, path: str, body: dict[str, Any], told: str) -> None:
    answer = call.post(path, json=body)
    assert answer.status_code == 400
    assert told in answer.json()["detail"]


def test_a_form_in_parts(call: Caller) -> None:
    assert status(call, "/translate", WHOLE, MULTIPART) == 200
    assert status(call, "/translate", WHOLE, f"{MULTIPART}; charset=nonsense") == 200


@pytest.mark.parametrize(
    "charset",
    [
        "charset=punycode",
        "Charset = 'punycode'",
        'charset="punycode',
        "charset*=utf-8''punycode",
        'x="; charset=punycode',
    ],
)
def test_the_charset_of_a_form_selects_no_codec(call: Caller, charset: str) -> None:
    form = PART % (b"q-", b"9ca" + b"a" * 400_000) + b"--x--\r\n"
    began = time.process_time()
    assert status(call, "/translate", form, f"{MULTIPART}; {charset}") == 400
    assert time.process_time() - began < 1.0
    assert status(call, "/translate", WHOLE, f"{MULTIPART}; {charset}") in (200, 400)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (WHOLE, "multipart/form-data"),
        (WHOLE, "multipart/form-data; boundary="),
        (WHOLE, "multipart/form-data; boundary=y"),
        (WHOLE[:40], MULTIPART),
        (b"", MULTIPART),
        (b"\xff\xfe", MULTIPART),
        (PART % (b"a", b"b") * 1001 + b"--x--", MULTIPART),
        (WHOLE, "application/x-www-form-urlencoded"),
        (b"\xff" * 10, "application/x-www-form-urlencoded"),
        (b'{"q": "Two"}', "text/plain"),
        (b"[" * 100_000, "application/json"),
        (b'{"q": ' + b"[" * 100_000, "application/json"),
        (b'{"q": NaN, "source": "en", "target": "de"}', "application/json"),
        (b'{"q": ' + b"9" * 100_000 + b', "source": "en", "target": "de"}', "application/json"),
        (b'\xef\xbb\xbf{"q": "x"}', "application/json"),
        (b'{"q": {}, "source": "en", "target": "de"}', "application/json"),
    ],
)
@pytest.mark.parametrize("path", ["/translate", "/detect", "/translate_file"])
def test_what_cannot_be_read_is_the_client_s_fault(call: Caller, path: str, content: bytes, kind: str) -> None:
    assert status(call, path, content, kind) == 400


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "application/problem+json"])
def test_kinds_of_json(call: Caller, kind: str) -> None:
    assert status(call, "/v1/translate", b'{"text": "Two", "source": "en", "target": "de"}', kind) == 200


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": []},
        {
            "a": [[1.5, math.nan], []],
            "b": [{"c": "\n\u2028"}, {}],
            "d": (1, 2),
            "e": None,
            "f": [1, [2]],
            "g": math.inf,
        },
    ],
)
def test_a_large_response_is_encoded_as_any_other(value: dict[str, Any]) -> None:
    large = asyncio.run(large_json_response(lambda: value))
    assert json.loads(bytes(large.body)) == json.loads(bytes(json_response(value).body))
    assert large.media_type == json_response(value).media_type
