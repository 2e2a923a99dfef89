"""Read the catalogs of Firefox Translations: the registry of all models, and the records of Remote Settings.

The registry has scores and the hash of each model. Remote Settings has one record per file, with all hashes. Both are
joined by the hash of the model: files then come from the records, or with the same hashes from the registry's host.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from dragoman.catalogs.catalog_model import (
    Address,
    Bytes,
    CatalogFile,
    CatalogModel,
    Entry,
    FileName,
    Language,
    RelativePath,
    Score,
    Sha256,
    Text,
    base_name,
    compression_of,
    duplicate_name,
    join_address,
    validate_catalog,
)

KIND = "firefox"
_MAJOR = 3  # of the records; Firefox reads no others
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:(a|b)(\d+))?")
_ARCHITECTURES = ("base", "base-memory", "tiny")  # best translations first
_STATUS = ("Release", "Release Desktop", "Release Android", "Nightly")  # of the registry; others come last
_REGISTRY_TYPES = {"model": "model", "lexicalShortlist": "lex", "vocab": "vocab", "srcVocab": "srcvocab"}
_REGISTRY_TYPES |= {"trgVocab": "trgvocab"}

FileType = Literal["model", "lex", "vocab", "srcvocab", "trgvocab"]


class _Attachment(Entry):
    hash: Sha256
    size: Bytes
    location: RelativePath


class _Record(Entry):
    name: FileName
    fileType: Text  # noqa: N815 -- names of the catalog
    sourceLanguage: Language  # noqa: N815
    targetLanguage: Language  # noqa: N815
    version: Text
    architecture: Text | None = None
    decompressedHash: Sha256 | None = None  # noqa: N815
    decompressedSize: Bytes | None = None  # noqa: N815
    filter_expression: Text | None = None
    attachment: _Attachment


class _Records(Entry):
    data: list[_Record]


class _RegistryFile(Entry):
    path: RelativePath
    uncompressedSize: Bytes | None = None  # noqa: N815
    uncompressedHash: Sha256 | None = None  # noqa: N815


class _RegistryModel(Entry):
    architecture: Text | None = None
    releaseStatus: Text | None = None  # noqa: N815
    sourceLanguage: Language  # noqa: N815
    targetLanguage: Language  # noqa: N815
    files: dict[Text, _RegistryFile | None]
    metrics: dict[Text, dict[Text, Annotated[Score, Field(strict=False)] | None] | None] | None = None


class _Registry(Entry):
    baseUrl: Address  # noqa: N815
    models: dict[Text, list[_RegistryModel]]


def is_registry(value: object) -> bool:
    """Whether parsed JSON is a registry."""
    return isinstance(value, dict) and isinstance(value.get("models"), dict) and "baseUrl" in value


def is_records(value: object) -> bool:
    """Whether parsed JSON holds records of Remote Settings."""
    return isinstance(value, dict) and isinstance(value.get("data"), list)


def read_registry(value: object, address: str) -> list[CatalogModel]:
    """Read a registry, the best version of each pair first. Only the models have hashes."""
    registry = validate_catalog(_Registry, value, address)
    found = [
        (
            _STATUS.index(model.releaseStatus) if model.releaseStatus in _STATUS else len(_STATUS),
            _registry_model(model, registry.baseUrl, address),
        )
        for models in registry.models.values()
        for model in models
    ]
    return [model for _, model in sorted(found, key=lambda pair: (pair[0], _rank_of_architecture(pair[1])))]


def read_records(value: object, address: str, attachments: str) -> tuple[list[CatalogModel], list[str]]:
    """Read records below the address `attachments`, best version first, and a message about versions left out."""
    versions: defaultdict[tuple[str, ...], list[_Record]] = defaultdict(list)
    for record in validate_catalog(_Records, value, address).data:
        parsed = _parsed(record.version)
        if record.fileType in _REGISTRY_TYPES.values() and parsed is not None and parsed[0] == _MAJOR:
            key = record.sourceLanguage, record.targetLanguage, record.architecture or "", record.version
            versions[key].append(record)
    found, problems = [], []
    for (source, target, architecture, version), records in versions.items():
        rank = min((_rank_of_filter(record) for record in records if record.fileType == "model"), default=0)
        files, problem = _record_files(records, attachments)
        if problem:
            problems.append(f"{source}-{target} {version} {problem}")
            continue
        model = CatalogModel(
            KIND, source, target, version, files, architecture, rank == 0 and _is_stable(version), origin=address
        )
        found.append(((rank, not _is_stable(version), _newest_first(version), _rank_of_architecture(model)), model))
    more = f", and {len(problems) - 1} more" if problems[1:] else ""
    notes = [f"{address}: a version is left out, {problems[0]}{more}"] if problems else []
    return [model for _, model in sorted(found, key=lambda pair: pair[0])], notes


def join(registry: Sequence[CatalogModel], records: Sequence[CatalogModel]) -> list[CatalogModel]:
    """Join models of both catalogs by the hash of the model: scores and release from the registry, files of records."""
    by_hash = {_model_hash(model): model for model in reversed(records)}
    joined, used = [], set()
    for model in registry:
        record = by_hash.get(_model_hash(model)) if _model_hash(model) else None
        if record is None:
            joined.append(model)
            continue
        used.add(_model_hash(model))
        joined.append(dataclasses.replace(model, version=record.version, files=record.files, origin=record.origin))
    return [*joined, *(model for model in records if _model_hash(model) not in used)]


def _model_hash(model: CatalogModel) -> str:
    return next((file.content_sha256 for file in model.files if file.name.startswith("model.")), "")


def _registry_model(model: _RegistryModel, base: str, address: str) -> CatalogModel:
    files = [
        CatalogFile(
            base_name(file.path),
            join_address(base, file.path),
            compression_of(file.path),
            content_size=file.uncompressedSize or 0,
            content_sha256=file.uncompressedHash or "",
        )
        for name, file in model.files.items()
        if file is not None and name in _REGISTRY_TYPES
    ]
    scores = {
        f"{test_set} {name}": value
        for test_set, metrics in (model.metrics or {}).items()
        for name, value in (metrics or {}).items()
        if value is not None
    }
    weights = model.files.get("model")
    return CatalogModel(
        KIND,
        model.sourceLanguage,
        model.targetLanguage,
        (weights.uncompressedHash or "")[:12] if weights else "",
        tuple(files),
        model.architecture or "",
        (model.releaseStatus or "").startswith("Release"),
        scores=scores,
        origin=address,
    )


def _record_files(records: Sequence[_Record], attachments: str) -> tuple[tuple[CatalogFile, ...], str]:
    """Return the files of one version, or what is wrong with it."""
    chosen: dict[str, _Record] = {}
    for record in sorted(records, key=_rank_of_filter):
        other = chosen.setdefault(record.fileType, record)
        if other.attachment.hash != record.attachment.hash and _rank_of_filter(other) == _rank_of_filter(record):
            return (), f"has two different files for {record.fileType}"
    missing = {"model"} - chosen.keys() or ({"vocab"} if not chosen.keys() & {"vocab", "srcvocab"} else set())
    if missing or len(chosen.keys() & {"srcvocab", "trgvocab"}) == 1:
        return (), f"has no file for {', '.join(missing) or 'the vocabulary of one side'}"
    files = tuple(_file(record, attachments) for record in chosen.values())
    name = duplicate_name(files)
    return files, f"has {name} twice" if name else ""


def _file(record: _Record, attachments: str) -> CatalogFile:
    return CatalogFile(
        record.name,
        join_address(attachments, record.attachment.location),
        compression_of(record.attachment.location),
        record.attachment.size,
        record.attachment.hash,
        record.decompressedSize or 0,
        record.decompressedHash or "",
    )


def _parsed(version: str) -> tuple[int, ...] | None:
    """Return the parts of a version, comparable: 3.0a1 is before 3.0."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    major, minor, patch, stage, number = found.groups()
    stability = {"a": 0, "b": 1, None: 2}[stage]
    return int(major), int(minor), int(patch or 0), stability, int(number or 0)


def _is_stable(version: str) -> bool:
    return not version.strip("0123456789.")


def _newest_first(version: str) -> tuple[int, ...]:
    return tuple(-part for part in _parsed(version) or ())


def _rank_of_filter(record: _Record) -> int:
    """Return how well a record suits a desktop: 0 for all systems or all but Android."""
    condition = record.filter_expression or ""
    if not condition or re.fullmatch(r"""\s*env\.appinfo\.OS\s*!=\s*['"]Android['"]\s*""", condition):
        return 0
    return 2 if "Android" in condition and "!=" not in condition else 1


def _rank_of_architecture(model: CatalogModel) -> int:
    known: Mapping[str, int] = {name: rank for rank, name in enumerate(_ARCHITECTURES)}
    return known.get(model.architecture, len(known))
