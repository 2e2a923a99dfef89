"""Options and tables of the commands that read catalogs of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from dragoman.cli.console import echo
from dragoman.cli.options.arguments import flag, option

if TYPE_CHECKING:
    from dragoman.catalogs.catalog_model import CatalogModel

NOT_STATED = "not stated"
_MAX_SCORES = 3  # in a table

Kind = Annotated[
    str | None,
    option(
        "KIND",
        "Kind of model: firefox, opus-mt, opus-mt-tc-big, argos, the name of one on the Hugging Face hub, or "
        "a kind of the catalog.",
        "--kind",
        default="firefox",
    ),
]
CatalogAddress = Annotated[
    str | None,
    option(
        "URL|PATH",
        "Catalog to use: an address, a file, or a folder of dragoman mirror.",
        "--catalog",
        default="DRAGOMAN_CATALOG, or the public one of the kind",
        envvar="DRAGOMAN_CATALOG",
    ),
]
AllowHttp = Annotated[bool, flag("--allow-http", "Allow addresses without encryption.")]


def model_rows(models: Sequence[CatalogModel]) -> list[tuple[str, ...]]:
    """Return the rows of a table of models, with its head."""
    rows: list[tuple[str, ...]] = [("pair", "kind", "version", "architecture", "size", "licence", "published scores")]
    for each in models:
        size = megabytes(each.size) if each.size else NOT_STATED
        start = (each.pair, each.kind, each.version, each.architecture or NOT_STATED, size)
        rows.append((*start, each.licence or NOT_STATED, scores_text(each.scores)))
    return rows


def scores_text(scores: Mapping[str, float]) -> str:
    """Return the first scores of a model as its origin publishes them."""
    return ", ".join(f"{name} {value:g}" for name, value in list(scores.items())[:_MAX_SCORES]) or NOT_STATED


def megabytes(size: int) -> str:
    """Format a number of bytes."""
    return f"{size / 1e6:,.1f} MB"


def print_waiting() -> None:
    """Print that another process changes the store."""
    echo("another process changes the model store; waiting for it", err=True)
