"""Limit the size, the reading time and the total memory of request bodies; find the API key in a body.

LibreTranslate's clients send ``api_key`` as a JSON member or a form field, DeepL's older clients ``auth_key`` as a form
field. A body is parsed only after its key was found, so the search takes linear time and builds nothing. A value that
only resembles a key field is harmless, because it must be a valid key.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from urllib.parse import unquote_plus

from starlette.types import Receive

from dragoman.server.errors import Overloaded, RequestError, TooLarge

MAX_BUFFERED = 256 << 20
"""Maximum number of bytes of all running requests' bodies."""

_MAX_PLACES = 32  # of each name, from the start and from the end; a text may contain the name too
_MAX_VALUES = 8
_JSON = re.compile(rb'"[ \t\r\n]{0,64}:[ \t\r\n]{0,64}"([^"\\]{1,512})"')
_FIELD = re.compile(rb"=([^&]{1,512})")
_PART = re.compile(rb'"?[^\r\n]{0,200}\r\n(?:[^\r\n]{1,200}\r\n){0,8}\r\n([^\r\n]{1,512})\r\n')


class BodyTimeout(RequestError):  # noqa: N818 -- named like its HTTP status
    """A body that did not arrive in time."""

    status = 408
    reason = "slow"


class BodyBuffer:
    """Memory for request bodies, shared by all requests."""

    def __init__(self, max_bytes: int = MAX_BUFFERED) -> None:
        self._max_bytes = max_bytes
        self._held = 0

    @property
    def held(self) -> int:
        return self._held

    async def read(self, receive: Receive, limit: int, seconds: float) -> bytes | None:
        """Read a body; None if the client disconnected. Raises `TooLarge`, `BodyTimeout` or `Overloaded`.

        A returned body counts until `release`.
        """
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    self._held += len(chunk)
                    self._check(size, limit)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        size = 0  # stays held
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except TimeoutError:
            raise BodyTimeout(f"the body did not arrive within {seconds:g} s; send it faster") from None
        finally:
            self._held -= size

    def release(self, size: int) -> None:
        self._held -= size

    def _check(self, size: int, limit: int) -> None:
        if size > limit:
            raise _too_large(limit)
        if self._held > self._max_bytes:
            raise Overloaded(
                f"the bodies of all requests together have more than {self._max_bytes:,} bytes", retry_after=1
            )


def declared_length(headers: Mapping[bytes, bytes], limit: int) -> int | None:
    """Return the length of the body: 0 for none, None if it is chunked; raises `TooLarge`."""
    if b"transfer-encoding" in headers:
        return None
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise RequestError("Content-Length must be a whole number; leave it to the HTTP client")
    if len(length) > len(str(limit)) + 20 or int(length) > limit:
        raise _too_large(limit)
    return int(length)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body must have at most {limit:,} bytes, got more; send it in several requests")


def find_keys(names: Sequence[bytes], content_type: bytes, query: bytes, body: bytes) -> list[str]:
    """Return what may be the API key of a request: values of fields of the query, then of the body."""
    kind = content_type.partition(b";")[0].strip().lower()
    found = _fields(names, query)
    if kind == b"application/x-www-form-urlencoded":
        found += _fields(names, body)
    elif kind == b"multipart/form-data":
        found += _values(names, _PART, body, (b'name="', b"name="))
    elif kind == b"application/json" or kind.endswith(b"+json"):
        found += _values(names, _JSON, body, (b'"',))
    return found


def _fields(names: Sequence[bytes], form: bytes) -> list[str]:
    return [unquote_plus(value) for value in _values(names, _FIELD, b"&" + form, (b"&",))]


def _values(names: Sequence[bytes], pattern: re.Pattern[bytes], data: bytes, before: tuple[bytes, ...]) -> list[str]:
    """Return the values that follow a name and the pattern, where the name follows one of the prefixes."""
    values: list[str] = []
    for name in names:
        for at in sorted({*islice(_forwards(data, name), _MAX_PLACES), *islice(_backwards(data, name), _MAX_PLACES)}):
            found = pattern.match(data, at + len(name))
            if found and data[max(0, at - 6) : at].lower().endswith(before):
                values.append(found[1].decode("latin-1").strip())
    return values[:_MAX_VALUES]


def _forwards(data: bytes, name: bytes) -> Iterator[int]:
    at = data.find(name)
    while at >= 0:
        yield at
        at = data.find(name, at + len(name))


def _backwards(data: bytes, name: bytes) -> Iterator[int]:
    at = data.rfind(name)
    while at >= 0:
        yield at
        at = data.rfind(name, 0, at)
