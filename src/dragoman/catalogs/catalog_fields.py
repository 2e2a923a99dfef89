"""Fields of catalogs: their types, and one-line errors. A catalog is untrusted."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dragoman.catalogs.catalog_model import CatalogFile
from dragoman.config.validation_errors import error_message
from dragoman.errors import ConfigError, DataError
from dragoman.language_codes import parse_language

MAX_FILE_BYTES = 16 << 30
_MAX_VALUES = 2_000_000  # of one catalog; one takes about 100 bytes of memory
_SCHEMES = ("https", "http", "file")
_PART = re.compile(r"[A-Za-z0-9_+@=~][A-Za-z0-9._+@=~-]*")
_ADVICE = "name another catalog with --catalog, or report it to its publisher"

Parsed = TypeVar("Parsed")


class Entry(BaseModel):
    """Part of a catalog: types are strict, unknown fields are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


def _language(code: str) -> str:
    try:
        return parse_language(code)
    except ConfigError:
        raise ValueError("a code of two or three letters such as en, de or zh-Hant") from None


def _relative(path: str) -> str:
    if not all(_PART.fullmatch(part) for part in path.split("/")):
        raise ValueError("a path of letters, digits and ._+@=~- below the address of the catalog")
    return path


def _name(name: str) -> str:
    if "/" in name or len(name) > 200:
        raise ValueError("a file name without a path")
    return _relative(name)


def _one_line(text: str) -> str:
    """Replace control characters, ends of lines and direction marks: a text of a catalog is shown in a table."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _address(url: str) -> str:
    if not is_address(url):
        raise ValueError("an address that begins with https://")
    return url


Language = Annotated[str, Field(max_length=35), AfterValidator(_language)]
RelativePath = Annotated[str, Field(max_length=1000), AfterValidator(_relative)]
FileName = Annotated[str, AfterValidator(_name)]
Address = Annotated[str, Field(max_length=4000), AfterValidator(_address)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=1, le=MAX_FILE_BYTES)]
Text = Annotated[str, Field(max_length=1000), AfterValidator(_one_line)]
Score = Annotated[float, Field(allow_inf_nan=False)]


def is_address(url: str) -> bool:
    """Whether a text is an absolute address of a scheme that can be downloaded."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = url.isprintable() and " " not in url and "\\" not in url
    return is_plain and parts.scheme in _SCHEMES and bool(parts.netloc) != (parts.scheme == "file")


def parse_json(data: bytes, address: str) -> Any:
    """Parse a catalog; the number of its values is limited before."""
    values = sum(map(data.count, (b",", b":", b"[", b"{")))
    if values > _MAX_VALUES:
        raise DataError(f"{address} must hold at most {_MAX_VALUES:,} values, got {values:,}; {_ADVICE}")
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise DataError(f"{address} is not JSON, as a catalog is; {_ADVICE}") from None


def validate_catalog(kind: type[Parsed], value: object, address: str) -> Parsed:
    """Check the value of a catalog; the error names its first wrong field."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])[:200] or "the catalog"
        message = ascii_line(error_message(fault, name)).partition("; ")[0]
        raise DataError(f"{address}: {message}; {_ADVICE}") from None


def ascii_line(text: str) -> str:
    """Return a text of a catalog or host on one printable line, cut if it is long."""
    line = _one_line(text)
    return line if len(line) <= 300 else f"{line[:300]}…"


def join_address(base: str, path: str) -> str:
    """Return the address of a path below a folder; both were checked."""
    return f"{base.rstrip('/')}/{path}"


def duplicate_name(files: Sequence[CatalogFile]) -> str:
    """Return the first file name that occurs twice, or an empty text. Names that differ in case only are the same."""
    counts = Counter(file.name.lower() for file in files)
    return next((file.name for file in files if counts[file.name.lower()] > 1), "")


def base_name(path: str) -> str:
    """Return the name of the last part of a path, without an ending of compression."""
    name = PurePosixPath(path).name
    return name.removesuffix(".gz").removesuffix(".zst")


def compression_of(path: str) -> str:
    """Return the compression of a file by its ending."""
    return "gz" if path.endswith(".gz") else "zst" if path.endswith(".zst") else ""
