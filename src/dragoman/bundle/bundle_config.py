"""Read and write the configuration of a saved model (bundle): complete, without local paths, in a subset of TOML."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any
from urllib.parse import urlsplit

from dragoman.config import Config, RnnConfig, parse_config, to_toml
from dragoman.config.attention_scores import SCORES
from dragoman.errors import BundleError, ConfigError
from dragoman.plugins import Plugin, find_plugin, plugin_names

_MAX_LINES = 4000
_MAX_MESSAGE = 300
_TABLE = re.compile(r"\[{1,2}[a-z0-9_]+(\.[a-z0-9_]+){0,3}\]{1,2}")
_SETTING = re.compile(r"[a-z0-9_]+ = (.+)")
_PLUGINS = "plugins"
_PLUGIN = re.compile(r"scores ([A-Za-z0-9][\w.-]{0,59}) ([A-Za-z0-9][A-Za-z0-9._-]{0,59}) ([\w.+!-]{1,40})", re.ASCII)


def shared_toml(config: Config) -> str:
    """Return the configuration file of a bundle: without local paths, and with the plug-ins that the model needs."""
    needed = json.dumps([f"{each.group} {each.name} {each.package} {each.version}" for each in _plugins_of(config)])
    return (f"{_PLUGINS} = {needed}\n\n" if needed != "[]" else "") + to_toml(shared_config(config))


def shared_config(config: Config) -> Config:
    """Replace paths by file names, and URLs by the last part of their path; leave out what only training needs."""
    table = config.model_dump(exclude_none=True)
    table["training"].pop("callbacks", None)
    if data := table.get("data"):
        data["folder"] = _last_part(data["folder"])
        for corpus in _corpora(data):
            corpus["files"] = [_last_part(file) for file in corpus["files"]]
            corpus["name"] = _last_part(corpus["name"]) if corpus["name"] else ""
            if corpus["format"] in plugin_names("corpus_readers"):
                corpus["format"] = "auto"
    if start := table.get("start"):
        start["bundle"] = _last_part(start["bundle"])
    return parse_config(table)


def read_shared_config(name: str, data: bytes) -> Config:
    """Parse the configuration file of a bundle. It must not refer to other files.

    Some TOML takes quadratic time to parse (a key of 20,000 parts: 20 s), so only the syntax that `to_toml` writes is
    accepted: plain tables, and one setting per line.
    """
    try:
        text = data.decode("utf-8")
        _check_lines(text.split("\n"))
        table = tomllib.loads(text)
        _check_plugins(name, table.pop(_PLUGINS, []))
        return parse_config(table)
    except (ConfigError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0][:_MAX_MESSAGE]
        raise BundleError(
            f"{name} must be a configuration written by Dragoman, got: {reason}; "
            "write the bundle again with dragoman train"
        ) from None


def _plugins_of(config: Config) -> list[Plugin]:
    """Return the plug-ins without which a model cannot be built."""
    if not isinstance(config.model, RnnConfig) or config.model.attention.score in SCORES:
        return []
    plugin = find_plugin("scores", config.model.attention.score)
    assert plugin is not None, "the configuration was validated"
    return [plugin]


def _check_plugins(file: str, needed: Any) -> None:
    """Raise a `BundleError` for a plug-in that is not installed; only possible names are shown, none imported."""
    for entry in needed if isinstance(needed, list) else [needed]:
        match = _PLUGIN.fullmatch(str(entry))
        if match is None:
            raise ValueError(f"{_PLUGINS} has {entry!a}")
        name, package, version = match.groups()
        found = find_plugin("scores", name)
        if found is None:
            raise BundleError(
                f"{file}: this model needs the attention score {name} of the package {package} {version}, which is not "
                f"installed; pip install {package}, if you trust its author"
            )
        if found.package != package:
            raise BundleError(
                f"{file}: this model needs the attention score {name} of the package {package} {version}, but that of "
                f"{found.package} is installed; uninstall {found.package} and install {package}"
            )


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
