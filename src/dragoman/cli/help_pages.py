"""Help pages as plain text, wrapped to the terminal. Rich renders them too slowly: `--help` must appear at once."""

import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dragoman.environment import is_installed
from dragoman.errors import did_you_mean

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
"""Context settings of every command."""

PAIR_OF_FILES = "FILE [FILE]"
"""Placeholder of options that take one or two files: the option is repeated, or both follow it."""

_MAX_WIDTH, _MIN_WIDTH = 100, 40
_MAX_TERM = 28  # columns of names; a longer name has a line of its own

Row = tuple[str, str]

UsageFault: Any = next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")
"""Base class of the errors of Typer's parser."""


class PlainCommand(TyperCommand):
    """A command with a plain help page: one section per panel of options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; an option of one or two files need not be repeated."""
        pairs = {name for each in self.get_params(ctx) if each.metavar == PAIR_OF_FILES for name in each.opts}
        parameters: list[Any] = self.params
        for each in parameters:
            if not each.required and each.callback is None:
                each.process_value = partial(_convert, each.process_value)
        return _with_context(super().parse_args, ctx, _repeat_options(args, pairs))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx))


def _convert(process_value: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """Convert the value of an option, if it has one: Typer would create a converter for each other option too."""
    return None if value is None else process_value(ctx, value)


class PlainGroup(TyperGroup):
    """A group with a plain help page; without arguments it prints this page, unless it has something else to do."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the help page if there are no arguments."""
        if not args and not ctx.resilient_parsing and not self.invoke_without_command:
            args = ["--help"]
        return _with_context(super().parse_args, ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        rows = [(name, (each.help or "").partition("\n\n")[0]) for name, each in self.commands.items()]
        formatter.write(_page(self, ctx, {"Commands": rows}))


def usage_line(command: Any, path: str) -> str:
    """Return the command with its arguments: ``dragoman translate [OPTIONS] [MODEL] [INPUT]``."""
    shown = [each for each in command.params if each.param_type_name == "argument" and not each.hidden]
    arguments = [metavar_of(each) if each.required else f"[{metavar_of(each)}]" for each in shown]
    inner = "[COMMAND]" if getattr(command, "invoke_without_command", False) else "COMMAND"
    return " ".join([path, "[OPTIONS]", *arguments, *([inner] if hasattr(command, "commands") else [])])


def metavar_of(parameter: Any) -> str:
    """Return the placeholder of a parameter's value; empty for a flag."""
    if getattr(parameter, "is_flag", False):
        return ""
    text = str(parameter.metavar or parameter.name.upper())
    is_optional = text.startswith("[") and text.find("]") == len(text) - 1
    return text[1:-1] if is_optional else text


def option_names(option: Any) -> str:
    """Return the names of an option, the short one first, and the placeholder of its value."""
    names = sorted(option.opts, key=lambda name: name.startswith("--"))
    return f"{', '.join(names)}{''.join(f' / {name}' for name in option.secondary_opts)} {metavar_of(option)}".rstrip()


def default_shown(parameter: Any) -> str:
    """Return the default of a parameter, as users write it; empty if there is none, or if it is not shown."""
    shown, value = parameter.show_default, parameter.default
    if isinstance(shown, str):
        return shown
    if not shown or callable(value) or value is None or value is False or value in ("", (), []):
        return ""
    return "yes" if value is True else ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _with_context(parse: Callable[[Any, list[str]], list[str]], ctx: Any, args: list[str]) -> list[str]:
    """Parse arguments; every error has the context that its message needs."""
    try:
        return parse(ctx, args)
    except Exception as error:
        if getattr(error, "ctx", ctx) is None:
            error.ctx = ctx  # type: ignore[attr-defined]
        raise


def _repeat_options(args: list[str], pairs: set[str]) -> list[str]:
    """Write ``--test a b`` as ``--test a --test b`` if the second word is a file, or one that is missing."""
    written: list[str] = []
    for place, word in enumerate(args):
        option = args[place - 2] if place > 1 else ""
        if option in pairs and not args[place - 1].startswith("-"):
            may_be_missing = "--format" not in args and args.count(option) == 1
            is_second = Path(word).is_file() or (may_be_missing and _is_missing_file(args[place - 1], word))
            written += [option] if is_second else []
        written.append(word)
    return written


def _is_missing_file(first: str, word: str) -> bool:
    """Whether a word after a file of one side has the ending of a file, and nothing has this name."""
    if word.startswith("-") or not Path(word).suffix or Path(word).exists() or not is_installed("polars"):
        return False
    from dragoman.config import CorpusConfig
    from dragoman.data.readers.corpus_reader import lacks_translations

    return Path(first).is_file() and lacks_translations(CorpusConfig(files=[first]))


def _page(command: Any, ctx: Any, more: dict[str, list[Row]] | None = None) -> str:
    """Return the page: usage, description, arguments, options by panel, and the sections of `more`."""
    width = min(max(shutil.get_terminal_size().columns, _MIN_WIDTH), _MAX_WIDTH)

    def wrapped(text: str, start: str = "", indent: int = 0) -> str:
        text = " ".join(text.split())
        return fill(text, width, initial_indent=start, subsequent_indent=" " * indent, break_on_hyphens=False) or start

    blocks = [wrapped(usage_line(command, ctx.command_path), "Usage: ", len("Usage: "))]
    blocks += map(wrapped, (command.help or "").split("\n\n"))
    for sections in (_sections(command.get_params(ctx)), more or {}):
        names = [name for rows in sections.values() for name, _ in rows if len(name) <= _MAX_TERM]
        column = max(map(len, names), default=0) + 4
        for title, rows in sections.items():
            lines = [f"{title}:"]
            for name, text in rows:
                start = f"  {name}".ljust(column)
                is_long = len(name) + 4 > column
                lines += [start.rstrip()] if is_long else []
                lines.append(wrapped(text, " " * column if is_long else start, column).rstrip())
            blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, *([wrapped(command.epilog)] if command.epilog else [])]) + "\n"


