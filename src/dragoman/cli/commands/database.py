"""`dragoman database`: back up and restore the database, export and erase what an API key stored."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.cli.console import echo, print_next, report_errors
from dragoman.cli.options.arguments import argument, option
from dragoman.cli.options.memories import DatabaseUrl, open_database
from dragoman.cli.options.outputs import Force, check_new

Key = Annotated[str, option("NAME", "API key.", "--key")]

_HELP = """Back up and restore the database of memories and servers; export and erase the data of an API key.

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

        check_new(file, force=force)
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


@app.command("export")
def export_(
    file: Annotated[Path, argument("FILE", "File to write, JSON lines.")],
    key: Key,
    force: Force = False,
    database: DatabaseUrl = None,
) -> None:
    """Write all that an API key stored: memories, corrections, glossaries, usage."""
    with report_errors(), open_database(database) as opened:
        from dragoman.storage.database import export_key

        check_new(file, force=force)
        rows = export_key(opened, key, file)
    echo(f"{file}: {rows:,} rows of {key}", err=True)


@app.command()
def erase(key: Key, database: DatabaseUrl = None) -> None:
    """Delete all that an API key stored. The next dragoman adapt learns without it."""
    with report_errors(), open_database(database) as opened:
        from dragoman.storage.database import erase_key

        rows = erase_key(opened, key)
    echo(f"{rows:,} rows of {key} erased", err=True)
    print_next(f"dragoman serve --revoke-key {key} --keys FILE refuses the key from now on")
