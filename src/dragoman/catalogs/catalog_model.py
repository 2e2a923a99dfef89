"""A model that a catalog offers, with its files; the best one for two languages, or two through English."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.errors import ConfigError
from dragoman.language_codes import is_same_language, match_rank


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
