"""Load a configuration from a TOML file or a preset, with overrides; write it as TOML; write its JSON Schema."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from dragoman.config.base import parse_toml, read_toml_text
from dragoman.config.schema import Config
from dragoman.config.validation_errors import setting_message
from dragoman.errors import ConfigError, did_you_mean
from dragoman.run_files import PROJECT

Table = dict[str, Any]

_MAX_EXTENDS = 32
_PRESETS = resources.files("dragoman.config") / "presets"
_PLAIN_SECTIONS = ("training", "data", "tokenizer")
_OTHER_NAMES = {
    "epochs": "max_epochs",
    "steps": "max_updates",
    "max_steps": "max_updates",
    "train_steps": "max_updates",
    "updates": "max_updates",
    "lr": "learning_rate",
    "batch_size": "batch_tokens",
    "vocab_size": "size",
}
"""Settings by their names in other toolkits."""
_FAMILIES = ("rnn", "transformer")


def preset_names() -> list[str]:
    """Return the names of the presets, sorted."""
    return sorted(entry.name.removesuffix(".toml") for entry in _PRESETS.iterdir() if entry.name.endswith(".toml"))


def load_config(source: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Load a configuration from a file or a preset, and apply ``a.b=c`` overrides."""
    if isinstance(overrides, str):
        raise ConfigError(f"overrides must be a list, got text; write [{overrides!r}]")
    name = str(source)
    is_preset = name in preset_names() or not (name.endswith(".toml") or os.path.isfile(name))  # noqa: PTH113 -- see below
    # os.path.isfile returns False for illegal file names, where Path.is_file raises.
    table = _read_preset(name, "the configuration", ()) if is_preset else _read_file(Path(name), ())
    table = _with_overrides(table, overrides)
    return parse_config(_with_start_model(table, Path() if is_preset else Path(name).parent))


def parse_config(table: Mapping[str, Any], overrides: Sequence[str] = ()) -> Config:
    """Validate settings whose ``extends`` is resolved, and apply overrides."""
    merged = _with_overrides(table, overrides)
    try:
        return Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError("\n".join(dict.fromkeys(map(_explain_one, error.errors())))) from None


def to_toml(config: Config) -> str:
    """Return the complete configuration as TOML, readable by `load_config`."""
    lines: list[str] = []
    _write_table(config.model_dump(exclude_none=True), (), lines)
    return "\n".join(lines).strip() + "\n"


def file_schema() -> Table:
    """Return the JSON Schema of configuration files, for editors. No key is required: a file may extend another."""
    schema = Config.model_json_schema()
    for table in (schema, *schema["$defs"].values()):
        table.pop("required", None)
    model = schema["properties"]["model"]
    model["anyOf"] = model.pop("oneOf")  # a table without its family may match both
    model.pop("discriminator")
    extends = {"type": "string", "description": "Start from this preset, or from this .toml file in the same folder."}
    schema["properties"] = {"extends": extends, **schema["properties"]}
    return schema


def find_setting(name: str) -> str:
    """Return the setting of the configuration with this name: ``training.max_updates``; empty if there is none."""
    name = _OTHER_NAMES.get(name, name)
    for section in _PLAIN_SECTIONS:
        annotation: Any = Config.model_fields[section].annotation
        settings: Any = next(iter(get_args(annotation)), annotation)  # of an optional section, the first is its class
        if name in settings.model_fields:
            return f"{section}.{name}"
    return ""


def _read_file(path: Path, seen: tuple[str, ...]) -> Table:
    missing = f"the configuration must be a file or a preset, got {path}; there is no such file"
    fix = "check the file and its permissions"
    text = read_toml_text(path, f"the configuration {path}", missing=missing, fix=fix)
    return _parse(text, str(path.resolve()), path.parent, seen)


def _read_preset(name: str, asked_by: str, seen: tuple[str, ...]) -> Table:
    names = preset_names()
    if name not in names:
        raise ConfigError(
            f"{asked_by} must be a .toml file or a preset, got {name}{did_you_mean(name, names, otherwise='presets')}"
        )
    return _parse((_PRESETS / f"{name}.toml").read_text(encoding="utf-8"), name, None, seen)


