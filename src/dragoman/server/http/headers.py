"""Read and write HTTP headers: security, CORS, request id, API key, client address, host, content encoding."""

import asyncio
import gzip
import ipaddress
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from dragoman.server.errors import Forbidden, RequestError

Headers = list[tuple[bytes, bytes]]

PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'"
)
"""Content security policy of the web page: files of this server only, and no inline scripts."""

SECURITY: dict[bytes, bytes] = {
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
}
"""Default headers of every response."""

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_SCHEMES = frozenset({"bearer", "deepl-auth-key"})
_CROSS_SITE = (
    "a page of another origin may not {do}; the server's operator names the origins that may with dragoman serve "
    "--origins, or requires keys with --keys"
)

_REJECTED = re.compile(r";\s*q=0(?:\.0*)?\s*$")
_MIN_BYTES = 50_000  # compression of less is not worth its time
_LEVEL = 5

_HOST = re.compile(r"(?:\[([^\[\]]+)\]|([^\[\]:/?#@\\\s]+))(?::\d*)?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class CorsPolicy:
    """Origins that may call the server, always without credentials (decision record 0015)."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._accepts_any = "*" in origins
        self._origins = frozenset(origin.lower().rstrip("/").encode() for origin in origins)

    def headers(self, origin: bytes | None) -> Headers:
        exposed = (b"access-control-expose-headers", b"Retry-After, X-Request-Id, Content-Disposition")
        if self._accepts_any:
            return [(b"access-control-allow-origin", b"*"), exposed]
        vary = (b"vary", b"Origin")
        if origin is not None and origin.lower() in self._origins:
            return [(b"access-control-allow-origin", origin), exposed, vary]
        return [vary]

    def check(self, headers: Mapping[bytes, bytes], forwarded_host: bytes | None, *, changes_state: bool) -> None:
        """Reject a request without a key, of an unsafe method, that a page of another origin sent: raises `Forbidden`.

        Where every origin is allowed, its pages may translate, but change nothing that the server stores.
        """
        origin = headers.get(b"origin")
        if _is_same_origin(headers, forwarded_host) or (origin or b"").lower() in self._origins:
            return
        if changes_state or not self._accepts_any:
            do = "change what the server stores" if self._accepts_any else "send this request"
            raise Forbidden(_CROSS_SITE.format(do=do), code="cross_site")

    @staticmethod
    def preflight() -> Headers:
        return [
            (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE, OPTIONS"),
            (
                b"access-control-allow-headers",
                b"Accept, Authorization, Content-Type, Ocp-Apim-Subscription-Key, X-Goog-Api-Key, X-Request-Id",
            ),
            (b"access-control-max-age", b"86400"),
        ]


def _is_same_origin(headers: Mapping[bytes, bytes], forwarded_host: bytes | None) -> bool:
    """Whether a request comes from a program, or from a page of this server.

    Browsers send Sec-Fetch-Site to HTTPS and loopback addresses; otherwise the host names of Origin and Host are
    compared, without ports, which proxies leave out.
    """
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        return site in (b"same-origin", b"none")
    if origin is None:
        return True
    hosts = [_host_name(b"//" + host) for host in (headers.get(b"host"), forwarded_host) if host]
    return (name := _host_name(origin)) is not None and name in hosts


def _host_name(url: bytes) -> str | None:
    try:
        return urlsplit(url.decode("latin-1")).hostname
    except ValueError:
        return None


def request_id(given: bytes | None) -> str:
    """Return the X-Request-Id of a proxy if it is a plain word, or a new id."""
    return given.decode() if given and _ID.fullmatch(given) else secrets.token_hex(8)


def parse_api_key(authorization: bytes | None) -> str | None:
    """Return the key of an Authorization header: ``Bearer …`` or ``DeepL-Auth-Key …``."""
    scheme, _, secret = (authorization or b"").decode("latin-1").partition(" ")
    return secret.strip() or None if scheme.lower() in _SCHEMES else None


def client_address(client: tuple[str, int] | None, forwarded: bytes | None) -> str:
    """Return the last address of a trusted X-Forwarded-For, without a port, or that of the connection."""
    if not forwarded:
        return client[0] if client else ""
    entry = forwarded.decode("latin-1").rpartition(",")[2].strip().strip('"')
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def accepted_encodings(request: Request) -> set[str]:
    """Return the content encodings that a client accepts by name."""
    words = request.headers.get("accept-encoding", "").lower().split(",")
    return {word.partition(";")[0].strip() for word in words if not _REJECTED.search(word)}


@dataclass
class CachedJson:
    """An encoded JSON value that is sent many times; a large one is compressed at the first request that accepts it."""

    data: bytes
    _compressed: bytes | None = field(default=None, init=False, repr=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    async def response(self, request: Request) -> Response:
        """Return the value, compressed if it is large and the client accepts it."""
        if len(self.data) < _MIN_BYTES:
            return Response(self.data, media_type="application/json")
        headers = {"vary": "Accept-Encoding"}
        if "gzip" not in accepted_encodings(request):
            return Response(self.data, headers=headers, media_type="application/json")
        headers["content-encoding"] = "gzip"
        async with self._lock:  # simultaneous first requests compress once
            if self._compressed is None:
                self._compressed = await asyncio.to_thread(gzip.compress, self.data, _LEVEL, mtime=0)
        return Response(self._compressed, headers=headers, media_type="application/json")


class Misdirected(RequestError, status=421, code="misdirected", reason="host"):  # noqa: N818 -- like its HTTP status
    """A Host header that is not a name of this server, as in a DNS rebinding attack."""


class TrustedHosts:
    """Host names of the server, and every numeric address: DNS rebinding needs a name that resolves to this machine."""

    def __init__(self, host: str, hosts: Sequence[str]) -> None:
        names = {name.lower().rstrip(".") for name in (host, *hosts)}
        self._accepts_any = "*" in names
        self._names = _LOOPBACK | names
        self._domains = tuple(name[1:] for name in names if name.startswith("*."))

    def check(self, value: bytes) -> None:
        """Raise `Misdirected` unless the Host header names this server; the port is ignored."""
        if self._accepts_any:
            return
        if found := _HOST.fullmatch(value.decode("latin-1")):
            name = (found[1] or found[2]).lower().rstrip(".")
            if name in self._names or name.endswith(self._domains) or _is_address(name):
                return
        raise Misdirected(
            "the Host header does not name this server; its operator adds names with dragoman serve --hosts"
        )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
