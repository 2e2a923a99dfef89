"""What heads of requests must be, and what heads of answers carry: hosts, origins, and what browsers may do with us."""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Sequence

from dragoman.server.errors import Refused

__all__ = ["HostRule", "Misdirected", "Origins", "PAGE_POLICY", "SECURITY", "client_address", "request_id", "secret_in"]

Headers = list[tuple[bytes, bytes]]

PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; "
    b"frame-ancestors 'none'"
)
"""What the page may load: its own files and nothing else, and no script inside of HTML."""

SECURITY: dict[bytes, bytes] = {
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
}
"""On every answer that does not say otherwise."""

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_SCHEMES = frozenset({"bearer", "deepl-auth-key"})


class Misdirected(Refused):
    """It was asked for by a name that is not its own: a page elsewhere may have pointed its own name at us."""

    status = 421
    reason = "host"


class HostRule:
    """Which names the Host header may have.

    Those of the loopback, those of the settings, and every address in digits: the trick that this is against, a
    stranger's name which suddenly means this machine, needs a name.
    """

    def __init__(self, host: str, hosts: Sequence[str]) -> None:
        names = {name.lower().rstrip(".") for name in (host, *hosts)}
        self._takes_any = "*" in names
        self._names = _LOOPBACK | names
        self._domains = tuple(name[1:] for name in names if name.startswith("*."))

    def check(self, value: bytes) -> None:
        """Raise `Misdirected` unless the name is one of ours; the port says nothing."""
        name = _host_of(value.decode("latin-1")).lower().rstrip(".")
        if self._takes_any or name in self._names or name.endswith(self._domains) or _is_address(name):
            return
        raise Misdirected(
            "the Host must be a name of this server, got another; its operator adds names with dragoman serve --hosts"
        )


class Origins:
    """Which pages may call us (CORS), without credentials ever."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._takes_any = "*" in origins
        self._origins = frozenset(origin.lower().rstrip("/").encode() for origin in origins)

    def headers(self, origin: bytes | None) -> Headers:
        """What an answer to a page of this origin carries."""
        exposed = (b"access-control-expose-headers", b"Retry-After, X-Request-Id, Content-Disposition")
        if self._takes_any:
            return [(b"access-control-allow-origin", b"*"), exposed]
        vary = (b"vary", b"Origin")
        if origin is not None and origin.lower() in self._origins:
            return [(b"access-control-allow-origin", origin), exposed, vary]
        return [vary]

    @staticmethod
    def preflight() -> Headers:
        """What the answer to a browser that asks beforehand carries besides."""
        return [
            (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
            (b"access-control-allow-headers", b"Accept, Authorization, Content-Type, X-Request-Id"),
            (b"access-control-max-age", b"86400"),
        ]


def request_id(given: bytes | None) -> str:
    """The id a proxy gave, if it is a plain word, or a new one."""
    return given.decode() if given and _ID.fullmatch(given) else secrets.token_hex(8)


def secret_in(authorization: bytes | None) -> str | None:
    """The key of an Authorization header: ``Bearer …`` or ``DeepL-Auth-Key …``."""
    scheme, _, secret = (authorization or b"").decode("latin-1").partition(" ")
    return secret.strip() or None if scheme.lower() in _SCHEMES else None


def client_address(client: tuple[str, int] | None, forwarded: bytes | None) -> str:
    """Who asks: the last entry of X-Forwarded-For, which our own proxy wrote, where that is trusted and there."""
    if forwarded:
        return forwarded.decode("latin-1").rpartition(",")[2].strip()
    return client[0] if client else ""


def _host_of(value: str) -> str:
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
