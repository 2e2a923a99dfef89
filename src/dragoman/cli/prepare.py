"""``dragoman prepare``: clean, de-duplicate, split, learn the tokenizer, write shards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.cli.config import Json, Overrides
from dragoman.cli.console import friendly, print_json, print_table

__all__ = ["ConfigFile", "DEFAULT_CONFIG", "OnBadLineOption", "Processes", "config_in", "overrides_with", "prepare"]

DEFAULT_CONFIG = Path("dragoman.toml")

ConfigFile = Annotated[Path, typer.Argument(metavar="[CONFIG]", help="The .toml file that names the corpora.")]
Processes = Annotated[int, typer.Option(min=1, help="How many processes work; the result is the same for any number.")]
OnBadLineOption = Annotated[
    str | None,
    typer.Option("--on-bad-line", metavar="error|skip|replace", help="A line that is not valid text: what to do."),
]


def prepare(
    config: ConfigFile = DEFAULT_CONFIG,
    overrides: Overrides = None,
    processes: Processes = 2,
    on_bad_line: OnBadLineOption = None,
    json: Json = False,
) -> None:
    """Clean, de-duplicate and split the corpora, learn the tokenizer, and write shards to train from.

    Running it again does only what changed; after an interruption, only what is missing.
    """
    from dragoman.environment import require

    with friendly():
        from dragoman.config import load_config

        config = config_in(config)
        settings = load_config(config, overrides_with(overrides, on_bad_line))
        require("polars", "train", "dragoman prepare")
        from dragoman.api import prepare_corpora
        from dragoman.cli.progress import ScreenProgress

        with ScreenProgress() as progress:
            prepared = prepare_corpora(settings, config.parent, processes=processes, progress=progress)
    if json:
        print_json(prepared.manifest)
    else:
        _print(prepared.folder, prepared.manifest)


def config_in(path: Path) -> Path:
    """The configuration of a project, where the project's folder is named."""
    return path / DEFAULT_CONFIG if path.is_dir() else path


def overrides_with(overrides: list[str] | None, on_bad_line: str | None) -> list[str]:
    """The overrides of the command line, with that of ``--on-bad-line`` among them."""
    return [*(overrides or []), *([f'data.on_bad_line="{on_bad_line}"'] if on_bad_line else [])]


def _print(folder: Path, manifest: dict[str, Any]) -> None:
    rows = [("set", "corpus", "pairs", "source pieces", "target pieces")]
    for name, split in manifest["splits"].items():
        rows += [(name, corpus["name"], f"{corpus['rows']:,}", "", "") for corpus in split["corpora"]]
        pieces = split["pieces"]
        rows.append((name, "in all", f"{split['rows']:,}", f"{pieces['source']:,}", f"{pieces['target']:,}"))
    rows += [(name, "", f"{count:,}", "", "") for name, count in manifest["pairs"]["taken"].items() if name == "test"]
    print_table(rows, right=frozenset({2, 3, 4}))
    for corpus in manifest["splits"]["train"]["corpora"]:
        if not corpus["rows"]:
            typer.echo(f"note: none of the pairs of {corpus['name']} is left; report.json says why", err=True)
    sizes = dict.fromkeys(f"{entry['path']} ({entry['pieces']:,} pieces)" for entry in manifest["tokenizers"].values())
    pairs = manifest["pairs"]
    typer.echo(f"\n{pairs['kept']:,} of {pairs['read']:,} training pairs; report.json says what was dropped and why")
    typer.echo(f"{folder}: {', '.join(sizes)}")
