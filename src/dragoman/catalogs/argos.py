"""Read the index of Argos Translate: a list of packages without sizes, hashes or licences."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field

from dragoman.catalogs.catalog_model import (
    CatalogFile,
    CatalogModel,
    Entry,
    FileName,
    Language,
    Text,
    is_address,
    validate_catalog,
)

KIND = "argos"


class _Package(Entry):
    type: Literal["translate"] = "translate"
    package_version: Text
    from_code: Language
    to_code: Language
    code: FileName
    links: Annotated[list[Text], Field(max_length=100)]


def is_index(value: object) -> bool:
    """Whether parsed JSON is an index of packages."""
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) and "links" in each for each in value)


def read_index(value: object, address: str) -> list[CatalogModel]:
    """Read the translation packages of an index, the newest version of each pair first."""
    entries = value if isinstance(value, list) else [value]
    translating = [
        each for each in entries if not isinstance(each, dict) or each.get("type", "translate") == "translate"
    ]
    packages = validate_catalog(list[_Package], translating, address)
    return [
        CatalogModel(
            KIND,
            package.from_code,
            package.to_code,
            package.package_version,
            (CatalogFile(f"{package.code}.argosmodel", urls[0]),),
            origin=address,
            archive="argos",
        )
        for package in sorted(packages, key=_newest_first)
        if (urls := [link for link in package.links if is_address(link)])  # skips ipfs://
    ]


def _newest_first(package: _Package) -> tuple[int, ...]:
    return tuple(-int(number) for number in re.findall(r"\d{1,9}", package.package_version))