def _sections(parameters: Sequence[Any]) -> dict[str, list[Row]]:
    """Return the rows of arguments and options by panel, in their order; options without a panel come first."""
    sections: dict[str, list[Row]] = {"Arguments": [], "Options": []}
    for each in parameters:
        if getattr(each, "hidden", False):
            continue
        is_argument, default = each.param_type_name == "argument", default_shown(each)
        note = "" if is_argument or not each.required else " [required]"
        text = f"{each.help or ''}{f' [default: {default}]' if default else note}"
        panel = "Arguments" if is_argument else getattr(each, "rich_help_panel", None) or "Options"
        sections.setdefault(panel, []).append((metavar_of(each) if is_argument else option_names(each), text))
    return {title: rows for title, rows in sections.items() if rows}


def check_overrides(overrides: list[str] | None) -> list[str] | None:
    """Reject values of --set without an equals sign, before the word after them is taken for an argument."""
    for override in overrides or ():
        if "=" not in override:
            rule = (
                f"must be of the form section.setting=value, got {override}; write --set {override}=…, without spaces"
            )
            raise typer.BadParameter(rule)
    return overrides


def usage_message(error: Any) -> str:
    """Return the message of an error of the parser."""
    ctx, message, kind = getattr(error, "ctx", None), str(error.message).rstrip("."), type(error).__name__
    if ctx is None:
        return message
    see, parameter = f"; see {ctx.command_path} --help", getattr(error, "param", None)
    if kind == "BadParameter" and parameter is not None:
        name = metavar_of(parameter) if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
        rule = message if message.startswith("must ") else f"is not valid: {message}"
        return f"{name} {rule}{'' if ';' in rule else see}"
    if kind == "NoSuchOption":
        name = error.option_name
        return f"{name} is no option of {ctx.command_path}{_similar_option(name, ctx) or see}"
    if unknown := re.match(r"No such command '(.*?)'", message):
        near = did_you_mean(unknown[1], ctx.command.commands)
        return f"{unknown[1]} is no command of {ctx.command_path}{near or see}"
    return f"{error.format_message().rstrip('.')}{see}"


def _similar_option(option: str, ctx: Any) -> str:
    """Return the option or the setting of the configuration that an unknown option may mean; empty if there is none."""
    legal = [name for each in ctx.command.get_params(ctx) for name in (*each.opts, *each.secondary_opts)]
    if "--set" in legal:
        from dragoman.config.config_file import find_setting  # only for this message: help pages need no configuration

        if setting := find_setting(option.lstrip("-").replace("-", "_")):
            return f"; write --set {setting}=…"
    return did_you_mean(option, [name for name in legal if name.startswith("--")], prefix="--")
