"""Model store: the folder of downloaded models, found by language pair or name. This module only reads it.

::

    models/en-pt/entry.json      origin, licence, files and versions; written last, so that only whole models are found
    models/en-pt/3.0-1f2e3d4c/   a bundle
    models/en-pt/used            its time is that of the last use
    files/SHA256                 a downloaded file, kept once for all models

No file names a path outside the folder, so a copy of it works on another machine.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from dragoman.config.base import Settings
from dragoman.errors import BundleError
from dragoman.language_codes import match_rank, parse_pair

ENTRY, USED = "entry.json", "used"
VARIABLE = "DRAGOMAN_MODELS"
MAX_ENTRY_BYTES = 1 << 20
_OTHER_REGION = 5  # rank of a language for another region than the requested one
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_FILE = r"[A-Za-z0-9_+@=~][A-Za-z0-9._+@=~-]{0,254}"  # as catalogs name files: no path, no leading dot

PlainName = Annotated[str, Field(pattern=rf"^{_NAME}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class StoredFile(Settings):
    """A downloaded file."""

    name: Annotated[str, Field(pattern=rf"^{_FILE}$")]
    size: int = Field(ge=0)
    sha256: Sha256


class StoredVersion(Settings):
    """One version of a stored model."""

    version: str
    """Version as the catalog states it, or the revision of a repository."""
    folder: PlainName
    """Folder of the bundle."""
    digest: Sha256
    """Digest of the bundle's manifest."""
    architecture: str = ""
    archive: str = ""
    """``argos`` or ``tar.gz`` if the only file is an archive."""
    origin: str
    """Address of the catalog or of the repository."""
    catalog: Annotated[str, Field(pattern="^(https?://.*)?$")] = ""
    """The catalog that the user named; empty for that of the kind."""
    licence: str = ""
    """As stated by the origin; empty is not stated."""
    published_scores: dict[str, float] = Field(default_factory=dict)
    """Scores that the origin publishes; none is measured here."""
    files: tuple[StoredFile, ...]
    date: str
    """Time of the download, in UTC."""


class ModelEntry(Settings):
    """A stored model, or a route through a pivot language: the names of two stored models."""

    format: Literal[1] = 1
    name: PlainName
    source: str
    target: str
    kind: str
    versions: tuple[StoredVersion, ...] = ()
    """The current version first, then the previous one."""
    route: tuple[PlainName, ...] = ()

    @property
    def pair(self) -> str:
        """Both languages: ``en-pt``."""
        return f"{self.source}-{self.target}"

    @property
    def current(self) -> StoredVersion:
        """The version in use; a route has none."""
        return self.versions[0]


def models_folder() -> Path:
    """The folder of the model store: DRAGOMAN_MODELS, or in the user's data folder; it need not exist."""
    if named := os.environ.get(VARIABLE):
        return Path(named).absolute()
    import platformdirs  # noqa: PLC0415 -- only for the default

    with suppress(RuntimeError):  # of new versions; older ones return a relative path
        folder = platformdirs.user_data_path("dragoman", appauthor=False) / "models"
        if folder.is_absolute():
            return folder
    raise OSError(errno.ENOENT, f"there is no home folder; set {VARIABLE} to a folder for models")


