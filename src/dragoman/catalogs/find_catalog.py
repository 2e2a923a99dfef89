"""Read a catalog by its address or by the kind of its models; what hosts return is cached."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dragoman.catalogs import argos, firefox, hugging_face, mirror
from dragoman.catalogs.catalog_model import CatalogModel, ascii_line, is_address, parse_json
from dragoman.catalogs.download import local_path
from dragoman.catalogs.http_client import (
    Access,
    NotFoundError,
    RateWindow,
    RetryError,
    check_beginning,
    open_client,
    opened,
    pause,
    shown,
)
from dragoman.errors import ConfigError, DataError, did_you_mean
from dragoman.files import atomic_write, cache_folder
from dragoman.network_access import OFFLINE, is_offline

KINDS = (firefox.KIND, *hugging_face.KINDS, argos.KIND)
MAX_CATALOG_BYTES = 32 << 20
_MAX_AGE = 3600  # seconds for which a catalog is not requested again
_ADDRESSES = {
    "DRAGOMAN_FIREFOX_REGISTRY": (
        "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json"
    ),
    "DRAGOMAN_FIREFOX_RECORDS": (
        "https://firefox.settings.services.mozilla.com/v1/buckets/main/collections/translations-models-v2/records"
    ),
    "DRAGOMAN_FIREFOX_ATTACHMENTS": "https://firefox-settings-attachments.cdn.mozilla.net/",
    "DRAGOMAN_ARGOS_INDEX": "https://raw.githubusercontent.com/argosopentech/argospm-index/main/index.json",
}


@dataclass(frozen=True)
class Catalog:
    """The models of a catalog, the best version of each pair first."""

    kind: str
    origin: str
    """Address for messages."""
    models: tuple[CatalogModel, ...]
    is_local: bool = False
    """Whether it is a file, which may name files of this machine."""
    checked: float = 0.0
    """Time of the host's last answer; 0 for a file."""
    notes: tuple[str, ...] = ()
    """Messages about parts that could not be read."""


@dataclass(frozen=True)
class _Body:
    data: bytes
    checked: float


def base_address(variable: str) -> str:
    """Return the address of a catalog: an environment variable, or the public host."""
    found = os.environ.get(variable) or _ADDRESSES[variable]
    if not is_address(found):
        raise ConfigError(f"{variable} must be an address that begins with https://, got {ascii_line(found)}")
    return found


def default_catalog(kind: str = firefox.KIND, access: Access | None = None) -> Catalog:
    """Read the public catalog of a kind of models."""
    access = access or Access()
    if kind == firefox.KIND:
        return _firefox(access)
    if kind == argos.KIND:
        return read_catalog(base_address("DRAGOMAN_ARGOS_INDEX"), access)
    if kind in hugging_face.KINDS:
        origin = hugging_face.endpoint()

        def list_names() -> bytes:
            return json.dumps(hugging_face.list_names(access)).encode()

        body = _cached(f"{origin} {hugging_face.AUTHOR}", access, list_names)
        models = hugging_face.models_of_names(body.data, origin)
        return Catalog(kind, origin, tuple(model for model in models if model.kind == kind), checked=body.checked)
    near = did_you_mean(kind, KINDS, otherwise="kinds")
    raise ConfigError(
        f"the kind of a model must be one of {', '.join(KINDS)}, or a name on the hub, got {kind!r}{near}"
    )


def hub_model(repository: str, access: Access | None = None, revision: str = "main") -> CatalogModel:
    """Read one model of the Hugging Face hub by its name."""
    return hugging_face.read_model(repository, access or Access(), revision)


def complete(model: CatalogModel, access: Access | None = None) -> CatalogModel:
    """Return a chosen model with its files: a list of the hub has only names."""
    if model.files or not model.repository:
        return model
    return hub_model(model.repository, access)


def read_catalog(address: str, access: Access | None = None) -> Catalog:
    """Read a catalog of any known form: an address, a file, or the folder of a mirror."""
    access = access or Access()
    is_url = is_address(address)
    if is_url and urlsplit(address).scheme != "file":
        url = f"{address}{mirror.MIRROR}" if address.endswith("/") else address
        try:
            body = _cached(url, access, lambda: _fetch(url, access))
        except NotFoundError:
            if url.endswith((mirror.MIRROR, ".json")):
                raise
            url = f"{url}/{mirror.MIRROR}"
            body = _cached(url, access, lambda: _fetch(url, access))
        return _recognised(body.data, url, checked=body.checked)
    path = local_path(address) if is_url else Path(address).expanduser()
    path = path / mirror.MIRROR if path.is_dir() else path
    if not path.is_file():
        raise ConfigError(
            f"--catalog must be an address, a file or a folder of dragoman mirror, got {ascii_line(address)}"
        )
    if path.stat().st_size > MAX_CATALOG_BYTES:
        raise DataError(f"{path} must have at most {MAX_CATALOG_BYTES:,} bytes, got {path.stat().st_size:,}")
    return _recognised(path.read_bytes(), path.resolve().as_uri(), is_local=True)


