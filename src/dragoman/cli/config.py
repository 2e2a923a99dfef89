"""``dragoman config``: look at settings, presets and the schema."""

from __future__ import annotations

from typing import Annotated

import typer

from dragoman.cli.console import friendly, print_json, print_table

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Look at settings: show one resolved, list the presets, print the schema.")

Source = Annotated[str, typer.Argument(metavar="CONFIG", help="A .toml file, or the name of a preset.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="A.B=C", help="Override one setting; may be repeated.")
]
Json = Annotated[bool, typer.Option("--json", help="For scripts.")]


@app.command()
def show(config: Source, overrides: Overrides = None, json: Json = False) -> None:
    """Print a configuration in full, with what it extends and every default resolved."""
    from dragoman.config import load_config, to_toml

    with friendly():
        resolved = load_config(config, overrides or [])
        if json:
            print_json(resolved.model_dump())
        else:
            typer.echo(to_toml(resolved), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a configuration file, for editors."""
    from dragoman.config import file_schema

    print_json(file_schema())


@app.command()
def presets(json: Json = False) -> None:
    """List the shipped presets: one per paper, their desk-sized siblings, and one per amount of data."""
    from dragoman.config import load_config, preset_names

    described = {name: load_config(name).description for name in preset_names()}
    if json:
        print_json(described)
    else:
        print_table(list(described.items()))
