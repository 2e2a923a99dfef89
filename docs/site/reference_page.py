"""Write the reference page of commands, options and settings from their declarations."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dragoman.cli.help_pages import default_shown, metavar_of, option_names, usage_line
from dragoman.cli.main import COMMANDS, load_command
from dragoman.cli.options.derive import default_text, described_fields, help_text
from dragoman.config.base import PartName
from dragoman.config.schema import Config
from dragoman.config.settings_sources import flag_name, variable
from dragoman.config.validation_errors import models_in
from dragoman.server.settings import ServerSettings

PAGE = Path(__file__).resolve().parents[1] / "reference.md"

_HEAD = """# Reference

Commands, options and settings with their defaults. `python docs/site/reference_page.py` writes this page from the
declarations in the code; a test compares it with them.
"""


def reference_page() -> str:
    """Return the page as Markdown."""
    sections = [_HEAD, "## Commands\n", *(_command_section(name) for name in COMMANDS)]
    sections += [_configuration_section(), _server_section()]
    return "\n".join(sections)


def _command_section(name: str) -> str:
    command = load_command(name)
    if hasattr(command, "commands"):
        inner = [_command_text(f"{name} {sub}", each) for sub, each in command.commands.items()]
        head = [f"### dragoman {name}\n", f"{COMMANDS[name]}\n"]
        own = [_command_text(name, command)] if command.invoke_without_command else head
        return "\n".join([*own, *inner])
    return _command_text(name, command)


def _command_text(name: str, command: Any) -> str:
    text = "\n\n".join(" ".join(each.split()) for each in str(command.help).split("\n\n"))
    arguments = [each for each in command.params if each.param_type_name == "argument" and not each.hidden]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    lines = [f"{'####' if ' ' in name else '###'} dragoman {name}\n", f"{text}\n"]
    lines += ["```", usage_line(command, f"dragoman {name}"), "```\n"]
    if arguments:
        rows = ([_code(metavar_of(each)), default_shown(each), each.help or ""] for each in arguments)
        lines += _table(("argument", "default", "meaning"), rows)
    if options:
        rows = ([_code(option_names(each)), _default(each), each.help or ""] for each in options)
        lines += _table(("option", "default", "meaning"), rows)
    return "\n".join(lines)


def _default(option: Any) -> str:
    return "required" if option.required else default_shown(option)


def _configuration_section() -> str:
    lines = ["## Configuration file\n"]
    lines += ['Keys of `dragoman.toml`. A file may extend a preset or another file: `extends = "luong2015"`.\n']
    for title, model in _tables("", Config):
        rows = ([_code(name), _field_default(field), help_text(field)] for name, field in _own_fields(model))
        lines += [f"### {title}\n", f"{_first_line(model)}\n", *_table(("key", "default", "meaning"), rows)]
    return "\n".join(lines)


def _tables(path: str, model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield the tables of a configuration with their headings, depth first."""
    yield (f"[{path}]" if path else "Top level", model)
    for name, field in model.model_fields.items():
        inner = f"{path}.{name}" if path else name
        models = models_in(field.annotation)
        for each in models:
            if each.__name__ == "CorpusConfig" and name != "train":
                continue  # the same keys as in [[data.train]]
            for heading, table in _tables(inner, each):
                family = table.model_fields.get("family")
                kind = f" with family = {get_args(family.annotation)[0]!r}" if family is not None else ""
                yield (heading + kind, table)


def _own_fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if not models_in(field.annotation) or "CorpusConfig" in str(field.annotation):
            yield name, field


def _field_default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required" if field.default_factory is None else ""
    if isinstance(field.default, bool):
        return str(field.default).lower()
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    for part in field.metadata:
        choices = part.names if isinstance(part, PartName) else choices
    others = [str(each) for each in choices if each != field.default]
    return default_text(field) + (f" (or {', '.join(others)})" if others else "")


def _server_section() -> str:
    rows = (
        [_code(path), _code(flag_name(path)), _code(variable(path)), default_text(field), help_text(field)]
        for path, (field, _) in described_fields(ServerSettings).items()
    )
    return "\n".join(
        [
            "## Server settings\n",
            "Keys of the file `dragoman serve --config`, with their options and environment variables.\n",
            "The table `[bundles]` has bundles by name.\n",
            *_table(("key", "option", "variable", "default", "meaning"), rows),
        ]
    )


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().split("\n")[0]


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"


def _table(head: tuple[str, ...], rows: Iterable[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for row in rows:
        cells = (cell if cell.startswith("`") else cell.replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


if __name__ == "__main__":
    PAGE.write_text(reference_page(), encoding="utf-8")
