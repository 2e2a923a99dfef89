"""Parse TOML of limited size and depth: `tomllib` takes quadratic time for a key of very many parts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigError

__all__ = ["parse_toml", "read_toml_text"]

_MAX_BYTES = 1 << 20
_MAX_PARTS = 32
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_MAX_PARTS}}}")


def read_toml_text(path: Path) -> str:
    """Read a TOML file of at most 1 MiB.

    Raises `OSError`, `UnicodeDecodeError`, or `ConfigError` if the file is larger.
    """
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{path} must have at most {_MAX_BYTES:,} bytes, got more; name a configuration file")
    return data.decode("utf-8-sig")


def parse_toml(text: str, name: str, fix: str = "correct it there") -> dict[str, Any]:
    """Return the table of a TOML text; `name` and `fix` are used in messages.

    Raises:
        ConfigError: The text is not valid TOML, or has a key that is too long.
    """
    if _LONG_KEY.search(text):
        raise ConfigError(f"{name} must have keys of at most {_MAX_PARTS} parts, got a longer one; shorten it")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} must be valid TOML, got: {error}; {fix}") from None
