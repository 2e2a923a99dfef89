"""Convert pydantic validation errors to one-line messages: `<setting> must be <rule>, got <value>; <fix>`."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from dragoman.errors import ConfigError, did_you_mean

NameOf = Callable[[str], str]
"""Dotted path of a setting -> its name in the user's input: ``--beam``, ``DRAGOMAN_BEAM``, ``serve.toml: beam``."""

Model = TypeVar("Model", bound=BaseModel)

_MAX_SHOWN = 60
_RULES = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "text",
    "a valid boolean": "true or false",
    "a valid list": "a list",
    "a valid tuple": "a list",
    "a valid dictionary": "an object",
    "valid integer, unable to parse string as an integer": "a whole number",
}


class SettingError(ConfigError):
    """A violated rule; ``{name}`` without a value is a setting, which front ends replace by what the user wrote."""

    def __init__(self, template: str, **values: object) -> None:
        self.template, self.values = template, values
        super().__init__(self.named(str))

    def named(self, name_of: NameOf) -> str:
        """Return the message with the settings named by `name_of`."""
        return self.template.format_map(_Names(name_of, self.values))


class _Names(dict[str, Any]):
    """Values, and for every other key the name of that setting."""

    def __init__(self, name_of: NameOf, values: Mapping[str, object]) -> None:
        super().__init__(values)
        self._name_of = name_of

    def __missing__(self, name: str) -> str:
        return self._name_of(name)


def validate(model: type[Model], values: Mapping[str, Any], name_of: NameOf = str, *, hint: str = "") -> Model:
    """Build settings from values; an error is a one-line `ConfigError` with names from `name_of` and `hint` as fix."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        faults = [fault for fault in error.errors() if fault["loc"][:1] == error.errors()[0]["loc"][:1]]
        message = _union_message(faults, name_of, model)
        raise ConfigError(f"{message}; {hint}" if hint and ";" not in message else message) from None
    except SettingError as error:
        raise ConfigError(error.named(name_of)) from None


def _union_message(faults: Sequence[Any], name_of: NameOf, model: type[BaseModel]) -> str:
    """Return one message for the alternatives of a union, or that of the first error."""
    name = name_of(setting_name(faults[0]["loc"]))
    literal = next((fault for fault in faults if fault["type"] == "literal_error"), None)
    if len(faults) == 1 or literal is None or isinstance(faults[0]["input"], dict):
        return setting_message(faults[0], name, model)
    return f"{name} must be a whole number or {_legal(literal)[0]}, got {shown(literal['input'])}; choose one of them"


def setting_message(fault: Mapping[str, Any], name: str, model: type[BaseModel]) -> str:
    """Return the message of one error about the setting `name` of `model`, or of a table in it."""
    if fault["type"] in ("model_type", "model_attributes_type"):
        return f"{name} must be a table of settings, got {shown(fault['input'])}; write [{name}] and its settings below"
    return error_message(fault, name, _names_beside(model, fault["loc"]))


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the classes of settings in an annotation: ``Table``, ``Table | None``, ``list[Table]``, unions."""
    if isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]


def _names_beside(model: type[BaseModel], location: Sequence[Any]) -> list[str]:
    """Return the legal names in the table of a setting."""
    for part, following in itertools.pairwise(location):
        inner = models_in(model.model_fields[part].annotation) if part in model.model_fields else []
        if inner:  # of a union pydantic names the branch by its family
            families = [get_args(each.model_fields["family"].annotation) for each in inner] if inner[1:] else [()]
            model = next((each for each, family in zip(inner, families, strict=True) if following in family), inner[0])
    return list(model.model_fields)


def setting_name(location: Iterable[object]) -> str:
    """Return the dotted path of a setting: without positions in lists and the branches of unions."""
    parts = [part for part in location if isinstance(part, str)]
    return ".".join(part for part in parts if part.isidentifier() and part not in {"int", "float", "str"})


def error_message(fault: Mapping[str, Any], name: str, known: Iterable[str] = (), *, show_value: bool = True) -> str:
    """Return the message of one pydantic error about the setting `name`; `known` are the legal names in its table."""
    kind, value, context = fault["type"], fault["input"], fault.get("ctx", {})
    got = shown(value) if show_value else _json_type(value)
    if kind == "missing":
        return f"{name} is missing; add it"
    if kind == "extra_forbidden":
        return f"{name} is no known setting{did_you_mean(str(fault['loc'][-1]), known, otherwise='known here')}"
    if kind in ("literal_error", "enum"):
        legal = _legal(fault)
        return f"{name} must be one of {', '.join(legal)}, got {got}{did_you_mean(str(value), legal)}"
    if kind in ("too_long", "too_short", "string_too_long", "string_too_short"):
        return f"{name} must have {_size_rule(kind, context)}, got {context.get('actual_length', got)}"
    if kind in ("string_unicode", "string_sub_type"):
        return f"{name} has a lone surrogate, which is not valid Unicode; decode it as UTF-8"
    rule = str(fault["msg"]).removeprefix("Input should be ").removeprefix("Value error, ")
    for theirs, ours in _RULES.items():
        rule = rule.replace(theirs, ours, 1) if rule.startswith(theirs) else rule
    return rule if " must be " in rule else f"{name} must be {rule}, got {got}"


def shown(value: object) -> str:
    """Return the value as Python writes it, cut if it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _legal(fault: Mapping[str, Any]) -> list[str]:
    expected = str(fault["ctx"]["expected"]).replace(" or ", ", ")
    return [part.strip().strip("'") for part in expected.split(",")]


def _size_rule(kind: str, context: Mapping[str, Any]) -> str:
    unit = "characters" if kind.startswith("string") else "entries"
    if "max_length" in context:
        return f"at most {context['max_length']} {unit}"
    return f"at least {context['min_length']} {unit}"


def _json_type(value: object) -> str:
    """Return the JSON type of a value; numbers are shown, texts are not."""
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return shown(value)
    names = {"str": "text", "list": "a list", "dict": "an object", "tuple": "a list", "bytes": "bytes"}
    return names.get(type(value).__name__, "another type")
