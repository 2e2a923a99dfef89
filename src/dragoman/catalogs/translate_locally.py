"""Read the list of models of translateLocally: archives with hashes. Any web server can offer such a list."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urljoin

from pydantic import Field

from dragoman.catalogs.catalog_fields import Entry, FileName, Language, Sha256, Text, is_address, validate_catalog
from dragoman.catalogs.catalog_model import CatalogFile, CatalogModel
from dragoman.errors import DataError

KIND = "translate-locally"
_API = 1


class _Model(Entry):
    shortName: FileName  # noqa: N815 -- names of the catalog
    type: Text = ""
    srcTags: Annotated[dict[Language, Text | None], Field(min_length=1, max_length=1000)]  # noqa: N815
    trgTag: Language  # noqa: N815
    repository: Text = ""
    version: int | float | Text = ""
    API: int = _API
    checksum: Sha256
    url: Text


class _List(Entry):
    models: list[_Model]


def is_list(value: object) -> bool:
    """Whether parsed JSON is a list of models."""
    return isinstance(value, dict) and isinstance(value.get("models"), list)


def read_list(value: object, address: str, base: str) -> list[CatalogModel]:
    """Read the models of a list, the newest version of each pair first; one of several languages is listed for each."""
    models = [model for model in validate_catalog(_List, value, address).models if model.API == _API]
    found = []
    for model in sorted(models, key=_version, reverse=True):
        url = urljoin(base, model.url)
        if not is_address(url):
            raise DataError(f"{address}: url of {model.shortName} must be an address, got {ascii(model.url)[:80]}")
        file = CatalogFile(f"{model.shortName}.tar.gz", url, sha256=model.checksum)
        for source in model.srcTags:
            kind = model.repository.lower() or KIND
            found.append(
                CatalogModel(
                    kind,
                    source,
                    model.trgTag,
                    str(model.version),
                    (file,),
                    model.type,
                    origin=address,
                    archive="tar.gz",
                )
            )
    return found


def _version(model: _Model) -> float:
    try:
        return float(model.version or 0)
    except (ValueError, OverflowError):
        return 0.0
