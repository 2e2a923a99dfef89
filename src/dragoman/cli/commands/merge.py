"""`dragoman merge`: merge a LoRA adapter into the weights of a saved model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_json, print_next, report_errors
from dragoman.cli.options.arguments import BundlePath, Json
from dragoman.cli.options.locate import locate_bundle
from dragoman.cli.options.outputs import Force, check_bundle_folder

__all__ = ["merge"]

AdapterFile = Annotated[
    Path,
    typer.Argument(metavar="ADAPTER", help="adapter.safetensors of a run with [training.lora], or its run folder."),
]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the new bundle.")]


def merge(bundle: BundlePath, adapter: AdapterFile, output: Output, force: Force = False, json: Json = False) -> None:
    """Merge a LoRA adapter into the weights of the bundle it was trained from.

    The adapter names its base by the hash of the weights; another bundle is refused.
    """
    with report_errors("start it again"):
        check_bundle_folder(output, force=force)
        from dragoman.bundle import Bundle
        from dragoman.bundle.adapter import ADAPTER, Adapter, merge_adapter

        opened = Adapter.open(adapter / ADAPTER if adapter.is_dir() else adapter)
        merged = merge_adapter(Bundle.open(locate_bundle(bundle)), opened, output)
    if json:
        print_json({"folder": str(merged.folder), "digest": merged.digest, "weights": len(opened.factors)})
        return
    echo(f"{len(opened.factors)} weights changed, rank {opened.rank}, alpha {opened.alpha:g}")
    echo(f"bundle  {merged.folder}")
    print_next(f"dragoman translate {shlex.quote(str(output))}")
