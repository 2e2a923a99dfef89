"""Messages for command lines that cannot be parsed, in one line with a fix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import typer

from dragoman.cli.help_pages import metavar_of, usage_line

__all__ = ["UsageFault", "check_overrides", "usage_message"]

UsageFault: Any = next(each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException")
"""Base class of the errors of Typer's parser, which is Click or Typer's copy of it."""

_UsageError: Any = next(each for each in typer.BadParameter.__mro__ if each.__name__ == "UsageError")
_SIMILAR = 0.75  # ratio of SequenceMatcher; source and force have 0.73
_MIN_PREFIX = 3  # letters
_RULES = {"INT": "a whole number", "FLOAT": "a number"}


def check_overrides(overrides: list[str] | None) -> list[str] | None:
    """Reject values of --set without an equals sign, before the word after them is taken for an argument."""
    for override in overrides or ():
        if "=" not in override:
            raise _UsageError(
                f"--set must be of the form section.setting=value, got {override}; write --set {override}=…, without "
                "spaces"
            )
    return overrides


def usage_message(error: Any, ctx: Any, args: Sequence[str]) -> str:
    """Return the message of an error of the parser; `ctx` is the command, and `args` are its arguments."""
    message, kind, parameter = str(error.format_message()), type(error).__name__, getattr(error, "param", None)
    see = f"see {ctx.command_path} --help"
    if kind == "NoSuchOption" or message.startswith("No such command"):
        return _unknown(error, message, ctx)
    if kind == "BadOptionUsage":
        return _bad_usage(error.option_name, message, ctx)
    if kind in ("MissingParameter", "BadParameter") and parameter is not None:
        is_missing = kind == "MissingParameter"
        return _missing(parameter, ctx) if is_missing else _bad_value(parameter, str(error.message), args, see)
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", message):
        return f"arguments must be {usage_line(ctx.command, ctx)}, got {extra[1]} as well; {_one_argument(ctx)}"
    return f"{message.rstrip('.')}; {see}"


def _one_argument(ctx: Any) -> str:
    """Return what to do instead of giving several arguments; two files of text are a corpus."""
    if ctx.info_name in ("check", "prepare", "train"):
        return "make a project of two text files with dragoman new --corpus, and quote a name with spaces"
    return "quote a name with spaces"


def _unknown(error: Any, message: str, ctx: Any) -> str:
    """Return the message of an unknown option or command."""
    see = f"; see {ctx.command_path} --help"
    if unknown := re.match(r"No such command '(.*?)'", message):
        near = _near(unknown[1], ctx.command.commands)
        return f"the command must be one of those of {ctx.command_path}, got {unknown[1]}{near or see}"
    options = [name for each in ctx.command.get_params(ctx) for name in (*each.opts, *each.secondary_opts)]
    if "--set" in options and (setting := _setting(error.option_name)):
        remedy = f"; write --set {setting}=…"
    else:
        remedy = _near(error.option_name, [name for name in options if name.startswith("--")]) or see
    return f"{error.option_name} must be an option of {ctx.command_path}, got an unknown one{remedy}"


def _setting(option: str) -> str:
    """Return the setting of the configuration with the name of an option: ``training.max_updates``; empty if none."""
    from dragoman.config.config_file import find_setting  # only for this message: help pages need no configuration

    return find_setting(option.lstrip("-").replace("-", "_"))


def _missing(parameter: Any, ctx: Any) -> str:
    if parameter.param_type_name == "argument":
        name, usage = metavar_of(parameter), usage_line(ctx.command, ctx)
        return f"{name} must be given, got none; write {usage} ({_meaning(parameter)})"
    name = _long_name(parameter)
    return f"{name} must be given, got none; add {name} {metavar_of(parameter)} ({_meaning(parameter)})"


def _bad_usage(name: str, message: str, ctx: Any) -> str:
    """Return the message of an option with too many or too few values."""
    option = next((each for each in ctx.command.get_params(ctx) if name in each.opts), None)
    needed = f"{name} {metavar_of(option)}".rstrip() if option is not None else name
    if "does not take" in message:
        return f"{name} must have no value, got one; write {needed}"
    count = re.search(r"requires (\d+) arguments", message)
    return f"{name} must have {f'{count[1]} values' if count else 'a value'}, got fewer; write {needed}"


def _bad_value(parameter: Any, message: str, args: Sequence[str], see: str) -> str:
    name = _long_name(parameter) if parameter.param_type_name == "option" else metavar_of(parameter)
    rule = _RULES.get(metavar_of(parameter))
    if rule is None:
        return f"{name} is not valid: {message.rstrip('.')}; {see}"
    for limit, words in (("min", "at least"), ("max", "at most")):
        value = getattr(parameter, limit, None)
        value = getattr(getattr(parameter, "type", None), limit, None) if value is None else value
        rule += f" of {words} {value}" if value is not None else ""
    return f"{name} must be {rule}, got {_value_in(parameter, args)}; {see}"


def _value_in(parameter: Any, args: Sequence[str]) -> str:
    """Return the value of an option on the command line."""
    for number, word in enumerate(args):
        for name in parameter.opts:
            if word == name and number + 1 < len(args):
                return args[number + 1]
            if word.startswith(f"{name}="):
                return word.removeprefix(f"{name}=")
    return "another value"


def _long_name(option: Any) -> str:
    return str(max(option.opts, key=len))


def _meaning(parameter: Any) -> str:
    first = re.split(r"(?<=\.)\s|\s*\[default", parameter.help or "", maxsplit=1)[0].rstrip(".")
    return first[:1].lower() + first[1:] if first[1:2].islower() else first


def _near(name: str, legal: Iterable[str]) -> str:
    """Return a question with the most similar name: other or exchanged letters, or the beginning of one name only."""
    bare = {each.lstrip("-"): each for each in legal}  # dashes would make all options similar
    typed = name.lstrip("-")
    longer = [each for each in bare if each.startswith(typed) and len(typed) >= _MIN_PREFIX]
    as_long = [each for each in bare if abs(len(each) - len(typed)) <= len(typed) / 2]
    exchanged = [each for each in bare if sorted(each) == sorted(typed)]
    found = longer if len(longer) == 1 else exchanged or get_close_matches(typed, as_long, n=1, cutoff=_SIMILAR)
    return f"; did you mean {bare[found[0]]}?" if found else ""
