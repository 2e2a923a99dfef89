"""A model that a catalog offers, with its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
