"""The configuration as it is shared: whole, without the paths of a machine, and in the form that we write ourselves."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any
from urllib.parse import urlsplit

from dragoman.config import Config, parse_config
from dragoman.errors import BundleError, ConfigError

__all__ = ["read_shared_config", "shared_config"]

_MOST_LINES = 4000
_LONGEST_MESSAGE = 300
_TABLE = re.compile(r"\[{1,2}[a-z0-9_]+(\.[a-z0-9_]+){0,3}\]{1,2}")
_SETTING = re.compile(r"[a-z0-9_]+ = (.+)")


def shared_config(config: Config) -> Config:
    """The same configuration with names of files in place of their paths; addresses lose their queries as well."""
    table = config.model_dump(exclude_none=True)
    if data := table.get("data"):
        data["folder"] = _last_part(data["folder"])
        for corpus in _corpora(data):
            corpus["files"] = [_last_part(file) for file in corpus["files"]]
            corpus["name"] = _last_part(corpus["name"]) if corpus["name"] else ""
    if start := table.get("start"):
        start["bundle"] = _last_part(start["bundle"])
    return parse_config(table)


def read_shared_config(name: str, data: bytes) -> Config:
    """The configuration in a file of a bundle. It is complete: a stranger's must not name others to be read.

    TOML has notations that take quadratic time to read (a key of 20,000 parts: 20 s), so nothing is parsed but what
    `to_toml` writes: plain tables, and one setting a line.
    """
    try:
        text = data.decode("utf-8")
        _check_lines(text.split("\n"))
        return parse_config(tomllib.loads(text))
    except (ConfigError, ValueError, RecursionError) as error:
        fault = str(error).partition("\n")[0][:_LONGEST_MESSAGE]
        raise BundleError(
            f"{name} must be a configuration as this version writes it, got a fault: {fault}; "
            "write the bundle again with dragoman train"
        ) from None


def _check_lines(lines: list[str]) -> None:
    if len(lines) > _MOST_LINES:
        raise ValueError(f"more than {_MOST_LINES} lines")
    for number, line in enumerate(lines, start=1):
        setting = _SETTING.fullmatch(line)
        value = json.loads(setting[1]) if setting else ""  # a TOML value as we write it is a JSON value
        entries = value if isinstance(value, list) else [value]
        if any(isinstance(entry, dict | list) for entry in entries) or not (setting or _is_table(line)):
            raise ValueError(f"line {number} is none that Dragoman writes")


def _is_table(line: str) -> bool:
    return not line or _TABLE.fullmatch(line) is not None


def _corpora(data: dict[str, Any]) -> list[dict[str, Any]]:
    validation = [data["validation"]] if "validation" in data else []
    return [*data["train"], *validation, *data["test"]]


def _last_part(path: str) -> str:
    """The name at the end of a path or an address."""
    if "://" in path:
        path = urlsplit(path).path
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..", "~")]
    return parts[-1] if parts else "unnamed"
