"""What pydantic finds wrong, said in the words of this house: `<thing> must be <rule>, got <value>; <mend>`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

__all__ = ["did_you_mean", "said"]

_LONGEST = 60
_RULES = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "text",
    "a valid boolean": "true or false",
    "a valid list": "a list",
    "a valid tuple": "a list",
    "a valid dictionary": "an object",
    "a finite number": "a finite number",
    "valid integer, unable to parse string as an integer": "a whole number",
}


def said(fault: Mapping[str, Any], name: str, known: Iterable[str] = (), *, shows_value: bool = True) -> str:
    """One fault about the thing of this name; without its value where that may be somebody's text."""
    kind, value, context = fault["type"], fault["input"], fault.get("ctx", {})
    got = _shown(value) if shows_value else _kind_of(value)
    if kind == "missing":
        return f"{name} must be given, got nothing; add it"
    if kind == "extra_forbidden":
        return f"{name} must be a known setting, got an unknown one{did_you_mean(name, known)}"
    if kind in ("literal_error", "enum"):
        legal = [part.strip().strip("'") for part in str(context["expected"]).replace(" or ", ", ").split(",")]
        return f"{name} must be one of {', '.join(legal)}, got {got}{did_you_mean(str(value), legal)}"
    if kind in ("too_long", "too_short", "string_too_long", "string_too_short"):
        return f"{name} must have {_size_rule(kind, context)}, got {context.get('actual_length', got)}"
    if kind in ("string_unicode", "string_sub_type"):
        return f"{name} must be valid Unicode, got a lone surrogate; decode it as UTF-8"
    rule = str(fault["msg"]).removeprefix("Input should be ").removeprefix("Value error, ")
    for theirs, ours in _RULES.items():
        rule = rule.replace(theirs, ours) if rule.startswith(theirs) else rule
    return rule if " must be " in rule else f"{name} must be {rule}, got {got}"


def did_you_mean(name: str, legal: Iterable[str]) -> str:
    """A hint where one of the legal names is near; else what they all are, if any is known."""
    known = list(legal)
    if close := get_close_matches(name, known, n=1):
        return f"; did you mean {close[0]}?"
    return f"; known: {', '.join(known)}" if known else ""


def _size_rule(kind: str, context: Mapping[str, Any]) -> str:
    what = "characters" if kind.startswith("string") else "entries"
    if "max_length" in context:
        return f"at most {context['max_length']} {what}"
    return f"at least {context['min_length']} {what}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _kind_of(value: object) -> str:
    """What kind of thing it is, in JSON's words; numbers and words of one line are shown, texts of users are not."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return _shown(value)
    names = {"str": "text", "list": "a list", "dict": "an object", "tuple": "a list", "bytes": "bytes"}
    return names.get(type(value).__name__, "something else")