@dataclass(frozen=True)
class ModelStore:
    """The models in a folder."""

    folder: Path

    @classmethod
    def of_user(cls) -> ModelStore:
        return cls(models_folder())

    @property
    def models(self) -> Path:
        return self.folder / "models"

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def entries(self) -> list[ModelEntry]:
        """Return all models by name; raise a `BundleError` for a damaged entry."""
        return [self.read(name) for name in self.names()]

    def names(self) -> list[str]:
        try:
            return sorted(each.name for each in self.models.iterdir() if (each / ENTRY).is_file())
        except OSError:
            return []

    def read(self, name: str) -> ModelEntry:
        path = self.models / name / ENTRY
        try:
            if path.stat().st_size > MAX_ENTRY_BYTES:
                raise ValueError(f"more than {MAX_ENTRY_BYTES:,} bytes")
            entry = ModelEntry.model_validate_json(path.read_bytes())
            if entry.name != name or bool(entry.versions) == bool(entry.route):
                raise ValueError(f"the name {entry.name!a} with {len(entry.versions)} versions")
        except OSError as error:
            raise BundleError(f"{path} cannot be read: {error.strerror}; check its permissions") from None
        except ValueError as error:
            reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            raise BundleError(
                f"{path} must be the entry of a stored model, got: {reason}; dragoman get {name} replaces it"
            ) from None
        return entry

    def find(self, name: str) -> ModelEntry | None:
        """Return the model with this name, or else the first one of this language pair; None if there is none."""
        if not re.fullmatch(_NAME, name):
            return None
        if (self.models / name / ENTRY).is_file():
            return self.read(name)
        pair = parse_pair(name)
        return None if pair is None else next(self.of_pair(*pair), None)

    def legs(self, entry: ModelEntry) -> list[ModelEntry]:
        """Return the models of a route, none of which is a route."""
        found = []
        for name in entry.route:
            leg = self.find(name)
            if leg is None or leg.route:
                raise BundleError(
                    f"{entry.name} needs the model {name}, which is not stored; run dragoman get {entry.name}"
                )
            found.append(leg)
        return found

    def bundle(self, entry: ModelEntry, version: StoredVersion | None = None) -> Path:
        """Return the bundle of a model, in its current version by default."""
        return self.models / entry.name / (version or entry.current).folder

    def mark_used(self, name: str) -> None:
        """Record that a model is used now; a store that cannot be written has no such record."""
        with suppress(OSError):
            (self.models / name / USED).touch()

    def last_used(self, name: str) -> float | None:
        """Return the time of the last use, if there was one."""
        try:
            return (self.models / name / USED).stat().st_mtime
        except OSError:
            return None

    def of_pair(self, source: str, target: str) -> Iterator[ModelEntry]:
        """Yield the models of a language pair: the closest languages first, routes last."""
        found: list[tuple[int, ModelEntry]] = []
        for name in self.names():
            with suppress(BundleError):  # damage of another model
                entry = self.read(name)
                ranks = match_rank(source, entry.source), match_rank(target, entry.target)
                if ranks[0] is not None and ranks[1] is not None and max(ranks[0], ranks[1]) < _OTHER_REGION:
                    found.append((ranks[0] + ranks[1], entry))
        order = sorted(found, key=lambda each: (bool(each[1].route), each[0], each[1].name != each[1].pair))
        yield from (entry for _, entry in order)


def stored_version(bundle: Path) -> StoredVersion | None:
    """Return the record of a bundle in a model store; None for other bundles."""
    folder = bundle.parent
    if not (folder / ENTRY).is_file():
        return None
    with suppress(BundleError):
        versions = ModelStore(folder.parent.parent).read(folder.name).versions
        return next((each for each in versions if each.folder == bundle.name), None)
    return None


def stored_bundles(name: str) -> list[Path]:
    """Return the bundle of a stored model, or both bundles of a stored route; empty if the store has no such name."""
    try:
        store = ModelStore.of_user()
    except OSError:  # no home folder
        return []
    entry = store.find(name)
    if entry is None:
        return []
    found = []
    for leg in store.legs(entry) or [entry]:
        bundle = store.bundle(leg)
        if not bundle.is_dir():
            raise BundleError(f"{bundle} is missing; dragoman models update {leg.name} gets it again")
        store.mark_used(leg.name)
        found.append(bundle)
    store.mark_used(entry.name)
    return found


def propose_get(name: str) -> str:
    """Return ``; get it with dragoman get en-pt`` for the name of a language pair; empty for other names."""
    pair = parse_pair(name)
    return "" if pair is None else f"; get it with dragoman get {'-'.join(pair)}"
