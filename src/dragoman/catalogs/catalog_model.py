"""A model that a catalog offers, the best one for a pair, and the fields of catalogs, which are untrusted."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from dragoman.config.validation_errors import error_message
from dragoman.errors import ConfigError, DataError
from dragoman.language_codes import is_same_language, match_rank, parse_language


@dataclass(frozen=True)
class CatalogFile:
    """A file to download. A size of 0 or an empty digest is not stated by the catalog."""

    name: str
    """Name in the folder that is imported, after decompression: no path."""
    url: str
    compression: str = ""
    """``gz``, ``zst`` or empty: how the download is compressed. Archives are not decompressed here."""
    size: int = 0
    """Bytes of the download."""
    sha256: str = ""
    """Digest of the download."""
    content_size: int = 0
    """Bytes after decompression."""
    content_sha256: str = ""
    """Digest after decompression."""


@dataclass(frozen=True)
class CatalogModel:
    """One version of a model for one direction, or for several if ``target`` is ``mul``."""

    kind: str
    """The catalog's kind of models: ``firefox``, ``opus-mt``, ``argos``, or the name that a catalog gives itself."""
    source: str
    target: str
    """Languages as canonical codes."""
    version: str
    files: tuple[CatalogFile, ...]
    architecture: str = ""
    is_released: bool = True
    """Whether the catalog calls this version released, and not a preview."""
    licence: str = ""
    """As stated by the catalog; empty is not stated."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """As published, by name: ``flores200-plus bleu``."""
    origin: str = ""
    """Address of the catalog."""
    archive: str = ""
    """``argos`` or ``tar.gz``: the only file is an archive of the model; empty if the files are those of the model."""
    repository: str = ""
    """Name on the Hugging Face hub. The files of a model in a list are read when it is chosen."""

    @property
    def pair(self) -> str:
        """Both languages: ``en-pt``."""
        return f"{self.source}-{self.target}"

    @property
    def size(self) -> int:
        """Bytes to download, without files of unknown size."""
        return sum(file.size for file in self.files)


_PIVOT = "en"
_OTHER_REGION = 5  # rank of a language for another region than the requested one
_SHOWN = 12


def choose(models: Iterable[CatalogModel], source: str, target: str, kind: str = "") -> CatalogModel | None:
    """Return the best model of a pair: the closest languages, then a released one, then the first of its catalog."""
    best: tuple[tuple[int, bool], CatalogModel] | None = None
    for model in models:
        ranks = match_rank(source, model.source), match_rank(target, model.target)
        if kind and model.kind != kind:
            continue
        if ranks[0] is None or ranks[1] is None or max(ranks[0], ranks[1]) >= _OTHER_REGION:
            continue
        rank = (ranks[0] + ranks[1], not model.is_released)
        if best is None or rank < best[0]:
            best = rank, model
    return best[1] if best else None


def route(models: Sequence[CatalogModel], source: str, target: str, kind: str = "") -> tuple[CatalogModel, ...]:
    """Return one model of a pair, or two that translate through English; a `ConfigError` if there are none."""
    if is_same_language(source, target):
        raise ConfigError(f"a pair must be two languages, got {source} twice; write for instance en-pt")
    direct = choose(models, source, target, kind)
    if direct is not None:
        return (direct,)
    legs = choose(models, source, _PIVOT, kind), choose(models, _PIVOT, target, kind)
    if legs[0] is not None and legs[1] is not None:
        return legs[0], legs[1]
    raise ConfigError(_missing(models, source, target, kind))


def search(models: Sequence[CatalogModel], text: str = "") -> list[CatalogModel]:
    """Return the best model of each pair and kind that has a language, or is of a pair; all for an empty text."""
    of_pair = [model for model in models if _is_pair(model, text)]
    if not of_pair:  # en-PT can be a pair or Portuguese English, pt-BR only a language
        of_pair = [each for each in models if not text or _answers(text, each.source) or _answers(text, each.target)]
    found: dict[tuple[str, str], CatalogModel] = {}
    for model in of_pair:
        other = found.setdefault((model.kind, model.pair), model)
        if model.is_released and not other.is_released:
            found[model.kind, model.pair] = model
    return sorted(found.values(), key=lambda model: (model.pair, model.kind))


def _is_pair(model: CatalogModel, text: str) -> bool:
    parts = text.replace("_", "-").split("-")
    sides = (("-".join(parts[:cut]), "-".join(parts[cut:])) for cut in range(1, len(parts)))
    return any(_answers(source, model.source) and _answers(target, model.target) for source, target in sides)


def _answers(code: str, offered: str) -> bool:
    return match_rank(code, offered) is not None


def _missing(models: Iterable[CatalogModel], source: str, target: str, kind: str) -> str:
    near = sorted(
        {
            model.pair
            for model in models
            if (not kind or model.kind == kind) and (_answers(source, model.source) or _answers(target, model.target))
        }
    )
    of = f" of {kind}" if kind else ""
    more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    there = f"it has {', '.join(near[:_SHOWN])}{more}" if near else "it has no model of either language"
    return (
        f"the catalog{of} has no model for {source}-{target}, directly or through English; {there}; search for "
        "others with dragoman models search, or name another --kind or --catalog"
    )


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
