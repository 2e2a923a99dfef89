"""Generate hostile requests, deterministic by seed. Their texts contain `MARK`, which no log may contain."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from testkit.http_client import request_bytes

MARK = "zqxmarkzqx"
MIB = 1 << 20

UNICODE = {
    "combining marks": "e" + "\u0301\u0316" * 2000,
    "one U+FDFA": "\ufdfa",
    "many U+FDFA": "\ufdfa" * 2000,
    "emoji joined": "👩\u200d👩\u200d👧\u200d👦" * 300,
    "right to left override": "\u202eabc\u202d def \u2066\u2067\u2069",
    "NUL and controls": "a\x00b\x01\x1f\x7f\x85\u2028\u2029c",
    "BOM": "\ufeff\ufffe\uffff",
    "Hangul jamo": "\u1100\u1161\u11a8" * 500,
    "Zalgo": "".join(c + "\u0300\u0301\u0302\u0303\u0304" for c in "hello world") * 40,
    "variation selectors": "a" + "\ufe0f" * 3000,
    "tags": "\U000e0041" * 1000,
    "private use": "\ue000\U000f0000\U0010fffd" * 300,
    "no letters": "!?… 123 \t\n\r" * 200,
    "white space": "\u00a0\u2003\u3000\u200b" * 500,
    "one long word": "a" * 4900,
    "one long number": "9" * 4900,
    "Thai": "ภาษาไทยไม่มีช่องว่าง" * 150,
    "Arabic ligatures": "\ufefb\ufdf2" * 500,
    "math letters": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢" * 300,
    "newlines": "\n" * 4900,
    "full stops": ". " * 2400,
    "sentences": "A b. " * 950,
    "quotes and backslashes": '\\"' * 2000,
    "markup": "<b><i><script>alert(1)</script>" * 100,
    "unclosed markup": "<" * 4000,
    "entities": "&amp;&#0;&#xD800;&bogus;" * 200,
    "special tokens": "<unk> <s> </s> <pad> ▁ <0x0A>" * 100,
    "placeholders": "{x}{{y}}%s%(z)s${q}" * 200,
    "templates": "{{7*7}} ${jndi:ldap://x} $(id) `id`; DROP TABLE t; --",
    "empty": "",
}
JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 10**400, 1e308, -0.0, "", "x" * 200, [], {}, [[]], [None], {"a": {"b": []}}, ["a", 1], "auto",
    "../../etc/passwd", "en\x00", "\ud800", "zz", [""] * 65, "EN", " en ", 2**63, {"$ref": "#"}, [[["x"]]] * 3,
)  # fmt: skip
GOOD: dict[str, dict[str, Any]] = {
    "/translate": {"q": MARK, "source": "en", "target": "de", "format": "text", "alternatives": 1, "api_key": ""},
    "/v1/translate": {"text": [MARK, "b"], "source": "en", "target": "de", "format": "html", "alternatives": 2,
                      "beam": 2, "alignments": True, "weights": True, "flags": True, "glossary": {"a": "b"},
                      "split": True, "stream": False, "model": None},
    "/v2/translate": {"text": [MARK], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"},
    "/detect": {"q": MARK},
    "/v1/inspect": {"text": MARK, "source": "en", "target": "de", "counterfactuals": 1, "translation": None},
    "/v1/models/reload": {},
}  # fmt: skip
PATHS = (
    *GOOD, "/", "/languages", "/health", "/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/v1/models",
    "/frontend/settings", "/suggest", "/translate_file", "/download_file/../../etc/passwd", "/download_file/x",
    "/%2e%2e/%2e%2e/etc/passwd", "//", "/%00", "/assets/../../pyproject.toml", "/v2/languages", "/v2/usage", "/.git",
)  # fmt: skip


@dataclass(frozen=True)
class HostileRequest:
    """Bytes to send. With `is_http` a response is required; otherwise the server may close the connection."""

    name: str
    data: bytes
    is_http: bool = True


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def post(path: str, body: bytes, **headers: str) -> bytes:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return request_bytes("POST", path, body, {"Connection": "close", **named})


def fuzzed(draw: random.Random) -> HostileRequest:
    """Return a valid body with one or two errors."""
    path = draw.choice(list(GOOD))
    body: Any = dict(GOOD[path])
    for _ in range(draw.randint(1, 2)):
        name = draw.choice([*body, "extra"]) if body else "extra"
        if draw.random() < 0.2 and name in body:
            del body[name]
        else:
            body[name] = draw.choice(JUNK)
    if draw.random() < 0.1:
        body = draw.choice(JUNK)
    return HostileRequest(f"fuzzed {path}", post(path, dumped(body)))


def unicode(draw: random.Random) -> HostileRequest:
    """Return a text that is hard to process."""
    name, text = draw.choice(list(UNICODE.items()))
    text = (text + MARK)[:5000] if draw.random() < 0.8 else text + text[: draw.randint(0, 3000)]
    path = draw.choice(["/translate", "/v1/translate", "/v2/translate", "/detect"])
    body = {**GOOD[path]}
    key = "q" if "q" in body else "text"
    body[key] = text if isinstance(body[key], str) else [text]
    if "format" in body:
        body["format"] = draw.choice(["text", "html"])
    return HostileRequest(f"unicode {name} {path}", post(path, dumped(body)))


def misread(draw: random.Random) -> HostileRequest:
    """Return bytes that contradict the header."""
    path = draw.choice(list(GOOD))
    good = dumped(GOOD[path])
    form, boundary = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
    part = b"--x\r\nContent-Disposition: form-data; name=%b\r\n\r\n"
    bodies: dict[str, tuple[bytes, dict[str, str]]] = {
        "not UTF-8": (b'{"q": "\xff\xfe", "source": "en", "target": "de"}', {}),
        "UTF-16": (good.decode().encode("utf-16"), {}),
        "BOM": (b"\xef\xbb\xbf" + good, {}),
        "lone surrogate": (b'{"q": "\\ud800", "text": "\\udfff", "source": "en", "target": "de"}', {}),
        "NaN": (b'{"q": NaN, "source": Infinity}', {}),
        "nested": (b"[" * draw.choice([100, 2000, 100_000]), {}),
        "nested objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, {}),
        "half": (good[: len(good) // 2], {}),
        "nothing": (b"", {}),
        "twice": (good + good, {}),
        "same key twice": (b'{"q": "a", "q": ["b"], "source": "en", "target": "de"}', {}),
        "a number of 100,000 digits": (b'{"q": ' + b"1" * 100_000 + b"}", {}),
        "gzip that is none": (good, {"Content_Encoding": "gzip"}),
        "form": (b"q=%FF%FE&source=en&target=de&q=2&" + b"a=b&" * 3000, {"Content_Type": form}),
        "text": (good, {"Content_Type": "text/plain; charset=utf-99"}),
        "no type": (good, {"Content_Type": ""}),
        "form data that is none": (good, {"Content_Type": boundary}),
        "form data without end": (part % b"file; filename=../a" + good, {"Content_Type": boundary}),
        "form data of many parts": ((part % b"a" + b"b\r\n") * 3000 + b"--x--", {"Content_Type": boundary}),
        "form data without boundary": (good, {"Content_Type": "multipart/form-data"}),
        "long charset": (good, {"Content_Type": "application/json; charset=" + "x" * 5000}),
        "too many texts": (dumped({"q": ["a"] * 100_000, "text": ["a"] * 100_000, "source": "en", "target": "de"}), {}),
        "too long a text": (dumped({"q": "a " * 400_000, "source": "en", "target": "de"}), {}),
        "too large": (b" " * (MIB + 1), {}),
    }  # fmt: skip
    name = draw.choice(list(bodies))
    body, headers = bodies[name]
    if draw.random() < 0.15:
        path = "/translate_file"
    return HostileRequest(f"misread {name} {path}", post(path, body, **headers))


def spoken_badly(draw: random.Random) -> HostileRequest:
    """Return violations of HTTP."""
    head = b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    chunked = head + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    body = dumped(GOOD["/translate"])
    flood = b"".join(b"1\r\n%c\r\n" % byte for byte in b" " * 20_000 + body) + b"0\r\n\r\n"
    cases = {
        "garbage": bytes(draw.randrange(256) for _ in range(200)) + b"\r\n\r\n",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300),
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/0.9": b"GET /\r\n\r\n",
        "HTTP/9.9": b"GET / HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        "a line of 100 kB": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "a header of 100 kB": head + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
        "10,000 headers": head + b"X: a\r\n" * 10_000 + b"\r\n",
        "headers without end": head + b"X: a\r\n" * 50_000,
        "a header without colon": head + b"nothing\r\n\r\n",
        "a header with NUL": head + b"X: a\0b\r\n\r\n",
        "two lengths": head + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "a length below zero": head + b"Content-Length: -1\r\n\r\n",
        "a length that is none": head + b"Content-Length: x\r\n\r\n",
        "an enormous length": head + b"Content-Length: 99999999999999999999\r\n\r\n{}",
        "1 TB announced": head + b"Content-Length: 1000000000000\r\n\r\n{}",
        "length and chunks": head + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /",
        "chunks of no size": chunked + b"zz\r\n{}\r\n0\r\n\r\n",
        "a chunk said to be 2^63": chunked + b"7fffffffffffffff\r\n{}",
        "a chunk of 2^80": chunked + b"f" * 20 + b"\r\n{}",
        "a flood of chunks": chunked + flood,
        "a flood of chunks too large": chunked + b"1\r\n \r\n" * 300_000,
        "chunk extensions": chunked + (b"1;" + b"x" * 3000 + b"\r\n \r\n") * 200 + b"0\r\n\r\n",
        "trailers": chunked + b"%x\r\n%b\r\n0\r\n" % (len(body), body) + b"X: y\r\n" * 2000 + b"\r\n",
        "100 requests at once": request_bytes("GET", "/livez") * 100,
        "an upgrade": head + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
        "expect": head + b"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        "nothing but line ends": b"\r\n" * 1000,
        "a method of 5 kB": b"A" * 5000 + b" / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "another host": b"GET /languages HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        "no host": b"GET /languages HTTP/1.1\r\nConnection: close\r\n\r\n",
        "a host of nonsense": b"GET /languages HTTP/1.1\r\nHost: [::1\x80]:x\r\nConnection: close\r\n\r\n",
        "an absolute path": b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    }  # fmt: skip
    name = draw.choice(list(cases))
    return HostileRequest(f"spoken badly: {name}", cases[name], is_http=False)


def elsewhere(draw: random.Random) -> HostileRequest:
    """Return requests with other methods, paths, queries and headers."""
    method = draw.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "FOO"])
    path = draw.choice(PATHS) + draw.choice(["", "?q=" + MARK, "?" + "a=b&" * 500, "?%ff=%00", "#x", "/"])
    name, value = draw.choice(
        [("Authorization", "DeepL-Auth-Key x"), ("Authorization", "Bearer " + "x" * 4000), ("Origin", "null"),
         ("X-Forwarded-For", "1.2.3.4, x, ::"), ("Cookie", "a=b"), ("Accept", "text/event-stream"),
         ("Accept-Language", "x" * 2000), ("Range", "bytes=0-,-1,5-2"), ("If-None-Match", '"' * 300),
         ("Content-Type", "application/json")]
    )  # fmt: skip
    body = b"{}" if method in {"POST", "PUT", "PATCH"} else None
    data = request_bytes(method, path, body, {"Connection": "close", name: value})
    return HostileRequest(
        f"elsewhere {method} {path[:40]} {name}", data, is_http=method not in {"CONNECT", "FOO", "TRACE"}
    )


KINDS: tuple[tuple[Callable[[random.Random], HostileRequest], int], ...] = (
    (fuzzed, 40), (unicode, 20), (misread, 15), (spoken_badly, 10), (elsewhere, 15),
)  # fmt: skip


def hostile_requests(count: int, seed: int) -> Iterator[HostileRequest]:
    """Yield requests of all kinds."""
    draw = random.Random(seed)
    makers, weights = zip(*KINDS, strict=True)
    for _ in range(count):
        (maker,) = draw.choices(makers, weights)
        yield maker(draw)


def slow_requests() -> dict[str, list[bytes]]:
    """Return requests in parts, with a pause before each, that never end."""
    head = request_bytes("POST", "/translate", None, {"Content-Type": "application/json", "Content-Length": "1000"})
    line = b"POST /translate HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    return {
        "nothing": [],
        "a letter at a time": [bytes([byte]) for byte in line[:40]],
        "a header at a time": [line, *[b"X: y\r\n"] * 40],
        "a body that does not come": [head],
        "a body byte by byte": [head, *[b" "] * 40],
        "chunks byte by byte": [line + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\n \r\n"] * 40],
    }
