"""Base class of all settings: immutable, with number ranges and command-line metadata; parse TOML of limited size."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from dragoman.errors import ConfigError
from dragoman.plugins import plugin_names

_MAX_BYTES = 1 << 20
_MAX_PARTS = 32
_LONG_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{_MAX_PARTS}}}")
_FIELDS = re.compile(r'^(?:(?:class|def) (\w+)|    (?:def |(\w+): |"""(.*?)"""))', re.MULTILINE | re.DOTALL)
"""Lines that begin a class, a function, a method or a field, and the text below one of them."""
_BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG])(I?)B", re.IGNORECASE)


def _bytes(value: Any) -> Any:
    """Convert 2 GiB or 500 MB to a number."""
    if not isinstance(value, str):
        return value
    if value.strip().isdecimal():
        return int(value)
    found = _BYTES.fullmatch(value.strip())
    if found is None:
        raise PydanticCustomError("size", "Input should be a number of bytes, or a size such as 500 MB or 2 GiB")
    return round(float(found[1]) * (1024 if found[3] else 1000) ** (1 + "KMG".index(found[2].upper())))


Size = Annotated[int, Field(ge=1)]
Bytes = Annotated[int, BeforeValidator(_bytes), Field(ge=1)]
ZeroBytes = Annotated[int, BeforeValidator(_bytes), Field(ge=0)]
Width = Annotated[int, Field(ge=1, le=1 << 17)]  # a matrix of a larger width and height takes more than 64 GiB
Layers = Annotated[int, Field(ge=1, le=1000)]
Rate = Annotated[float, Field(ge=0.0, lt=1.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
NotNegative = Annotated[float, Field(ge=0.0)]


def read_toml_text(path: Path, name: str, *, missing: str, fix: str) -> str:
    """Read a TOML file of at most 1 MiB; `missing` is the error if there is none, `name` and `fix` are for others."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ConfigError(f"{path} has more than {_MAX_BYTES:,} bytes; name a configuration file")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(missing) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name} must be a readable UTF-8 file, got: {error}; {fix}") from None


def parse_toml(text: str, name: str, fix: str = "correct it there") -> dict[str, Any]:
    """Return the table of a TOML text; raises `ConfigError`, with `name` and `fix`, if it is invalid."""
    if _LONG_KEY.search(text):
        raise ConfigError(f"{name} has a key of more than {_MAX_PARTS} parts; shorten it")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} must be valid TOML, got: {error}; {fix}") from None


@dataclass(frozen=True)
class Cli:
    """Metadata of a field: how its command-line option is shown. The help text is the field's docstring."""

    panel: str = ""
    """Heading in the help page; that of the model it is nested in by default."""
    default: str = ""
    """Text shown for the default value where the value itself is unclear."""
    metavar: str = ""
    """Placeholder for the value; the type by default."""


@dataclass(frozen=True)
class PartName:
    """Metadata of a field with the name of a part: one of `names`, or one that an installed package adds."""

    group: str
    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Add the check to the schema of a text; the names of plug-ins are read when a value is no other name."""
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Suggest the names to editors, and allow others."""
        text = handler(schema)
        return {"anyOf": [{"enum": list(self.names)}, text]} if self.names else text

    def _check(self, name: str) -> str:
        if name not in self.names and name not in plugin_names(self.group):
            legal = ", ".join(f"'{each}'" for each in (*self.names, *plugin_names(self.group)))
            raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": legal})
        return name


class Settings(BaseModel):
    """Settings that reject unknown names and cannot be changed."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # `--help` needs no validators; a default instance would build them on import
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Describe fields by the docstrings below them."""
        super().__pydantic_init_subclass__(**options)
        texts = _attribute_docstrings(sys.modules[cls.__module__].__file__).get(cls.__name__, {})
        for name in texts.keys() & cls.__pydantic_fields__.keys():
            cls.__pydantic_fields__[name].description = texts[name]

    def _check(self) -> None:
        """Raise an error for valid settings that cannot be combined."""

    @model_validator(mode="after")
    def _can_be_combined(self) -> Self:
        self._check()
        return self


@functools.cache
def _attribute_docstrings(file: str | None) -> dict[str, dict[str, str]]:
    """Return the docstrings of attributes by class, reading a file once; pydantic tokenizes it once per class."""
    texts: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {}
    field = ""
    for found in _FIELDS.finditer(Path(file).read_text(encoding="utf-8") if file else ""):
        owner, name, text = found.groups()
        if owner:
            own = texts.setdefault(owner, {})
        elif text and field:
            own[field] = cleandoc(ast.literal_eval(f'"""{text}"""') if "\\" in text else text)
        field = name or ""
    return texts
