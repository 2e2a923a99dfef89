"""`dragoman export`: export a saved model to another inference engine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.cli.console import echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import BundlePath, Json, option
from dragoman.cli.options.catalogs import megabytes
from dragoman.cli.options.models import locate_bundle
from dragoman.cli.options.outputs import Force, check_folder

if TYPE_CHECKING:
    from dragoman.engines.export_cache import ExportResult


def export(
    bundle: BundlePath,
    to: Annotated[
        str, option("ctranslate2|onnx", "Target engine; ctranslate2 runs Transformers, onnx RNNs and SSRUs.")
    ],
    precision: Annotated[
        str, option("auto|float32|int8", "Number format; auto is that of translate and serve.")
    ] = "auto",
    output: Annotated[
        Path | None, option("DIR", "Output folder; by default in the cache, for reuse.", "--output", "-o")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Export a bundle for CTranslate2 or ONNX Runtime.

    Other commands export automatically. Use this command for folders that are read-only later, or for other programs.
    """
    with report_errors():
        if output is not None:
            check_folder(output, force=force)
        from dragoman.engines.export_cache import export_bundle

        exported = export_bundle(locate_bundle(bundle), to, precision=precision, output=output)
    if json:
        print_json(_facts(exported))
        return
    print_table([(name, megabytes(size)) for name, size in exported.sizes.items()], right=frozenset({1}))
    echo(f"\n{exported.note}: {megabytes(exported.bytes)}; the bundle has {megabytes(exported.bundle_bytes)}")
    if output is None:
        print_next(f"dragoman translate {shlex.quote(str(bundle))} --engine {to} --precision {exported.precision}")


def _facts(exported: ExportResult) -> dict[str, Any]:
    return {
        "kind": exported.kind,
        "precision": exported.precision,
        "folder": str(exported.folder),
        "files": exported.sizes,
        "bytes": exported.bytes,
        "bundle_bytes": exported.bundle_bytes,
        "is_new": exported.is_new,
    }
