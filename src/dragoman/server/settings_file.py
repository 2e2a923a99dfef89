"""Settings from flags, ``DRAGOMAN_*`` variables and a TOML file, in this order, and faults told by where they stand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from dragoman.errors import ConfigError
from dragoman.server.faults import did_you_mean, said
from dragoman.server.settings import Limits, ServerSettings

__all__ = ["Gathered", "PREFIX", "gather", "setting_names"]

PREFIX = "DRAGOMAN_"

_OTHERS = frozenset(
    {
        *("BROWSER", "CHROMIUM", "COMET_PYTHON", "EXPORT_KEY_FILE"),
        *("BEARTYPE", "CI_CACHE", "CORPORA", "HYPOTHESIS", "PAGE_CHECKED", "TEST_WORKERS"),
    }
)
"""Variables that other parts of Dragoman read, and those that its tests do."""
_OF_KUBERNETES = re.compile(r"SERVICE_(HOST|PORT)(_\w+)?|PORT_\d+_\w+")
_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


@dataclass(frozen=True)
class Gathered:
    """The settings, and the bundles that the file names."""

    settings: ServerSettings
    bundles: dict[str, str] = field(default_factory=dict)


def setting_names() -> dict[str, Any]:
    """Every setting by its name, ``limits.texts`` and the like among them, with its type."""
    own = {name: field.annotation for name, field in ServerSettings.model_fields.items() if name != "limits"}
    return own | {f"limits.{name}": field.annotation for name, field in Limits.model_fields.items()}


def gather(flags: Mapping[str, Any], environ: Mapping[str, str], file: Path | None) -> Gathered:
    """Settings of all three places; `flags` are by the names of `setting_names`, and None where they were not given."""
    values, places = ({}, {}) if file is None else _from_file(file)
    bundles = values.pop("bundles", {})
    for name, value in _from_environ(environ).items():
        values[name], places[name] = value, f"{PREFIX}{name.replace('.', '_').upper()}"
    for name, value in flags.items():
        if value is not None:
            values[name], places[name] = value, f"--{name.replace('.', '-').replace('_', '-')}"
    return Gathered(_checked(values, places), bundles)


def _from_file(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"--config must be a TOML file, got {path}; there is no such file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} must be valid TOML, got: {error}; mend it there") from None
    bundles = table.pop("bundles", {})
    if not isinstance(bundles, dict) or not all(isinstance(value, str) for value in bundles.values()):
        raise ConfigError(
            f'{path}: bundles must be a table of paths, got another thing; write name = "folder" below it'
        )
    folder = path.parent
    limits = table.pop("limits", {})
    if not isinstance(limits, dict):
        raise ConfigError(f"{path}: limits must be a table, got {limits!r}; write [limits] and its settings below")
    values = table | {f"limits.{name}": value for name, value in limits.items()}
    for name in values:
        if name not in setting_names():
            raise ConfigError(f"{path}: {name} must be a known setting, got an unknown one{_near(name)}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return (
        values | {"bundles": {name: str(folder / place) for name, place in bundles.items()}},
        {name: f"{path}: {name}" for name in values},
    )


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    by_variable = {name.replace(".", "_").upper(): name for name in setting_names()}
    found = {}
    for variable, text in environ.items():
        word = variable.removeprefix(PREFIX)
        if word == variable or word in _OTHERS or _OF_KUBERNETES.fullmatch(word):
            continue
        name = by_variable.get(word)
        if name is None:
            raise ConfigError(
                f"{variable} must be a known variable, got an unknown one{_near(word.lower(), variable=True)}"
            )
        found[name] = _read(text, name, variable)
    return found


def _read(text: str, name: str, variable: str) -> Any:
    """A variable's value by the type of its setting; a number that is none is left for the check to tell of."""
    kind = setting_names()[name]
    kinds = _kinds_in(kind)
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise ConfigError(f"{variable} must be true or false, got {text!r}; write one of them")
        return _TRUTH[text.lower()]
    if get_origin(kind) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if name == "port" and text.startswith("tcp://"):
        raise ConfigError(
            f"{variable} must be a port, got {text!r}, which Kubernetes sets for a Service of this name; write "
            "enableServiceLinks: false in the pod"
        )
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                continue
    return text


def _kinds_in(kind: Any) -> set[Any]:
    """The types inside of ``Annotated[int, …] | None`` and the like."""
    inside = get_args(kind)
    return {kind} if not inside else set().union(*map(_kinds_in, inside))


def _checked(values: Mapping[str, Any], places: Mapping[str, str]) -> ServerSettings:
    table: dict[str, Any] = {name: value for name, value in values.items() if "." not in name}
    table["limits"] = {
        name.removeprefix("limits."): value for name, value in values.items() if name.startswith("limits.")
    }
    try:
        return ServerSettings.model_validate(table)
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"] if isinstance(part, str))
        raise ConfigError(f"{said(fault, places.get(name, name))}; dragoman serve --help tells more") from None


def _near(name: str, *, variable: bool = False) -> str:
    known: type[BaseModel] = Limits if name.startswith("limits.") else ServerSettings
    if not variable:
        legal = [f"limits.{one}" if known is Limits else one for one in known.model_fields]
        return did_you_mean(name, legal)
    legal = [one.replace(".", "_") for one in setting_names()]
    hint = did_you_mean(name, legal)
    if "did you mean" not in hint:
        return "; unset it, or see dragoman serve --help"
    return f"; did you mean {PREFIX}{hint.removeprefix('; did you mean ').rstrip('?').upper()}?"
