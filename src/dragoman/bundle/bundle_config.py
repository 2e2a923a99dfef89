"""Read and write the configuration of a saved model (bundle): complete, without local paths, in a subset of TOML."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any
from urllib.parse import urlsplit

from dragoman.bundle.config_migration import migrate_config
from dragoman.config import Config, parse_config
from dragoman.errors import BundleError, ConfigError

_MAX_LINES = 4000
_MAX_MESSAGE = 300
_TABLE = re.compile(r"\[{1,2}[a-z0-9_]+(\.[a-z0-9_]+){0,3}\]{1,2}")
_SETTING = re.compile(r"[a-z0-9_]+ = (.+)")


def shared_config(config: Config) -> Config:
    """Replace paths by file names, and URLs by the last part of their path."""
    table = config.model_dump(exclude_none=True)
    if data := table.get("data"):
        data["folder"] = _last_part(data["folder"])
        for corpus in _corpora(data):
            corpus["files"] = [_last_part(file) for file in corpus["files"]]
            corpus["name"] = _last_part(corpus["name"]) if corpus["name"] else ""
    if start := table.get("start"):
        start["bundle"] = _last_part(start["bundle"])
    return parse_config(table)


def read_shared_config(name: str, data: bytes, version: int) -> Config:
    """Parse the configuration file of a bundle of a format version. It must not refer to other files.

    Some TOML takes quadratic time to parse (a key of 20,000 parts: 20 s), so only the syntax that `to_toml` writes is
    accepted: plain tables, and one setting per line.
    """
    try:
        text = data.decode("utf-8")
        _check_lines(text.split("\n"))
        return parse_config(migrate_config(tomllib.loads(text), version))
    except (ConfigError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0][:_MAX_MESSAGE]
        raise BundleError(
            f"{name} must be a configuration written by Dragoman, got: {reason}; "
            "write the bundle again with dragoman train"
        ) from None


def _check_lines(lines: list[str]) -> None:
    if len(lines) > _MAX_LINES:
        raise ValueError(f"more than {_MAX_LINES} lines")
    for number, line in enumerate(lines, start=1):
        setting = _SETTING.fullmatch(line)
        value = json.loads(setting[1]) if setting else ""  # `to_toml` writes JSON values
        entries = value if isinstance(value, list) else [value]
        if any(isinstance(entry, dict | list) for entry in entries) or not (setting or _is_table(line)):
            raise ValueError(f"line {number} is not written by Dragoman")


def _is_table(line: str) -> bool:
    return not line or _TABLE.fullmatch(line) is not None


def _corpora(data: dict[str, Any]) -> list[dict[str, Any]]:
    validation = [data["validation"]] if "validation" in data else []
    return [*data["train"], *validation, *data["test"]]


def _last_part(path: str) -> str:
    """The last part of a path or URL."""
    if "://" in path:
        path = urlsplit(path).path
    parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..", "~")]
    return parts[-1] if parts else "unnamed"
