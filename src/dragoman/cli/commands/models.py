"""`dragoman models`: list, search, remove, verify and update models."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.console import echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import Json, argument, flag
from dragoman.cli.options.catalogs import (
    NOT_STATED,
    AllowHttp,
    CatalogAddress,
    Kind,
    megabytes,
    model_rows,
    print_waiting,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.bundle.model_store import ModelEntry, ModelStore
    from dragoman.catalogs.catalog_model import CatalogModel
    from dragoman.catalogs.http_client import Access

Name = Annotated[str, argument("NAME", "Name of a stored model: en-pt.")]
Names = Annotated[list[str] | None, argument("[NAME]…", "Names of stored models; all if there are none.")]
Back = Annotated[bool, flag("--back", "Return to the version before the last update.")]

_HELP = """List the stored models; search, remove, verify and update them.

The store is the folder DRAGOMAN_MODELS, or one in the user's data folder; a copy of it works on another machine."""
app = typer.Typer(help=_HELP)


@app.callback(invoke_without_command=True)
def models(ctx: typer.Context, json: Json = False) -> None:
    """List the stored models."""
    if ctx.invoked_subcommand is not None:
        return
    with report_errors():
        from dragoman.bundle.locate import example_bundles
        from dragoman.bundle.model_store import ModelStore
        from dragoman.errors import BundleError

        store, described = ModelStore.of_user(), []
        for name in store.names():
            try:
                described.append(_facts(store, store.read(name)))
            except (BundleError, OSError) as error:  # damage of one model
                lost = f"{name} has no bundle that can be read; dragoman models update {name} gets it again"
                echo(f"note    {error if isinstance(error, BundleError) else lost}", err=True)
        described += [_example_facts(each) for each in example_bundles()]
    if json:
        print_json(described)
        return
    if not described and not store.names():
        echo(f"no models in {store.folder}", err=True)
        print_next("dragoman get en-pt")
        return
    rows = [("name", "pair", "kind", "version", "size", "date", "last used", "licence", "origin")]
    print_table(rows + [_row(each) for each in described], right=frozenset({4}))


@app.command()
def remove(name: Name) -> None:
    """Remove a stored model, and the files that no other one has."""
    with report_errors("run it again"):
        from dragoman.api.model_store.store_writer import remove as run
        from dragoman.bundle.model_store import ModelStore

        run(ModelStore.of_user(), name)
    echo(f"removed {name}")


@app.command()
def verify(names: Names = None) -> None:
    """Compare stored files and bundles with their hashes."""
    with report_errors("run it again"):
        from dragoman.api.model_store.store_writer import verify as run
        from dragoman.bundle.model_store import ModelStore

        store = ModelStore.of_user()
        for name in names or store.names():
            entry = run(store, name)
            echo(f"{name}: {'route through ' + ' and '.join(entry.route) if entry.route else 'no differences'}")


@app.command()
def update(name: Name, back: Back = False, catalog: CatalogAddress = None, allow_http: AllowHttp = False) -> None:
    """Get the newest version of a stored model, or return to the previous one.

    The old version stays in use until the new one has translated a sentence.
    """
    with report_errors("run the same command to continue the download"):
        from dragoman.bundle.model_store import ModelStore

        store = ModelStore.of_user()
        if back:
            from dragoman.api.model_store.store_writer import swap_versions

            entry = swap_versions(store, name)
            echo(f"{name}: version {entry.current.version} again, in place of {entry.versions[1].version}")
            return
        from dragoman.api.model_store.get_models import Source
        from dragoman.api.model_store.get_models import update as run
        from dragoman.catalogs.http_client import Access
        from dragoman.cli.screens.progress import ProgressDisplay

        origin = Source(None, catalog, Access(allow_http=allow_http))
        with ProgressDisplay(unit="byte") as progress:
            updated = run(store, name, origin, progress, print_waiting)
    for entry, is_new in updated:
        before = f", before {entry.versions[1].version}" if len(entry.versions) > 1 else ""
        echo(f"{entry.name}: {f'version {entry.current.version}{before}' if is_new else 'has the newest version'}")
        if is_new and before:
            print_next(f"dragoman models update {entry.name} --back    returns to the version before")


