"""Load settings from command-line options, environment variables and a TOML file; options win, the file is last."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from inspect import isclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dragoman.config.base import parse_toml, read_toml_text
from dragoman.config.validation_errors import validate
from dragoman.errors import ConfigError, did_you_mean

PREFIX = "DRAGOMAN_"

Model = TypeVar("Model", bound=BaseModel)
PathTables = dict[str, dict[str, str]]
"""Tables of paths in a file, by name."""

_OTHER_VARIABLES = frozenset(
    {
        *("BROWSER", "CHROMIUM", "COMET_PYTHON", "CACHE", "CATALOG", "MODELS", "OFFLINE"),
        *("ARGOS_INDEX", "FIREFOX_ATTACHMENTS", "FIREFOX_RECORDS", "FIREFOX_REGISTRY"),
        *("BEARTYPE", "CI_CACHE", "CORPORA", "HYPOTHESIS", "PAGE_CHECKED", "TEST_WORKERS", "TUTORIAL"),
    }
)
"""Variables of other parts of Dragoman and of its tests."""
_KUBERNETES_VARIABLE = re.compile(r"SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_\w+")
_BOOLEANS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
_PARSERS: Mapping[type, Callable[[str], Any]] = {bool: lambda text: _BOOLEANS[text.lower()], int: int, float: float}


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
    path_settings: tuple[str, ...] = (),
    hint: str = "",
) -> tuple[Model, PathTables]:
    """Combine flags by dotted path (None: not given), ``DRAGOMAN_*`` variables and a TOML file.

    Returns the settings, and those tables of the file that are named in `path_tables`; they and `path_settings` have
    paths relative to the file. Errors name the origin of a value; `hint` is the fix.
    """
    table = {} if file is None else _read_file(file)
    paths = {name: _paths(file, name, table.pop(name)) for name in path_tables if file and name in table}
    values = dict(_leaves(table))
    for name in path_settings:
        if file is not None and isinstance(values.get(name), str):
            values[name] = str(file.parent / values[name])
    places = {name: f"{file}: {name}" for name in values}
    given_flags = {name: value for name, value in flags.items() if value is not None}
    for origin, given in ((variable, _from_environ(environ, dict(leaf_fields(model)))), (flag_name, given_flags)):
        values |= given
        places |= {name: origin(name) for name in given}
    return validate(model, nested(values), lambda name: places.get(name, name), hint=hint), paths


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted path as nested tables."""
    tables: dict[str, Any] = {}
    for path, value in values.items():
        *parents, name = path.split(".")
        table: Any = tables
        for parent in parents:
            table = table.setdefault(parent, {})
            if not isinstance(table, dict):
                break  # `limits = 3` in the file; validation rejects it
        else:
            table[name] = value
    return tables


def parse_text(text: str, annotation: Any) -> Any:
    """Convert text to the type of a setting; text that is no such value is returned, and validation rejects it."""
    if is_list(annotation):
        return tuple(part.strip() for part in text.split(",") if part.strip())
    kinds = types_in(annotation)
    for kind, parse in _PARSERS.items():
        if kind in kinds:
            with suppress(ValueError, KeyError):
                return parse(text)
    return text


def is_list(annotation: Any) -> bool:
    """Whether a setting has any number of values, which are separated by commas in text."""
    return get_origin(annotation) is tuple and Ellipsis in get_args(annotation)


def types_in(annotation: Any) -> set[Any]:
    """Return the types in ``Annotated[int, …] | None`` and the like; a `Literal` counts as `Literal`."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return types_in(parts[0])
    if origin in (Union, UnionType):
        return set().union(*map(types_in, parts))
    return {Literal if origin is Literal else origin or annotation}


def _read_file(path: Path) -> dict[str, Any]:
    name, missing = f"--config {path}", f"--config must be a TOML file, got {path}; there is no such file"
    return parse_toml(read_toml_text(path, name, missing=missing, fix="correct it there"), name)


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables by dotted path; lists become tuples, as in settings."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, tuple(value) if isinstance(value, list) else value


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
            raise ConfigError(
                f"{name} is no known variable{did_you_mean(name, by_variable, prefix=PREFIX) or '; unset it'}"
            )
        if text.startswith("tcp://"):
            raise ConfigError(
                f"{name} must be a number, got {text!r}, which Kubernetes sets for a Service of this name; write "
                "enableServiceLinks: false in the pod"
            )
        found[by_variable[name]] = parse_text(text, known[by_variable[name]].annotation)
    return found
