"""`dragoman config`: print configurations with all defaults, the presets and the JSON Schema."""

import typer

from dragoman.cli.console import echo, print_json, print_table, report_errors
from dragoman.cli.options.arguments import AnyConfig, Json, Overrides, any_config

app = typer.Typer(help="Show configurations, presets and the JSON Schema.")


@app.command()
def show(config: AnyConfig, overrides: Overrides = None, json: Json = False) -> None:
    """Print a configuration with all defaults and presets resolved."""
    from dragoman.config import load_config, to_toml

    with report_errors():
        resolved = load_config(any_config(config), overrides or [])
        if json:
            print_json(resolved.model_dump())
        else:
            echo(to_toml(resolved), nl=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of configuration files, for editors."""
    from dragoman.config import file_schema

    print_json(file_schema())


@app.command()
def presets(json: Json = False) -> None:
    """List the presets: by paper, by paper in desk size, and by amount of data."""
    from dragoman.config import load_config, preset_names

    described = {name: load_config(name).description for name in preset_names()}
    if json:
        print_json(described)
    else:
        print_table(list(described.items()))