def _parse(text: str, name: str, folder: Path | None, seen: tuple[str, ...]) -> Table:
    """Return the settings of one file, merged into those it extends."""
    if name in seen:
        raise ConfigError(f"extends must not be circular, got {' → '.join((*seen, name))}; change one of them")
    if len(seen) > _MAX_EXTENDS:
        raise ConfigError(f"extends goes through more than {_MAX_EXTENDS} files, from {seen[0]}; merge some")
    fix = (
        "correct it there" if folder is None or name.endswith(".toml") else "name a .toml file, as dragoman new writes"
    )
    table = parse_toml(text, f"the configuration {name}", fix)
    base = table.pop("extends", None)
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f"extends must be a string, got {base!r}; name a preset, or a .toml file in the same folder")
    seen = (*seen, name)
    if base.endswith(".toml") and folder is not None:
        under = _read_file(folder / base, seen)
    else:
        under = _read_preset(base, "extends", seen)
    under.pop("description", None)  # describes the base only
    return _merge(under, table)


def _with_overrides(table: Mapping[str, Any], overrides: Sequence[str]) -> Table:
    merged = dict(table)
    for override in overrides:
        merged = _merge(merged, _read_override(override))
    return merged


def _with_start_model(table: Table, folder: Path) -> Table:
    """Return the settings with the model of ``start.bundle``, if they have one and no model family."""
    start, model = table.get("start"), table.get("model", {})
    if not isinstance(start, dict) or not isinstance(model, dict) or "family" in model:
        return table
    bundle = start.get("bundle")
    if not isinstance(bundle, str):
        return table
    under = read_bundle_model(folder / bundle)
    return {**table, "model": _merge(under, model)}


def _merge(under: Table, over: Mapping[str, Any]) -> Table:
    """Merge `over` into `under`, table by table; another model family starts from an empty table."""
    merged = dict(under)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping) and not _other_family(old, value):
            merged[key] = _merge(old, value)
        else:
            merged[key] = value
    return merged


def _other_family(under: Table, over: Mapping[str, Any]) -> bool:
    return "family" in over and over["family"] != under.get("family")


def _read_override(override: str) -> Table:
    """Return ``a.b=c`` as nested tables; c is a TOML value, or else a string."""
    path, equals, text = override.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ConfigError(
            f"--set must be of the form section.setting=value, got {override!r}; for instance model.dropout=0.3"
        )
    try:
        read = parse_toml(f"value = {text}", path)
    except ConfigError:
        read = {}
    value = read["value"] if list(read) == ["value"] else text.strip()
    for key in reversed(keys):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def _explain_one(fault: Mapping[str, Any]) -> str:
    place = [str(part) for part in fault["loc"]]  # in a list: its name, then a number from 0
    if len(place) > 1 and place[0] == "model" and place[1] in _FAMILIES:
        del place[1]  # pydantic names the branch of the union; the file does not
    name, kind, value = ".".join(place), fault["type"], fault["input"]
    if kind == "extra_forbidden" and (meant := find_setting(place[-1])):
        return f"{name} is no known setting; did you mean {meant}?"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        got = value.get("family") if isinstance(value, dict) else value
        return f"{name}.family must be one of {', '.join(_FAMILIES)}, got {got!r}{did_you_mean(str(got), _FAMILIES)}"
    if kind == "missing":
        return f'{name} is missing; start from a preset with extends = "…", or write it out'
    return setting_message(fault, name, Config)


def _write_table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str], brackets: str = "[]") -> None:
    plain = {key: value for key, value in table.items() if not _is_tables(value)}
    if path and (plain or brackets != "[]"):
        opening, closing = brackets[: len(brackets) // 2], brackets[len(brackets) // 2 :]
        lines.append(f"\n{opening}{'.'.join(path)}{closing}")
    lines.extend(f"{key} = {_toml_value(value)}" for key, value in plain.items())
    for key, value in table.items():
        if isinstance(value, Mapping):
            _write_table(value, (*path, key), lines)
        elif _is_tables(value):
            for entry in value:
                _write_table(entry, (*path, key), lines, "[[]]")


def _is_tables(value: object) -> bool:
    """Return whether a value is written as a table, or as several."""
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # a JSON string is a TOML string, except for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(entry) for entry in value)}]"
    assert isinstance(value, int | float)
    return repr(value)


def read_bundle_model(bundle: Path) -> dict[str, Any]:
    """Return the table ``[model]`` of the folder of a bundle; nothing else of the bundle is read or verified."""
    if bundle.is_file():
        raise ConfigError(f"start.bundle must be the folder of a bundle, got the file {bundle}; unpack an archive")
    path = bundle / PROJECT
    missing, fix = f"start.bundle must be a bundle, got {bundle}; there is no {path}", "name another bundle"
    model = parse_toml(read_toml_text(path, str(path), missing=missing, fix=fix), str(path), fix).get("model")
    if not isinstance(model, dict) or "family" not in model:
        raise ConfigError(f"{path} has no section [model] with a family; name the folder of a bundle")
    return model
