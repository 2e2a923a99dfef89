"""`dragoman get`: download a model, verify it and store it as a bundle."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.console import echo, print_next, print_table, report_errors
from dragoman.cli.options.arguments import argument
from dragoman.cli.options.catalogs import AllowHttp, CatalogAddress, Kind, model_rows, print_waiting

if TYPE_CHECKING:
    from dragoman.api.model_store.get_models import Plan

Pair = Annotated[str, argument("PAIR", "Language pair: en-pt, or en-zh-Hant.")]


def get(pair: Pair, kind: Kind = None, catalog: CatalogAddress = None, allow_http: AllowHttp = False) -> None:
    """Download a model of a language pair, verify it and store it as a bundle.

    A pair without a model takes two, through English. A stored pair is not downloaded again; dragoman models update
    gets a newer version. An interrupted download is continued.
    """
    with report_errors("run the same command to continue the download"):
        from dragoman.api.model_store.get_models import Source, fetch, plan_get
        from dragoman.bundle.model_store import ModelStore
        from dragoman.catalogs.http_client import Access
        from dragoman.cli.screens.progress import ProgressDisplay

        store = ModelStore.of_user()
        plan = plan_get(store, pair, Source(kind, catalog, Access(allow_http=allow_http)))
        _print_plan(plan)
        with ProgressDisplay(unit="byte") as progress:
            entries = fetch(store, plan, progress, print_waiting)
        for entry in entries:
            place = " + ".join(entry.route) if entry.route else str(store.bundle(entry))
            echo(f"model   {entry.name}: {place}")
    name = entries[-1].name
    print_next(f"dragoman translate {shlex.quote(name)}    or  dragoman serve {shlex.quote(name)}")


def _print_plan(plan: Plan) -> None:
    """Print what will be downloaded."""
    if plan.stored:
        last = plan.stored[-1]
        version = "" if last.route else f", version {last.current.version}"
        echo(f"{last.name} is stored{version}; dragoman models update {last.name} gets a newer one", err=True)
        return
    if len(plan.models) > 1:
        echo(f"no model translates {plan.pair} directly; two do, through {plan.models[0].target}", err=True)
    rows = model_rows(plan.models)
    print_table(rows, right=frozenset({4}))
    origins = dict.fromkeys(model.origin for model in plan.models if model.origin)
    echo(f"from {', '.join(origins)}\n" if origins else "")


def mirror(
    folder: Annotated[Path, argument("FOLDER", "Folder to write, or to add models to.")],
    pairs: Annotated[list[str], argument("PAIR…", "Language pairs: en-pt pt-en.")],
    kind: Kind = None,
    catalog: CatalogAddress = None,
    allow_http: AllowHttp = False,
) -> None:
    """Write a folder of models for machines without network, or for a web server.

    dragoman get --catalog FOLDER reads it, also through a web server. Stored models are copied, others downloaded.
    """
    with report_errors("run the same command to continue"):
        from dragoman.api.model_store.get_models import Source, plan_get
        from dragoman.api.model_store.mirror_models import mirror as run
        from dragoman.bundle.model_store import ModelStore
        from dragoman.catalogs.http_client import Access
        from dragoman.cli.screens.progress import ProgressDisplay

        store, origin = ModelStore.of_user(), Source(kind, catalog, Access(allow_http=allow_http))
        plans = [plan_get(store, pair, origin) for pair in pairs]
        with ProgressDisplay(unit="byte") as progress:
            models = run(store, folder, plans, progress)
    print_table(model_rows(models), right=frozenset({4}))
    print_next(f"dragoman get {shlex.quote(pairs[0])} --catalog {shlex.quote(str(folder))}")
