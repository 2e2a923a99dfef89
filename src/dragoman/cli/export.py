"""``dragoman export``: a bundle in the form that a fast engine reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.config import Json
from dragoman.cli.console import friendly, print_json, print_table

if TYPE_CHECKING:
    from dragoman.api.exporting import Exported

__all__ = ["export"]


def export(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="A trained translator: a folder, or a zip of one.")],
    to: Annotated[str, typer.Option(metavar="ctranslate2|onnx", help="The first is for Transformers.")],
    precision: Annotated[str, typer.Option(metavar="float32|int8", help="How exact its numbers are.")] = "float32",
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to; without, beside the bundle, where it will be found.")
    ] = None,
    json: Json = False,
) -> None:
    """Export a translator for CTranslate2 or ONNX Runtime.

    Translating does so by itself where it needs to: this prepares a place that cannot be written to later, or files
    for other programs.
    """
    with friendly():
        from dragoman.api.exporting import export_bundle

        exported = export_bundle(bundle, to, precision=precision, output=output)
    if json:
        print_json(_facts(exported))
        return
    print_table([(name, _megabytes(size)) for name, size in exported.sizes.items()], right=frozenset({1}))
    typer.echo(f"\n{exported.note}: {_megabytes(exported.bytes)}; the bundle has {_megabytes(exported.bundle_bytes)}")


def _facts(exported: Exported) -> dict[str, Any]:
    return {
        "kind": exported.kind,
        "precision": exported.precision,
        "folder": str(exported.folder),
        "files": exported.sizes,
        "bytes": exported.bytes,
        "bundle_bytes": exported.bundle_bytes,
        "is_new": exported.is_new,
    }


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
