"""Derive Typer options from pydantic settings: one option per field, with its type, default and docstring."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dragoman.cli.console import report_errors
from dragoman.config.base import Cli
from dragoman.config.options_environment_toml import flag_name, leaf_fields, nested, parse_text, types_in
from dragoman.config.validation_errors import validate

__all__ = ["default_text", "described_fields", "help_text", "settings_options"]

Command = Callable[..., None]

_MAX_METAVAR = 17  # columns; longer lists of choices are part of the help text

_METAVARS = {int: "INT", float: "FLOAT"}


@dataclass(frozen=True)
class _Option:
    """One derived option: the settings parameter it belongs to, the path of its field, and its Typer parameter."""

    slot: str
    path: str
    field: FieldInfo
    parameter: inspect.Parameter

    def value(self, given: Any) -> Any:
        """Convert the value from Typer to the type of the field."""
        if isinstance(given, list):
            parts = tuple(part for text in given for part in parse_text(text, self.field.annotation))
            return parts if given else None
        return parse_text(given, self.field.annotation) if isinstance(given, str) else given


def settings_options(
    *, exclude: Collection[str] = (), unvalidated: Collection[str] = (), **models: type[BaseModel]
) -> Callable[[Command], Command]:
    """Replace each parameter named in `models` by one option per field, and pass the validated settings.

    Fields in `exclude` get no option and keep their defaults. A parameter in `unvalidated` receives the given values by
    dotted path instead, for `config.options_environment_toml.load_settings`; its boolean options can be negated.
    """

    def decorate(command: Command) -> Command:
        options = [
            _Option(slot, path, field, _parameter(path, field, cli, negatable=slot in unvalidated))
            for slot, model in models.items()
            for path, (field, cli) in described_fields(model).items()
            if path not in exclude
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            values: dict[str, dict[str, Any]] = {slot: {} for slot in models}
            for option in options:
                value = option.value(given.pop(option.parameter.name))
                if value is not None:
                    values[option.slot][option.path] = value
            with report_errors():
                settings = {
                    slot: values[slot] if slot in unvalidated else _build(model, values[slot])
                    for slot, model in models.items()
                }
            command(**given, **settings)

        own = inspect.signature(command, eval_str=True).parameters.values()
        kept = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name not in models]
        signature = inspect.Signature([*kept, *(option.parameter for option in options)])
        run.__signature__ = signature  # type: ignore[attr-defined]
        run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
        return run

    return decorate


def described_fields(model: type[BaseModel]) -> Mapping[str, tuple[FieldInfo, Cli]]:
    """Return the fields of settings by dotted path, with their command-line metadata."""
    found = {}
    for path, field in leaf_fields(model):
        cli, parent = _cli(field), path.partition(".")[0]
        found[path] = (field, replace(cli, panel=cli.panel or _cli(model.model_fields[parent]).panel))
    return found


def help_text(field: FieldInfo) -> str:
    """Return the docstring of a field on one line."""
    return " ".join((field.description or "").split())


def default_text(field: FieldInfo) -> str:
    """Return the default of a field as users write it; empty if it has none."""
    default = field.default
    if text := _cli(field).default:
        return text
    if default is None or default == () or default is False:
        return ""
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return "yes" if default is True else f"{default:g}" if isinstance(default, float) else str(default)


def _cli(field: FieldInfo) -> Cli:
    return next((each for each in field.metadata if isinstance(each, Cli)), Cli())


def _build(model: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    return validate(model, nested(values), flag_name, hint="see --help")


def _parameter(path: str, field: FieldInfo, cli: Cli, *, negatable: bool) -> inspect.Parameter:
    flag, kind = flag_name(path), _plain_type(field)
    choices = _choices(field)
    metavar, help_ = cli.metavar or "|".join(choices) or _METAVARS.get(kind, "TEXT"), help_text(field)
    if len(metavar) > _MAX_METAVAR and choices:
        metavar, help_ = "NAME", f"{help_} One of {', '.join(choices)}."
    if kind is bool:
        metavar = ""
        flag = f"{flag}/--no-{flag[2:]}" if field.default or negatable else flag
    default = default_text(field)
    option = typer.Option(
        flag,
        help=f"{help_} [default: {default}]" if default else help_,
        metavar=metavar,
        show_default=False,
        rich_help_panel=cli.panel or None,
        autocompletion=(lambda: choices) if choices else None,
    )
    annotation = Annotated[kind | None, option]  # type: ignore[valid-type]
    name = path.replace(".", "_")
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _plain_type(field: FieldInfo) -> Any:
    """Return the type that Typer parses; text for what only the settings can parse."""
    annotation = field.annotation
    if get_origin(annotation) is tuple and Ellipsis in get_args(annotation):
        return list[str]
    kinds = types_in(annotation) - {type(None)}
    return kinds.pop() if len(kinds) == 1 and kinds <= {bool, int, float} else str


def _choices(field: FieldInfo) -> list[str]:
    """Return the legal values of a field that has no others."""
    literals = [each for each in (field.annotation, *get_args(field.annotation)) if get_origin(each) is Literal]
    if types_in(field.annotation) - {type(None)} != {Literal}:
        return []
    return [str(value) for each in literals for value in get_args(each)]
