"""`dragoman database`: back up and restore the database of memories."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, report_errors
from dragoman.cli.options.arguments import argument
from dragoman.cli.options.memories import DatabaseUrl, open_database
from dragoman.cli.options.outputs import Force
from dragoman.errors import ConfigError

_HELP = """Back up and restore the database of memories and corrections.

It is SQLite, for one process, or PostgreSQL, for several. A backup of one can be restored to the other."""
app = typer.Typer(help=_HELP)


@app.command()
def backup(
    file: Annotated[Path, argument("FILE", "File to write, an SQLite database.")],
    force: Force = False,
    database: DatabaseUrl = None,
) -> None:
    """Write one state of the database to a file, also while a server uses it."""
    with report_errors(), open_database(database) as opened:
        from dragoman.storage.database import back_up

        if file.exists() and not force:
            raise ConfigError(f"{file} already exists; name another file, or replace it with --force")
        rows = back_up(opened, file)
    echo(f"{file}: {rows:,} rows", err=True)


@app.command()
def restore(
    file: Annotated[Path, argument("FILE", "File of dragoman database backup.")],
    force: Force = False,
    database: DatabaseUrl = None,
) -> None:
    """Replace the content of the database by that of a backup, all of it or nothing."""
    with report_errors(), open_database(database) as opened:
        from dragoman.storage.database import restore as run

        rows = run(opened, file, force=force)
    echo(f"{rows:,} rows restored from {file}", err=True)
