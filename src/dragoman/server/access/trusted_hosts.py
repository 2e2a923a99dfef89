"""Check the Host header against the allowed host names."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from dragoman.server.errors import ErrorCode, RequestError

__all__ = ["Misdirected", "TrustedHosts"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Misdirected(RequestError):  # noqa: N818 -- named like its HTTP status
    """A Host header that is not a name of this server, as in a DNS rebinding attack."""

    status = 421
    code: ErrorCode = "misdirected"
    reason = "host"


class TrustedHosts:
    """Host names of the server: loopback names, configured names, and every numeric address.

    DNS rebinding needs a name that resolves to this machine, so numeric addresses are safe.
    """

    def __init__(self, host: str, hosts: Sequence[str]) -> None:
        names = {name.lower().rstrip(".") for name in (host, *hosts)}
        self._accepts_any = "*" in names
        self._names = _LOOPBACK | names
        self._domains = tuple(name[1:] for name in names if name.startswith("*."))

    def check(self, value: bytes) -> None:
        """Raise `Misdirected` unless the Host header names this server; the port is ignored."""
        name = _without_port(value.decode("latin-1")).lower().rstrip(".")
        if self._accepts_any or name in self._names or name.endswith(self._domains) or _is_address(name):
            return
        raise Misdirected(
            "the Host must be a name of this server, got another; its operator adds names with dragoman serve --hosts"
        )


def _without_port(value: str) -> str:
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