@app.command()
def search(
    text: Annotated[str, argument("[TEXT]", "Language or pair: pt, en-pt; all if there is none.")] = "",
    kind: Kind = None,
    catalog: CatalogAddress = None,
    offline: Annotated[bool, flag("--offline", "Read only what was read before.")] = False,
    allow_http: AllowHttp = False,
    json: Json = False,
) -> None:
    """List the models of the public catalogs, or of one catalog, for a language or a pair."""
    with report_errors("run it again"):
        from dragoman.catalogs.catalog_model import search as find
        from dragoman.catalogs.http_client import Access

        found = find(_offered(kind, catalog, Access(offline=offline, allow_http=allow_http)), text)
    if json:
        print_json([_offer_facts(each) for each in found])
        return
    if not found:
        echo(f"no model for {text}", err=True)
        return
    print_table(model_rows(found), right=frozenset({4}))
    print_next(f"dragoman get {found[0].pair}")


def _offered(kind: str | None, catalog: str | None, access: Access) -> list[CatalogModel]:
    """Return the models of a catalog, or of all public ones; one that cannot be read is a note on stderr."""
    from dragoman.catalogs.find_catalog import KINDS, default_catalog, read_catalog
    from dragoman.errors import DragomanError

    if catalog is not None:
        models = read_catalog(catalog, access).models
        return [each for each in models if kind in (None, each.kind)]
    kinds = KINDS if kind is None else (kind,)
    found: list[CatalogModel] = []
    errors: list[DragomanError] = []
    for each in kinds:
        try:
            found += default_catalog(each, access).models
        except DragomanError as error:
            errors.append(error)
    if len(errors) == len(kinds):
        raise errors[0]
    for text in dict.fromkeys(map(str, errors)):
        echo(f"note    {text}", err=True)
    return found


def _offer_facts(model: CatalogModel) -> dict[str, Any]:
    return {
        "pair": model.pair,
        "kind": model.kind,
        "version": model.version,
        "architecture": model.architecture,
        "bytes": model.size or None,
        "licence": model.licence or None,
        "published_scores": dict(model.scores),
        "origin": model.origin,
    }


def _facts(store: ModelStore, entry: ModelEntry) -> dict[str, Any]:
    from dragoman.api.model_store.store_writer import size_on_disk

    used = store.last_used(entry.name)
    facts: dict[str, Any] = {"name": entry.name, "pair": entry.pair, "kind": entry.kind, "route": list(entry.route)}
    facts["last_used"] = None if used is None else datetime.fromtimestamp(used, UTC).isoformat(timespec="seconds")
    if entry.route:
        return facts
    current = entry.current
    return facts | {
        "version": current.version,
        "previous": [each.version for each in entry.versions[1:]],
        "architecture": current.architecture,
        "bytes": sum(size_on_disk(store, entry, each) for each in entry.versions),
        "date": current.date,
        "licence": current.licence or None,
        "origin": current.origin,
        "published_scores": current.published_scores,
        "bundle": str(store.bundle(entry)),
    }


def _example_facts(bundle: Path) -> dict[str, Any]:
    """Describe a model of the package as `_facts` does."""
    from dragoman.bundle.bundle import open_outline
    from dragoman.bundle.model_card import stated_licence

    opened = open_outline(bundle)
    assert opened.config.data is not None
    return {
        "name": bundle.name,
        "pair": f"{opened.config.data.source}-{opened.config.data.target}",
        "kind": "example",
        "route": [],
        "last_used": None,
        "version": "",
        "previous": [],
        "architecture": "",
        "bytes": sum(each["size"] for each in opened.manifest["files"].values()),
        "date": "",
        "licence": stated_licence(opened.card()),
        "origin": "part of Dragoman",
        "published_scores": {},
        "bundle": str(bundle),
    }


def _row(facts: dict[str, Any]) -> tuple[str, ...]:
    used = (facts["last_used"] or "never")[:10]
    start = (facts["name"], facts["pair"], facts["kind"])
    if facts["route"]:
        return (*start, "route", "", "", used, "", " + ".join(facts["route"]))
    size = megabytes(facts["bytes"])
    return (*start, facts["version"], size, facts["date"][:10], used, facts["licence"] or NOT_STATED, facts["origin"])
