"""Write a mirror: a folder of models with a catalog, for machines without network or behind any web server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from dragoman.api.model_store.get_models import Plan, free_name, shareable_origin
from dragoman.bundle.model_store import ModelEntry, ModelStore
from dragoman.catalogs.catalog_model import CatalogFile, CatalogModel
from dragoman.catalogs.download import download, download_model
from dragoman.catalogs.find_catalog import read_catalog
from dragoman.catalogs.mirror import MIRROR, write_mirror_catalog
from dragoman.errors import ConfigError
from dragoman.files import sha256_of_file
from dragoman.progress import NoProgress, Progress


def mirror(
    store: ModelStore, folder: Path, plans: Sequence[Plan], progress: Progress | None = None
) -> list[CatalogModel]:
    """Add the models of plans to a mirror, and return all models that it has; stored models are copied."""
    folder.mkdir(parents=True, exist_ok=True)
    is_new = not (folder / MIRROR).is_file()
    models = {(each.kind, each.pair): each for each in _existing(folder)}
    for plan in plans:
        stored = [_of_entry(store, each) for each in plan.stored if not each.route]
        for model in stored or plan.models:
            owners = {each.files[0].url.partition("/")[0]: (each.pair, each.kind) for each in models.values()}
            name = free_name("-".join(plan.languages_of(model)), plan.kind_of(model), owners)
            if is_new and name not in owners and (folder / name).exists():
                raise ConfigError(f"{folder / name} exists, and {folder} is no mirror yet; name another folder")
            write_mirror_catalog(folder, list(models.values()))  # an interrupted mirror is continued
            added = _add(folder, name, model, plan, progress or NoProgress(), is_local=bool(stored) or plan.is_local)
            models[added.kind, added.pair] = added
            write_mirror_catalog(folder, list(models.values()))
    return list(models.values())


def _add(
    folder: Path, name: str, model: CatalogModel, plan: Plan, progress: Progress, *, is_local: bool
) -> CatalogModel:
    place, access = folder / name, plan.origin.access
    place.mkdir(exist_ok=True)
    if model.repository and not is_local:
        download_model(model, place, progress, access)
    else:
        for file in model.files:
            download(file, place, progress, access, is_local=is_local)
    source, target = plan.languages_of(model)
    files = tuple(_in_mirror(name, place / file.name) for file in model.files)
    kind, origin = plan.kind_of(model), shareable_origin(model)
    return replace(model, files=files, repository="", kind=kind, source=source, target=target, origin=origin)


def _in_mirror(name: str, path: Path) -> CatalogFile:
    size, digest = path.stat().st_size, sha256_of_file(path)
    return CatalogFile(
        path.name, f"{name}/{path.name}", size=size, sha256=digest, content_size=size, content_sha256=digest
    )


def _existing(folder: Path) -> list[CatalogModel]:
    """Return the models of a mirror, with addresses relative to it."""
    if not (folder / MIRROR).is_file():
        return []
    start = f"{folder.resolve().as_uri()}/"
    return [
        replace(each, files=tuple(replace(file, url=unquote(file.url.removeprefix(start))) for file in each.files))
        for each in read_catalog(str(folder)).models
    ]


def _of_entry(store: ModelStore, entry: ModelEntry) -> CatalogModel:
    version = entry.current
    files = tuple(
        CatalogFile(
            each.name,
            (store.files / each.sha256).resolve().as_uri(),
            size=each.size,
            sha256=each.sha256,
            content_size=each.size,
            content_sha256=each.sha256,
        )
        for each in version.files
    )
    return CatalogModel(
        entry.kind,
        entry.source,
        entry.target,
        version.version,
        files,
        version.architecture,
        licence=version.licence,
        scores=version.published_scores,
        origin=version.origin,
        archive=version.archive,
    )
