"""Help pages as plain text, wrapped to the terminal. Rich renders them too slowly: `--help` must appear at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from typer.core import TyperCommand, TyperGroup

from dragoman.environment import is_installed

__all__ = [
    "HELP_NAMES",
    "PAIR_OF_FILES",
    "PlainCommand",
    "PlainGroup",
    "default_shown",
    "metavar_of",
    "option_names",
    "usage_line",
]

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
"""Context settings of every command."""

PAIR_OF_FILES = "FILE [FILE]"
"""Placeholder of options that take one or two files: the option is repeated, or both follow it."""

_MAX_WIDTH, _MIN_WIDTH = 100, 40
_MAX_TERM = 28  # columns of names; a longer name has a line of its own
_GAP = 2

Row = tuple[str, str]


def _parse(parse: Callable[[Any, list[str]], list[str]], ctx: Any, args: list[str]) -> list[str]:
    """Parse arguments; errors carry the context and the arguments as `parsed`, for their message."""
    typed = tuple(args)  # the parser consumes the list
    try:
        return parse(ctx, args)
    except Exception as error:
        if not hasattr(error, "parsed"):
            error.parsed = (ctx, typed)  # type: ignore[attr-defined]
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


class PlainCommand(TyperCommand):
    """A command with a plain help page: one section per panel of options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; errors carry what their message needs."""
        pairs = {name for each in self.get_params(ctx) if each.metavar == PAIR_OF_FILES for name in each.opts}
        return _parse(super().parse_args, ctx, _repeat_options(args, pairs))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write(_page(self, ctx))


class PlainGroup(TyperGroup):
    """A group with a plain help page; without arguments it prints this page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, _first_paragraph(each.help or "")) for name, each in commands if each and not each.hidden]
        formatter.write(_page(self, ctx, rows))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the help page if there are no arguments."""
        if not args and not ctx.resilient_parsing:
            args = ["--help"]
        return _parse(super().parse_args, ctx, args)


def usage_line(command: Any, ctx: Any) -> str:
    """Return the command with its arguments: ``dragoman translate [OPTIONS] BUNDLE [INPUT]``."""
    shown = [each for each in command.get_params(ctx) if each.param_type_name == "argument" and not each.hidden]
    arguments = [metavar_of(each) if each.required else f"[{metavar_of(each)}]" for each in shown]
    tail = ["COMMAND"] if hasattr(command, "commands") else []
    return " ".join([ctx.command_path, "[OPTIONS]", *arguments, *tail])


def metavar_of(parameter: Any) -> str:
    """Return the placeholder of a parameter's value; empty for a flag."""
    if getattr(parameter, "is_flag", False) or parameter.metavar == "":
        return ""
    text = str(parameter.metavar or parameter.name.upper())
    is_optional = text.startswith("[") and text.find("]") == len(text) - 1
    return text[1:-1] if is_optional else text


def option_names(option: Any, *, value: bool = True) -> str:
    """Return the names of an option, the short one first, and the placeholder of its value."""
    names = sorted(option.opts, key=lambda name: name.startswith("--"))
    text = ", ".join(names) + "".join(f" / {name}" for name in option.secondary_opts)
    return f"{text} {metavar_of(option)}".rstrip() if value else text


def default_shown(parameter: Any) -> str:
    """Return the default of a parameter, as users write it; empty if there is none or if it is not shown."""
    value = parameter.default
    if not parameter.show_default or callable(value) or value is None or value is False or value in ("", (), []):
        return ""
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return "yes" if value is True else str(value)


def _page(command: Any, ctx: Any, commands: Sequence[Row] = ()) -> str:
    width = min(max(shutil.get_terminal_size().columns, _MIN_WIDTH), _MAX_WIDTH)
    sections = _sections(command, ctx)
    column = _column(row for rows in sections.values() for row in rows)
    usage = wrap(usage_line(command, ctx), width - 7, break_on_hyphens=False, break_long_words=False)
    blocks = ["\n".join(f"{'Usage:' if not number else '      '} {line}" for number, line in enumerate(usage))]
    blocks += [_wrapped(paragraph, width) for paragraph in (command.help or "").split("\n\n")]
    blocks += [_section(title, rows, column, width) for title, rows in sections.items() if rows]
    if commands:
        blocks.append(_section("Commands", commands, _column(commands), width))
    if command.epilog:
        blocks.append(_wrapped(command.epilog, width))
    return "\n\n".join(blocks) + "\n"


def _sections(command: Any, ctx: Any) -> dict[str, list[Row]]:
    """Return the rows of arguments and options by panel, in their order; options without a panel come first."""
    sections: dict[str, list[Row]] = {"Arguments": [], "Options": []}
    for each in command.get_params(ctx):
        if getattr(each, "hidden", False):
            continue
        if each.param_type_name == "argument":
            sections["Arguments"].append((metavar_of(each), _help(each)))
        else:
            panel = getattr(each, "rich_help_panel", None) or "Options"
            sections.setdefault(panel, []).append((option_names(each), _help(each)))
    return sections


def _help(parameter: Any) -> str:
    text, default = parameter.help or "", default_shown(parameter)
    if "[default:" not in text and default:
        text = f"{text} [default: {default}]"
    return f"{text} [required]" if parameter.required and parameter.param_type_name == "option" else text


def _column(rows: Iterable[Row]) -> int:
    """Return the column of the texts of rows."""
    return 2 + max((len(name) for name, _ in rows if len(name) <= _MAX_TERM), default=0) + _GAP


def _section(title: str, rows: Sequence[Row], column: int, width: int) -> str:
    return f"{title}:\n" + "\n".join(_rows(rows, column, width))


def _rows(rows: Sequence[Row], column: int, width: int) -> Iterator[str]:
    for name, text in rows:
        lines = wrap(text, width - column, break_on_hyphens=False) or [""]
        if len(name) + 2 + _GAP > column:
            yield f"  {name}"
        else:
            yield f"  {name}".ljust(column) + lines.pop(0)
        yield from (" " * column + line for line in lines)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(wrap(" ".join(text.split()), width, break_on_hyphens=False))


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())
