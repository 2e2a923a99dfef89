"""Catalog of a folder made by `dragoman mirror`, which works at any address or path: sizes and hashes of its files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dragoman.catalogs.catalog_model import (
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
    duplicate_name,
    join_address,
    validate_catalog,
)
from dragoman.errors import DataError
from dragoman.files import write_json

MIRROR = "mirror.json"
_FORMAT = "dragoman-mirror"


class _File(Entry):
    name: FileName
    url: RelativePath
    compression: Literal["", "gz", "zst"] = ""
    size: Bytes
    sha256: Sha256
    content_size: Bytes | Literal[0] = 0
    content_sha256: Sha256 | Literal[""] = ""


class _Model(Entry):
    kind: Text
    source: Language
    target: Language
    version: Text
    files: Annotated[list[_File], Field(min_length=1, max_length=1000)]
    architecture: Text = ""
    is_released: bool = True
    licence: Text = ""
    scores: dict[Text, Score] = Field(default_factory=dict)
    origin: Text = ""
    archive: Literal["", "argos", "tar.gz"] = ""


class _Mirror(Entry):
    format: Literal["dragoman-mirror"]
    version: Literal[1]
    models: list[_Model]


def is_mirror(value: object) -> bool:
    """Whether parsed JSON is the catalog of a mirror."""
    return isinstance(value, dict) and value.get("format") == _FORMAT


def read_mirror(value: object, address: str, url: str) -> list[CatalogModel]:
    """Read the catalog of a mirror, whose files are below its own folder."""
    folder = url.rpartition("/")[0]
    models = []
    for model in validate_catalog(_Mirror, value, address).models:
        files = tuple(
            CatalogFile(**file.model_dump() | {"url": join_address(folder, file.url)}) for file in model.files
        )
        if name := duplicate_name(files):
            raise DataError(f"{address}: {model.source}-{model.target} has {name} twice; write the mirror again")
        models.append(CatalogModel(**model.model_dump() | {"files": files}))
    return models


def write_mirror_catalog(folder: Path, models: Sequence[CatalogModel]) -> Path:
    """Write the catalog of a folder. The addresses of files are paths in it; sizes and hashes must be stated."""
    content = {"format": _FORMAT, "version": 1, "models": [dataclasses.asdict(model) for model in models]}
    path = folder / MIRROR
    validate_catalog(_Mirror, json.loads(json.dumps(content)), str(path))
    write_json(path, content)
    return path
