"""Find the API key of a request in its query or body, without parsing the body.

LibreTranslate's clients send ``api_key`` as a JSON member or a form field, DeepL's older clients ``auth_key`` as a form
field. A body is parsed only after its key was found, so the search takes linear time and builds nothing. A value that
only resembles a key field is harmless, because it must be a valid key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote_plus

__all__ = ["find_keys"]

_NAMES = (b"api_key", b"auth_key")
_MAX_PLACES = 32  # of each name, from the start and from the end; a text may contain the name too
_MAX_VALUES = 8
_JSON = re.compile(rb'"[ \t\r\n]{0,64}:[ \t\r\n]{0,64}"([^"\\]{1,512})"')
_FIELD = re.compile(rb"=([^&]{1,512})")
_PART = re.compile(rb'"?[^\r\n]{0,200}\r\n(?:[^\r\n]{1,200}\r\n){0,8}\r\n([^\r\n]{1,512})\r\n')


def find_keys(content_type: bytes, query: bytes, body: bytes) -> list[str]:
    """Return what may be the API key of a request: values of the query, then of the body."""
    kind = content_type.partition(b";")[0].strip().lower()
    found = _fields(query)
    if kind == b"application/x-www-form-urlencoded":
        found += _fields(body)
    elif kind == b"multipart/form-data":
        found += _values(_PART, body, (b'name="', b"name="))
    elif kind == b"application/json" or kind.endswith(b"+json"):
        found += _values(_JSON, body, (b'"',))
    return found


def _fields(form: bytes) -> list[str]:
    return [unquote_plus(value) for value in _values(_FIELD, b"&" + form, (b"&",))]


def _values(pattern: re.Pattern[bytes], data: bytes, before: tuple[bytes, ...]) -> list[str]:
    """Return the values that follow a name and the pattern, where the name follows one of the prefixes."""
    values: list[str] = []
    for name in _NAMES:
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