def _recognised(data: bytes, url: str, *, is_local: bool = False, checked: float = 0.0) -> Catalog:
    """Read a catalog by the form of its content."""
    origin = str(local_path(url)) if is_local else shown(url)
    value = parse_json(data, origin)
    notes: list[str] = []
    if mirror.is_mirror(value):
        kind, models = "mirror", mirror.read_mirror(value, origin, url)
    elif firefox.is_registry(value):
        kind, models = firefox.KIND, firefox.read_registry(value, origin)
    elif firefox.is_records(value):
        kind = firefox.KIND
        models, notes = firefox.read_records(value, origin, base_address("DRAGOMAN_FIREFOX_ATTACHMENTS"))
    elif argos.is_index(value):
        kind, models = argos.KIND, argos.read_index(value, origin)
    else:
        raise DataError(
            f"{origin} is no catalog that Dragoman reads: a registry or records of Firefox Translations, an index of "
            "Argos, or a folder of dragoman mirror; name another catalog"
        )
    return Catalog(kind, origin, tuple(models), is_local, checked, tuple(notes))


def _firefox(access: Access) -> Catalog:
    """Read both sources; one of them is enough."""
    found: list[Catalog] = []
    notes: list[str] = []
    for variable in ("DRAGOMAN_FIREFOX_REGISTRY", "DRAGOMAN_FIREFOX_RECORDS"):
        try:
            found.append(read_catalog(base_address(variable), access))
            notes += found[-1].notes
        except DataError as error:
            notes.append(str(error))
    if not found:
        raise DataError(notes[0])
    if len(found) == 1:
        return dataclasses.replace(found[0], notes=tuple(notes))
    models = tuple(firefox.join(found[0].models, found[1].models))
    is_local, checked = all(each.is_local for each in found), min(each.checked for each in found)
    return Catalog(firefox.KIND, found[1].origin, models, is_local, checked, tuple(notes))


def _cached(key: str, access: Access, fetch: Callable[[], bytes]) -> _Body:
    """Return what is cached under a key for an hour, and without a network for ever; otherwise `fetch` it."""
    path = _cache_path(key)
    checked, data = _read_cache(path)
    if data is not None and (access.offline or is_offline() or 0 <= time.time() - checked < _MAX_AGE):
        return _Body(data, checked)
    if access.offline or is_offline():
        name = OFFLINE if is_offline() else "--offline"
        raise ConfigError(
            f"{ascii_line(key)} is not in the cache, and {name} forbids the network; read it once with a network, or "
            "name a local catalog with --catalog"
        )
    content, now = fetch(), time.time()
    if path is not None:
        with suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_write(path) as draft:
                draft.write_bytes(json.dumps({"checked": now, "size": len(content)}).encode() + b"\n" + content)
    return _Body(content, now)


def _cache_path(key: str) -> Path | None:
    try:
        return cache_folder() / "catalogs" / hashlib.sha256(key.encode()).hexdigest()[:32]
    except OSError:
        return None


def _read_cache(path: Path | None) -> tuple[float, bytes | None]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        header, _, data = path.read_bytes().partition(b"\n") if path else (b"", b"", b"")
        facts = json.loads(header)
        if facts["size"] == len(data):
            return float(facts["checked"]), data
    return 0.0, None


def _fetch(url: str, access: Access) -> bytes:
    """Request a catalog."""
    attempt = 0
    with open_client() as client:
        while True:
            try:
                with opened(client, url, access, {}) as response:
                    data, window = bytearray(), RateWindow()
                    for block in response.iter_raw():
                        data += block
                        window.add(len(block), url)
                        if len(data) > MAX_CATALOG_BYTES:
                            raise DataError(
                                f"{shown(url)} must have at most {MAX_CATALOG_BYTES:,} bytes; check the address"
                            )
                    check_beginning(response, bytes(data[:512]), url)
                    return bytes(data)
            except RetryError as error:
                pause(error, attempt)
                attempt += 1
