"""Requests over HTTP: which addresses are opened, redirects, failures that are worth another attempt."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from dragoman.catalogs.catalog_model import ascii_line
from dragoman.environment import require
from dragoman.errors import ConfigError, DataError
from dragoman.network_access import check_online
from dragoman.version import __version__

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 5
MAX_WAIT = 120.0  # seconds that a host may request to wait
PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds before the next attempt, if the host states none
TIMEOUT = 30.0  # seconds without a byte
MIN_RATE = 1024  # bytes per second, over the time of a timeout
_MAX_HTML = 512
_RETRIED = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Access:
    """What may be opened."""

    offline: bool = False
    """Read only catalogs that are cached or local."""
    allow_http: bool = False
    """Open addresses without encryption."""


class RetryError(Exception):
    """A failure that may not happen again, with the seconds that the host requests to wait (None: not stated)."""

    def __init__(self, message: str, wait: float | None = None, attempts: int = 4) -> None:
        self.wait, self.attempts = wait, attempts
        super().__init__(message)


class NotFoundError(DataError):
    """The host has no such file, or answers with a page."""


class RateWindow:
    """Check that a host sends more than a few bytes per second."""

    def __init__(self) -> None:
        self._began, self._bytes = time.monotonic(), 0

    def add(self, size: int, url: str) -> None:
        """Count a block; a `RetryError` if those of the last seconds were too small."""
        self._bytes += size
        seconds = time.monotonic() - self._began
        if seconds < TIMEOUT:
            return
        if self._bytes < MIN_RATE * seconds:
            raise RetryError(f"{shown(url)} sent only {self._bytes / seconds:.0f} bytes per second")
        self._began, self._bytes = time.monotonic(), 0


def open_client() -> httpx.Client:
    """Return a client that uses the proxies and certificates of the environment."""
    require("httpx", "get", "a download")
    import httpx  # noqa: PLC0415 -- an extra

    try:
        return httpx.Client(
            headers={"User-Agent": f"dragoman/{__version__}", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(TIMEOUT, connect=15.0),
            follow_redirects=False,
        )
    except (OSError, ValueError) as error:
        reason = ascii_line(str(error))
        raise ConfigError(f"the proxy or certificate settings of the environment cannot be used: {reason}") from None


@contextmanager
def opened(client: httpx.Client, url: str, access: Access, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
    """Open an address, and follow its redirects; the body is not read yet.

    Raises:
        RetryError: The failure may not happen again.
        DataError: It will.
    """
    import httpx  # noqa: PLC0415 -- an extra

    before = ""
    for _ in range(MAX_REDIRECTS + 1):
        check_address(url, access, before)
        try:
            with client.stream("GET", url, headers=dict(headers)) as response:
                if not response.has_redirect_location:
                    _check_status(response, url)
                    yield response
                    return
                before, url = url, _location(response, url)
        except httpx.UnsupportedProtocol:
            raise DataError(f"{shown(url)} cannot be opened; check the address and the proxy settings") from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # of a host name
            raise _failure(error, url) from None
    raise DataError(f"{shown(url)} is behind more than {MAX_REDIRECTS} redirects; check the address")


def check_address(url: str, access: Access, before: str = "") -> None:
    """Require an address that may be opened, after a redirect from the address `before`."""
    scheme = urlsplit(url).scheme
    secure = urlsplit(before).scheme == "https"
    if before and (scheme not in ("https", "http") or (secure and scheme != "https")):
        raise DataError(f"{shown(before)} redirects to {scheme}://, which is not followed; check the address")
    if scheme not in ("https", "http"):
        raise DataError(f"{shown(url)} must begin with https://, got {ascii_line(scheme)}://; check the catalog")
    if scheme == "http" and not access.allow_http:
        raise ConfigError(f"{shown(url)} is not encrypted; use https, or add --allow-http if you trust the network")
    check_online(shown(url))
    if access.offline:
        raise ConfigError(f"{shown(url)} needs the network; run the command without --offline")


def shown(url: str) -> str:
    """Return an address for messages: without passwords, and without the signature in a query."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return ascii_line(f"{parts.scheme}://{host}{parts.path}")


def check_beginning(response: httpx.Response, beginning: bytes, url: str) -> None:
    """Raise a `NotFoundError` if a body is a page or a pointer instead of a file."""
    text = beginning[:_MAX_HTML].lstrip().lower()
    is_page = response.headers.get("Content-Type", "").lower().startswith("text/html")
    if is_page or text.startswith((b"<!doctype html", b"<html")):
        raise NotFoundError(
            f"{shown(url)} returned a web page instead of a file; check the address, or log in to the network"
        )
    if text.startswith(b"version https://git-lfs"):
        raise NotFoundError(f"{shown(url)} returned a Git LFS pointer instead of a file; use the address of the file")


def pause(error: RetryError, attempt: int) -> None:
    """Wait before the next attempt; a `DataError` after the last one, or if the host requests too many seconds."""
    if attempt >= min(len(PAUSES), error.attempts):
        raise DataError(f"{error}; check the network and its proxy settings, or run the command again later") from None
    if (error.wait or 0) > MAX_WAIT:
        raise DataError(
            f"{error}, and requests to wait {error.wait:,.0f} seconds; run the command again then"
        ) from None
    time.sleep(PAUSES[attempt] if error.wait is None else error.wait)


def _location(response: httpx.Response, url: str) -> str:
    try:
        return urljoin(url, response.headers["Location"])
    except ValueError:
        raise DataError(f"{shown(url)} redirects to an invalid address; check the address") from None


def _check_status(response: httpx.Response, url: str) -> None:
    status = response.status_code
    if status in (200, 206, 304, 416):
        return
    message = f"{shown(url)} returned status {status} {ascii_line(response.reason_phrase)}".rstrip()
    if status in _RETRIED:
        raise RetryError(message, _retry_after(response.headers.get("Retry-After", "")))
    if status in (404, 410):
        raise NotFoundError(f"{message}; the file is not there (any more): read the catalog again, or use another one")
    if status in (401, 403, 407):
        raise DataError(f"{message}: access is denied; check the address and your permissions")
    raise DataError(f"{message}; check the address")


def _retry_after(value: str) -> float | None:
    """Return the seconds of a Retry-After header, which states seconds or a date."""
    if value.strip().isdecimal():
        return float(value.strip()[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _failure(error: Exception, url: str) -> Exception:
    """Return the error to raise for one of httpx."""
    import httpx  # noqa: PLC0415 -- an extra

    text = ascii_line(str(error)) or type(error).__name__
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return DataError(
            f"the certificate of {shown(url)} cannot be verified; if your network replaces certificates, set "
            "SSL_CERT_FILE to the file of its authority"
        )
    if isinstance(error, httpx.TimeoutException):
        return RetryError(f"{shown(url)} sent nothing for {TIMEOUT:.0f} seconds")
    if isinstance(error, httpx.ProxyError):
        return DataError(f"the proxy for {shown(url)} refused the connection ({text}); check HTTPS_PROXY and NO_PROXY")
    if isinstance(error, httpx.ConnectError):
        return RetryError(f"{shown(url)} cannot be reached ({text})", attempts=2)
    if isinstance(error, httpx.TransportError):
        return RetryError(f"the connection to {shown(url)} was lost ({text})")
    return DataError(f"{shown(url)} cannot be read: {text}; check the address")
