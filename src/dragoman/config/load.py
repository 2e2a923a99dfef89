"""From a TOML file or a preset's name to a checked `Config`; and errors that say how to mend it."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from dragoman.config.schema import Config, RnnConfig, TransformerConfig
from dragoman.errors import ConfigError

__all__ = ["file_schema", "load_config", "parse_config", "preset_names", "to_toml"]

Table = dict[str, Any]

_DEEPEST = 32
_PRESETS = resources.files("dragoman.config") / "presets"


def preset_names() -> list[str]:
    """The names of the shipped presets, in order."""
    return sorted(entry.name.removesuffix(".toml") for entry in _PRESETS.iterdir() if entry.name.endswith(".toml"))


def load_config(source: str | Path, overrides: Sequence[str] = ()) -> Config:
    """The configuration in a file, or of a preset named `source`, with ``a.b=c`` overrides on top."""
    name = str(source)
    is_preset = name in preset_names() or not (name.endswith(".toml") or os.path.isfile(name))  # noqa: PTH113 -- see below
    # os.path.isfile answers False where Path.is_file raises, for a name no file could have.
    table = _read_preset(name, "the configuration", ()) if is_preset else _read_file(Path(name), ())
    return parse_config(table, overrides)


def parse_config(table: Mapping[str, Any], overrides: Sequence[str] = ()) -> Config:
    """A checked configuration from settings already read (their ``extends`` resolved)."""
    merged = dict(table)
    for override in overrides:
        merged = _merge(merged, _read_override(override))
    try:
        return Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError(_explain(error, merged)) from None


def to_toml(config: Config) -> str:
    """The configuration written out in full, readable by `load_config`."""
    lines: list[str] = []
    _write_table(config.model_dump(exclude_none=True), (), lines)
    return "\n".join(lines).strip() + "\n"


def file_schema() -> Table:
    """The JSON Schema of a configuration *file*, for editors: it may extend another and then leave anything out."""
    schema = Config.model_json_schema()
    for table in (schema, *schema["$defs"].values()):
        table.pop("required", None)
    model = schema["properties"]["model"]
    model["anyOf"] = model.pop("oneOf")  # without its family a table of settings may fit either
    model.pop("discriminator")
    extends = {"type": "string", "description": "Start from this preset, or from this .toml file beside this one."}
    schema["properties"] = {"extends": extends, **schema["properties"]}
    return schema


def _read_file(path: Path, seen: tuple[str, ...]) -> Table:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"the configuration must be a file or a preset, got {path}; there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} must be a readable UTF-8 file, got: {error}; mend the file or its permissions"
        ) from None
    return _parse(text, str(path.resolve()), path.parent, seen)


def _read_preset(name: str, asked_by: str, seen: tuple[str, ...]) -> Table:
    names = preset_names()
    if name not in names:
        raise ConfigError(
            f"{asked_by} must be a .toml file or one of the presets {', '.join(names)}, "
            f"got {name}{_did_you_mean(name, names)}"
        )
    return _parse((_PRESETS / f"{name}.toml").read_text(encoding="utf-8"), name, None, seen)


def _parse(text: str, name: str, folder: Path | None, seen: tuple[str, ...]) -> Table:
    """The settings of one file on top of those it extends."""
    if name in seen:
        raise ConfigError(f"extends must not go in a circle, got {' → '.join((*seen, name))}; leave one of them out")
    if len(seen) > _DEEPEST:
        raise ConfigError(f"extends must go through at most {_DEEPEST} files, got more, from {seen[0]}; join some")
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name} must be valid TOML, got: {error}; mend it there") from None
    base = table.pop("extends", None)
    if base is None:
        return table
    if not isinstance(base, str):
        raise ConfigError(f"extends must be a string, got {base!r}; name a preset, or a .toml file beside this one")
    seen = (*seen, name)
    if base.endswith(".toml") and folder is not None:
        under = _read_file(folder / base, seen)
    else:
        under = _read_preset(base, "extends", seen)
    under.pop("description", None)  # it says what the base is
    return _merge(under, table)


def _merge(under: Table, over: Mapping[str, Any]) -> Table:
    """`over` on top of `under`, table by table; another model family starts from an empty model table."""
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
    """``a.b=c`` as nested tables; c is a TOML value, or a plain string where it is not one."""
    path, equals, text = override.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ConfigError(
            f"--set must be of the form section.setting=value, got {override!r}; for instance model.dropout=0.3"
        )
    try:
        read = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        read = {}
    value = read["value"] if list(read) == ["value"] else text.strip()
    for key in reversed(keys):
        value = {key: value}
    assert isinstance(value, dict)
    return value


_FAMILIES = {"rnn": RnnConfig, "transformer": TransformerConfig}


def _explain(error: ValidationError, table: Table) -> str:
    """One line a fault: `<setting> must be <rule>, got <value>; <mend>`."""
    return "\n".join(dict.fromkeys(_explain_one(fault, table) for fault in error.errors()))


def _explain_one(fault: Mapping[str, Any], table: Table) -> str:
    place = [str(part) for part in fault["loc"]]  # of a list: its name, then a number from 0
    if len(place) > 1 and place[0] == "model" and place[1] in _FAMILIES:
        del place[1]  # pydantic names the branch of the union; the file does not
    name, kind, value, context = ".".join(place), fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        siblings = _settings_beside(place, table)
        mend = _did_you_mean(place[-1], siblings) or f"; known here: {', '.join(siblings)}"
        return f"{name} must be a known setting, got an unknown one{mend}"
    if kind == "literal_error":
        legal = [part.strip().strip("'") for part in context["expected"].replace(" or ", ", ").split(",")]
        return f"{name} must be one of {', '.join(legal)}, got {value!r}{_did_you_mean(str(value), legal)}"
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        got = value.get("family") if isinstance(value, dict) else value
        names = list(_FAMILIES)
        return f"{name}.family must be one of {', '.join(names)}, got {got!r}{_did_you_mean(str(got), names)}"
    if kind in ("model_type", "model_attributes_type"):
        return f"{name} must be a table of settings, got {value!r}; write [{name}] and its settings below"
    if kind == "missing":
        return f'{name} must be given, got nothing; start from a preset with extends = "…", or write it out'
    rule = str(fault["msg"]).removeprefix("Input should be ").replace("a valid integer", "a whole number")
    return f"{name} must be {rule.replace('a valid ', 'a ')}, got {value!r}"


def _settings_beside(place: Sequence[str], table: Table) -> list[str]:
    """The legal names at the place of an unknown setting."""
    schema: Any = Config
    for key in place[:-1]:
        if key == "model":
            model = table.get("model")
            schema = _FAMILIES[model["family"] if isinstance(model, dict) else "rnn"]
        elif not key.isdigit():  # a number is a place in a list, whose settings are those of all its entries
            schema = _table_in(schema.model_fields[key].annotation)
    return list(schema.model_fields)


def _table_in(annotation: Any) -> Any:
    """The table of settings inside ``Table``, ``Table | None`` and ``list[Table]``."""
    inside = [_table_in(part) for part in get_args(annotation)]
    return next((table for table in inside if hasattr(table, "model_fields")), annotation)


def _did_you_mean(name: str, legal: Iterable[str]) -> str:
    known = list(legal)
    close = get_close_matches(name, known, n=1) or [other for other in known if other.startswith(f"{name}-")]
    return f"; did you mean {' or '.join(close)}?" if close else ""


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
    """Whether a value is written as a table of its own, or as several."""
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value) and isinstance(value[0], Mapping))


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # a JSON string is a TOML string, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(_toml_value(entry) for entry in value)}]"
    assert isinstance(value, int | float)
    return repr(value)
