"""Get models from catalogs into the store: choose, download, import, and record where they come from."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dragoman.api.model_store.store_writer import (
    check_name,
    check_place,
    downloads_folder,
    drafts_folder,
    install,
    keep_file,
    link_or_copy,
    locked,
    readable_entries,
    remove_unused_files,
    verify,
    with_version,
    write_entry,
)
from dragoman.api.translation.translator import Translator
from dragoman.bundle.model_store import ModelEntry, ModelStore, StoredVersion
from dragoman.catalogs.catalog_model import CatalogModel, route
from dragoman.catalogs.download import download_model
from dragoman.catalogs.find_catalog import KINDS, complete, default_catalog, hub_model, read_catalog
from dragoman.catalogs.http_client import Access
from dragoman.errors import BundleError, ConfigError
from dragoman.importing.import_model import import_model
from dragoman.language_codes import match_rank, parse_pair
from dragoman.progress import NoProgress, Progress

DEFAULT_KIND = KINDS[0]
_PROBE = "Hello, world."
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_MAX_VERSION, _MAX_MODEL = 40, 90  # characters in the name of a folder


@dataclass(frozen=True)
class Source:
    """Where models come from."""

    kind: str | None = None
    """A kind of models, or the name of one on the Hugging Face hub; by default that of Firefox Translations."""
    catalog: str | None = None
    """Address, file or folder of a catalog; by default the public one of the kind."""
    access: Access = Access()  # noqa: RUF009 -- it cannot be changed

    @property
    def repository(self) -> str:
        """The name of a model on the hub; empty if `kind` is none."""
        return self.kind if self.kind is not None and "/" in self.kind and self.catalog is None else ""

    @property
    def address(self) -> str:
        """What an entry records, for updates: an address without password, but no path of this machine."""
        scheme, separator, rest = (self.catalog or "").partition("://")
        if not separator or scheme == "file":
            return ""
        host, slash, path = rest.partition("/")
        return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


@dataclass(frozen=True)
class Plan:
    """What `fetch` will do: the models to download for a language pair, none if they are stored."""

    source: str
    target: str
    origin: Source
    stored: tuple[ModelEntry, ...] = ()
    """The stored models of the pair, and the route if they are two."""
    models: tuple[CatalogModel, ...] = ()
    """One model, or two through a pivot language."""
    is_local: bool = False

    @property
    def pair(self) -> str:
        """Both languages: ``en-pt``."""
        return f"{self.source}-{self.target}"

    def kind_of(self, model: CatalogModel) -> str:
        return self.origin.repository or model.kind

    def languages_of(self, model: CatalogModel) -> tuple[str, str]:
        """Return the languages to import; models of the hub may have several."""
        return (self.source, self.target) if self.origin.repository else (model.source, model.target)


def plan_get(store: ModelStore, pair: str, origin: Source) -> Plan:
    """Choose the models of a language pair; a pair that is stored needs no catalog."""
    languages = parse_pair(pair)
    if languages is None:
        raise ConfigError(f"a language pair must be two codes such as en-pt or en-zh-Hant, got {pair!r}; write one")
    kind = origin.kind or ("" if origin.catalog else DEFAULT_KIND)
    if found := stored_entries(store, *languages, kind):
        return Plan(*languages, origin, stored=found)
    models, is_local = _offered(*languages, origin)
    return Plan(*languages, origin, models=models, is_local=is_local)


def fetch(
    store: ModelStore, plan: Plan, progress: Progress | None = None, on_wait: Callable[[], None] = lambda: None
) -> tuple[ModelEntry, ...]:
    """Download and import the models of a plan; return the entries of the pair, of which the last is the one to use."""
    if plan.stored:
        return plan.stored
    entries: list[ModelEntry] = []
    with locked(store, on_wait):
        for model in plan.models:
            # Another process may have stored it since the plan was made.
            found = stored_entries(store, *plan.languages_of(model), plan.kind_of(model))
            entries.append(found[-1] if found else _add(store, model, plan, progress or NoProgress()))
        if len(entries) > 1:
            kind, names = entries[0].kind, (entries[0].name, entries[1].name)
            name = free_name(plan.pair, kind, _owners(store))
            entries.append(ModelEntry(name=name, source=plan.source, target=plan.target, kind=kind, route=names))
            write_entry(store, entries[-1])
    return tuple(entries)


def update(
    store: ModelStore,
    name: str,
    origin: Source,
    progress: Progress | None = None,
    on_wait: Callable[[], None] = lambda: None,
) -> list[tuple[ModelEntry, bool]]:
    """Get the newest version of a stored model, or of both models of a route; return whether each is new."""
    entry = store.read(check_name(store, name))
    if entry.route:
        return [found for leg in store.legs(entry) for found in update(store, leg.name, origin, progress, on_wait)]
    if not (origin.catalog or entry.current.catalog or "://" in entry.current.origin):
        raise ConfigError(
            f"{name} is of a local catalog, {entry.current.origin or 'without address'}; name it: --catalog"
        )
    origin = Source(entry.kind, origin.catalog or entry.current.catalog or None, origin.access)
    models, is_local = _offered(entry.source, entry.target, origin)
    if len(models) > 1:
        raise ConfigError(f"the catalog has no model {entry.pair} any more; the stored one stays")
    if _is_current(entry, models[0]) and _is_intact(store, name):
        return [(entry, False)]
    plan = Plan(entry.source, entry.target, origin, models=models, is_local=is_local)
    with locked(store, on_wait):
        new = _add(store, models[0], plan, progress or NoProgress(), replaced=entry)
        remove_unused_files(store)
    return [(new, True)]


def stored_entries(store: ModelStore, source: str, target: str, kind: str) -> tuple[ModelEntry, ...]:
    """Return the stored model of a pair and a kind, if any; of a route both models, and then the route."""
    names = set(store.names())
    for entry in store.of_pair(source, target):
        if kind in ("", entry.kind) and names.issuperset(entry.route):
            return (*map(store.read, entry.route), entry)
    return ()


def store_name(pair: str, kind: str) -> str:
    """Return the name of a model in the store: that of the pair for the default kind."""
    if kind == DEFAULT_KIND:
        return pair
    slug = _UNSAFE.sub("-", kind.rpartition("/")[2]).strip("-._") or "model"
    is_complete = pair.lower() in slug.lower() and parse_pair(slug) is None  # en-pt is the name of the default kind
    return (slug if is_complete else f"{pair}-{slug}")[:_MAX_MODEL]


def free_name(pair: str, kind: str, owners: Mapping[str, tuple[str, str]]) -> str:
    """Return the name of a model: with a number if another one has it, also if it differs in case only."""
    taken = {name.lower(): owner for name, owner in owners.items()}
    name = store_name(pair, kind)
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(each for each in names if taken.get(each.lower(), (pair, kind)) == (pair, kind))


def shareable_origin(model: CatalogModel) -> str:
    """Return the origin of a model; of a local catalog only the name, since servers and mirrors show it to others."""
    return model.origin if "://" in model.origin else Path(model.origin).name


def _owners(store: ModelStore) -> dict[str, tuple[str, str]]:
    return {each.name: (each.pair, each.kind) for each in readable_entries(store)}


def _offered(source: str, target: str, origin: Source) -> tuple[tuple[CatalogModel, ...], bool]:
    """Return the models of a pair from a catalog, and whether its files are local."""
    if origin.repository:
        model = hub_model(origin.repository, origin.access)
        for asked, own in ((source, model.source), (target, model.target)):
            if len(own.partition("-")[0]) == 2 and match_rank(asked, own) is None:
                raise ConfigError(f"{origin.repository} translates {model.pair}, and not {source}-{target}")
        return (model,), False
    if origin.catalog is None:
        found, kind = default_catalog(origin.kind or DEFAULT_KIND, origin.access), ""
    else:
        found, kind = read_catalog(origin.catalog, origin.access), origin.kind or ""
    return tuple(complete(each, origin.access) for each in route(found.models, source, target, kind)), found.is_local


def _add(
    store: ModelStore, model: CatalogModel, plan: Plan, progress: Progress, *, replaced: ModelEntry | None = None
) -> ModelEntry:
    """Download and import one model; one that replaces another must translate. Called with the lock."""
    languages = plan.languages_of(model)
    name = replaced.name if replaced else free_name("-".join(languages), plan.kind_of(model), _owners(store))
    check_place(store, name)
    folder = downloads_folder(store, _digest(model), name)  # the bundle has the name of the last folder
    for file in model.files:  # files of other models and versions are not downloaded again
        known = store.files / (file.sha256 if model.archive else file.content_sha256)
        if known.is_file() and not (folder / file.name).exists():
            link_or_copy(known, folder / file.name)
    unpacked = download_model(model, folder, progress, plan.origin.access, is_local=plan.is_local)
    files = tuple(keep_file(store, folder / file.name) for file in model.files)
    draft = drafts_folder(store) / name
    found = import_model(unpacked, draft, languages=languages, licence=model.licence or None, progress=progress)
    if replaced is not None:
        progress.begin(f"trying {name}")
        _probe(draft, name)
    version = StoredVersion(
        version=model.version,
        folder=f"{_UNSAFE.sub('-', model.version).strip('-._')[:_MAX_VERSION] or 'v'}-{found.bundle.digest[:8]}",
        digest=found.bundle.digest,
        architecture=model.architecture,
        archive=model.archive,
        origin=shareable_origin(model),
        catalog=plan.origin.address,
        licence=model.licence,
        published_scores=dict(model.scores),
        files=files,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    source, target = (replaced.source, replaced.target) if replaced else languages
    entry = ModelEntry(name=name, source=source, target=target, kind=plan.kind_of(model), versions=(version,))
    known_entry = next((each for each in readable_entries(store) if each.name == name), None)
    entry = with_version(known_entry, entry)
    install(store, draft, entry)
    shutil.rmtree(folder.parent, ignore_errors=True)
    return entry


def _probe(bundle: Path, name: str) -> None:
    """Translate a sentence with a new version; raise a `BundleError` if there is no usable translation."""
    with Translator.open(bundle) as translator:
        found = translator.direction(*translator.directions[0]).translate(_PROBE)
    if not found.text.strip() or not math.isfinite(found.score):
        raise BundleError(f"the new version of {name} does not translate a sentence; the old version stays in use")


def _is_current(entry: ModelEntry, model: CatalogModel) -> bool:
    stored = {file.sha256 for file in entry.current.files}
    stated = {each for file in model.files if (each := file.sha256 if model.archive else file.content_sha256)}
    return entry.current.version == model.version and stated <= stored


def _is_intact(store: ModelStore, name: str) -> bool:
    try:
        verify(store, name)
    except BundleError:
        return False
    return True


def _digest(model: CatalogModel) -> str:
    text = repr([(each.name, each.url, each.sha256, each.content_sha256) for each in model.files])
    return hashlib.sha256(text.encode()).hexdigest()[:12]
