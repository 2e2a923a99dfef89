"""Read and write HTTP headers: security headers, CORS, request id, API key, client address."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Sequence

__all__ = ["CorsPolicy", "PAGE_POLICY", "SECURITY", "client_address", "is_loopback", "parse_api_key", "request_id"]

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


class CorsPolicy:
    """Origins that may call the server, always without credentials (decision record 0015)."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._accepts_any = "*" in origins
        self._origins = frozenset(origin.lower().rstrip("/").encode() for origin in origins)

    def headers(self, origin: bytes | None) -> Headers:
        """Return the headers of a response to this origin."""
        exposed = (b"access-control-expose-headers", b"Retry-After, X-Request-Id, Content-Disposition")
        if self._accepts_any:
            return [(b"access-control-allow-origin", b"*"), exposed]
        vary = (b"vary", b"Origin")
        if origin is not None and origin.lower() in self._origins:
            return [(b"access-control-allow-origin", origin), exposed, vary]
        return [vary]

    @staticmethod
    def preflight() -> Headers:
        """Return the additional headers of a preflight response."""
        return [
            (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE, OPTIONS"),
            (b"access-control-allow-headers", b"Accept, Authorization, Content-Type, X-Request-Id"),
            (b"access-control-max-age", b"86400"),
        ]


def request_id(given: bytes | None) -> str:
    """Return the X-Request-Id of a proxy if it is a plain word, or a new id."""
    return given.decode() if given and _ID.fullmatch(given) else secrets.token_hex(8)


def parse_api_key(authorization: bytes | None) -> str | None:
    """Return the key of an Authorization header: ``Bearer …`` or ``DeepL-Auth-Key …``."""
    scheme, _, secret = (authorization or b"").decode("latin-1").partition(" ")
    return secret.strip() or None if scheme.lower() in _SCHEMES else None


def client_address(client: tuple[str, int] | None, forwarded: bytes | None) -> str:
    """Return the address of the client: the last entry of a trusted X-Forwarded-For, or that of the connection.

    Some proxies add the port: ``192.0.2.1:4711``, ``[2001:db8::1]:4711``.
    """
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
