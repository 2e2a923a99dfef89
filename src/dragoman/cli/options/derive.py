"""Derive Typer options from pydantic settings: one option per field, with its type, default and docstring."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dragoman.cli.console import report_errors, see_help
from dragoman.config.base import Cli
from dragoman.config.settings_sources import flag_name, is_list, leaf_fields, nested, parse_text, types_in
from dragoman.config.validation_errors import SettingError, validate
from dragoman.errors import ConfigError

Command = Callable[..., None]

_MAX_METAVAR = 17  # columns; longer lists of choices are part of the help text


def settings_options(
    *, exclude: Collection[str] = (), unvalidated: Collection[str] = (), **models: type[BaseModel]
) -> Callable[[Command], Command]:
    """Replace each parameter named in `models` by one option per field, and pass the validated settings.

    Fields in `exclude` get no option and keep their defaults. A parameter in `unvalidated` receives the given values by
    dotted path instead, for `config.settings_sources.load_settings`; its boolean options can be negated.
    """

    def decorate(command: Command) -> Command:
        fields = [
            (slot, path, field, cli)
            for slot, model in models.items()
            for path, (field, cli) in described_fields(model).items()
            if path not in exclude
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            values: dict[str, dict[str, Any]] = {slot: {} for slot in models}
            for slot, path, field, _ in fields:
                text = given.pop(path.replace(".", "_"))
                if text is not None and text != []:
                    text = ",".join(text) if isinstance(text, list) else text
                    values[slot][path] = parse_text(text, field.annotation) if isinstance(text, str) else text
            with report_errors():
                settings = {
                    slot: values[slot]
                    if slot in unvalidated
                    else validate(model, nested(values[slot]), flag_name, hint=see_help())
                    for slot, model in models.items()
                }
            command(**given, **settings)

        own = inspect.signature(command, eval_str=True).parameters.values()
        kept = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each.name not in models]
        options = [_parameter(path, field, cli, negatable=slot in unvalidated) for slot, path, field, cli in fields]
        run.__signature__ = inspect.Signature([*kept, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*kept, *options)}
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


@contextmanager
def named_as_typed(*names: str) -> Iterator[None]:
    """Replace the name of a setting at the start of an error message by its option: ``engine`` -> ``--engine``."""
    try:
        yield
    except SettingError as error:
        raise ConfigError(error.named(flag_name)) from None
    except ConfigError as error:
        message = str(error).removeprefix("the ")
        for name in sorted(names, key=len, reverse=True):
            for start in (name, name.replace("_", " ")):  # "backward layer must be …"
                if message.startswith(f"{start} "):
                    raise ConfigError(flag_name(name) + message.removeprefix(start)) from None
        raise


def _cli(field: FieldInfo) -> Cli:
    return next((each for each in field.metadata if isinstance(each, Cli)), Cli())


def _parameter(path: str, field: FieldInfo, cli: Cli, *, negatable: bool) -> inspect.Parameter:
    """Return the option of a field. Typer parses flags only: validation has the better messages for other values."""
    flag, help_, choices = flag_name(path), help_text(field), _choices(field)
    types = types_in(field.annotation)
    metavar = cli.metavar or "|".join(choices) or ("INT" if int in types else "FLOAT" if float in types else "TEXT")
    if len(metavar) > _MAX_METAVAR and choices:
        metavar, help_ = "NAME", f"{help_} One of {', '.join(choices)}."
    if bool in types and (field.default or negatable):
        flag = f"{flag}/--no-{flag[2:]}"
    option = typer.Option(
        flag,
        help=help_,
        metavar=metavar,
        show_default=default_text(field) or False,
        rich_help_panel=cli.panel or None,
        autocompletion=(lambda: choices) if choices else None,
    )
    kind: Any = bool if bool in types else list[str] if is_list(field.annotation) else str
    name = path.replace(".", "_")
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option]
    )


def _choices(field: FieldInfo) -> list[str]:
    """Return the legal values of a field that has no others."""
    literals = [each for each in (field.annotation, *get_args(field.annotation)) if get_origin(each) is Literal]
    if types_in(field.annotation) - {type(None)} != {Literal}:
        return []
    return [str(value) for each in literals for value in get_args(each)]
