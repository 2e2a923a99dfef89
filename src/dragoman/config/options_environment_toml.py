"""Load settings from command-line options, environment variables and a TOML file; options win, the file is last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import isclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dragoman.config.parse_toml import parse_toml, read_toml_text
from dragoman.config.validation_errors import did_you_mean, validate
from dragoman.errors import ConfigError

__all__ = [
    "LoadedSettings",
    "PREFIX",
    "flag_name",
    "leaf_fields",
    "load_settings",
    "nested",
    "parse_text",
    "types_in",
    "variable",
]

PREFIX = "DRAGOMAN_"

Model = TypeVar("Model", bound=BaseModel)

_OTHER_VARIABLES = frozenset(
    {
        *("BROWSER", "CHROMIUM", "COMET_PYTHON", "EXPORT_KEY_FILE"),
        *("BEARTYPE", "CI_CACHE", "CORPORA", "HYPOTHESIS", "PAGE_CHECKED", "TEST_WORKERS", "TUTORIAL"),
    }
)
"""Variables of other parts of Dragoman and of its tests."""
_KUBERNETES_VARIABLE = re.compile(r"SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_\w+")
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


@dataclass(frozen=True)
class LoadedSettings(Generic[Model]):
    """Settings, and the tables of paths in the file."""

    settings: Model
    paths: dict[str, dict[str, str]] = field(default_factory=dict)


def leaf_fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield all fields by their dotted paths; nested models are flattened."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isclass(kind) and issubclass(kind, BaseModel):
            yield from leaf_fields(kind, f"{prefix}{name}.")
        else:
            yield prefix + name, info


def flag_name(path: str) -> str:
    """Return the command-line option of a setting: ``limits.body_bytes`` -> ``--limits-body-bytes``."""
    return "--" + path.replace(".", "-").replace("_", "-")


def variable(path: str) -> str:
    """Return the environment variable of a setting: ``limits.texts`` -> ``DRAGOMAN_LIMITS_TEXTS``."""
    return PREFIX + path.replace(".", "_").upper()


def load_settings(
    model: type[Model],
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    file: Path | None,
    *,
    path_tables: tuple[str, ...] = (),
    hint: str = "",
) -> LoadedSettings[Model]:
    """Combine flags by dotted path (None: not given), ``DRAGOMAN_*`` variables and a TOML file.

    `path_tables` are tables of paths in the file, relative to it. Errors name the origin of a value; `hint` is the fix.
    """
    known = dict(leaf_fields(model))
    values, places, paths = _from_file(file, known, path_tables)
    for name, value in _from_environ(environ, known).items():
        values[name], places[name] = value, variable(name)
    for name, value in flags.items():
        if value is not None:
            values[name], places[name] = value, flag_name(name)
    settings = validate(model, nested(values), lambda name: places.get(name, name), hint=hint)
    return LoadedSettings(settings, paths)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted path as nested tables."""
    tables: dict[str, Any] = {}
    for path, value in values.items():
        *parents, name = path.split(".")
        table = tables
        for parent in parents:
            table = table.setdefault(parent, {})
        table[name] = value
    return tables


def _from_file(
    path: Path | None, known: Mapping[str, FieldInfo], path_tables: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, str], dict[str, dict[str, str]]]:
    """Return values and places by dotted path, and the tables of paths."""
    if path is None:
        return {}, {}, {}
    try:
        text = read_toml_text(path)
    except FileNotFoundError:
        raise ConfigError(f"--config must be a TOML file, got {path}; there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config {path} must be a readable UTF-8 file, got: {error}; correct it there") from None
    table = parse_toml(text, f"--config {path}")
    paths = {name: _paths(path, name, table.pop(name)) for name in path_tables if name in table}
    values: dict[str, Any] = {}
    for name, value in table.items():
        if not any(one.startswith(f"{name}.") for one in known):
            values[name] = tuple(value) if isinstance(value, list) else value
        elif isinstance(value, dict):
            values |= {f"{name}.{key}": tuple(each) if isinstance(each, list) else each for key, each in value.items()}
        else:
            raise ConfigError(f"{path}: {name} must be a table, got {value!r}; write [{name}] and its settings below")
    for name in values:
        if name not in known:
            siblings = [one for one in known if one.rpartition(".")[0] == name.rpartition(".")[0]]
            hint = did_you_mean(name, siblings, otherwise="known")
            raise ConfigError(f"{path}: {name} must be a known setting, got an unknown one{hint}")
    return values, {name: f"{path}: {name}" for name in values}, paths


def _paths(file: Path, name: str, table: Any) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise ConfigError(
            f'{file}: {name} must be a table of paths, got {table!r}; write name = "folder" below [{name}]'
        )
    return {key: str(file.parent / path) for key, path in table.items()}


def _from_environ(environ: Mapping[str, str], known: Mapping[str, FieldInfo]) -> dict[str, Any]:
    by_variable = {variable(name): name for name in known}
    found = {}
    for name, text in environ.items():
        word = name.removeprefix(PREFIX)
        if word == name or word in _OTHER_VARIABLES or _KUBERNETES_VARIABLE.fullmatch(word):
            continue
        if name not in by_variable:
            near = did_you_mean(word, [one.removeprefix(PREFIX) for one in by_variable])
            hint = near.replace("did you mean ", f"did you mean {PREFIX}") or "; unset it"
            raise ConfigError(f"{name} must be a known variable, got an unknown one{hint}")
        found[by_variable[name]] = _from_variable(text, known[by_variable[name]].annotation, name)
    return found


def _from_variable(text: str, annotation: Any, name: str) -> Any:
    if annotation is bool:
        if text.lower() not in _BOOLEANS:
            raise ConfigError(f"{name} must be true or false, got {text!r}; write one of them")
        return _BOOLEANS[text.lower()]
    if int in types_in(annotation) and text.startswith("tcp://"):
        raise ConfigError(
            f"{name} must be a number, got {text!r}, which Kubernetes sets for a Service of this name; write "
            "enableServiceLinks: false in the pod"
        )
    return parse_text(text, annotation)


def parse_text(text: str, annotation: Any) -> Any:
    """Convert text to the type of a setting; text that is no such number is returned, and validation rejects it."""
    if get_origin(annotation) is tuple and Ellipsis in get_args(annotation):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    kinds = types_in(annotation)
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                continue
    return text


def types_in(annotation: Any) -> set[Any]:
    """Return the types in ``Annotated[int, …] | None`` and the like; a `Literal` counts as `Literal`."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {Literal}
    if origin is Annotated:
        return types_in(parts[0])
    if origin in (Union, UnionType):
        return set().union(*map(types_in, parts))
    return {annotation if origin is None else origin}
