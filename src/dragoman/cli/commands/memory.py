"""`dragoman memory`: import, export, list, search, review, share and remove translation memories."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dragoman.cli.console import echo, print_json, print_next, print_table, report_errors
from dragoman.cli.options.arguments import Json, argument, flag, number, option
from dragoman.cli.options.memories import DatabaseUrl, open_memories
from dragoman.cli.options.outputs import Force, check_new
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.storage.memories import StoredMemory

Name = Annotated[str, argument("NAME", "Name of a memory.")]
Key = Annotated[str, option("NAME", "API key that the memory belongs to.", "--key", default="the operator")]
Source = Annotated[str, option("CODE", "Source language.", "--source", default="that of the file")]
Target = Annotated[str, option("CODE", "Target language.", "--target", default="that of the file")]
Pair = Annotated[str, option("PAIR", "Languages: en-pt.", "--pair", default="the only ones of the memory")]

Units = Annotated[list[str] | None, argument("ID…", "Ids of corrections.")]
All = Annotated[bool, flag("--all", "All that wait.")]

_HELP = """Import, export, list, search, review, share and remove translation memories.

dragoman translate --memory NAME and dragoman serve --memory NAME use one."""
app = typer.Typer(help=_HELP)


@app.command("import")
def import_(
    name: Annotated[str, argument("NAME", "Name of the memory; a new one is created.")],
    files: Annotated[list[Path], argument("FILE…", "TMX, XLIFF, PO, TSV or CSV files, may end in .gz.")],
    source: Source = "",
    target: Target = "",
    key: Key = "",
    shared: Annotated[bool, flag("--shared", "Let all API keys read the memory.")] = False,
    database: DatabaseUrl = None,
) -> None:
    """Add the units of files to a memory. Units that it has are not added again."""
    with report_errors("run the same command to continue"), open_memories(database) as store:
        from dragoman.api.memories import import_file
        from dragoman.cli.screens.progress import ProgressDisplay

        memory = store.create(key, name, shared=shared)
        if shared and not memory.is_shared:
            store.share(memory, shared=True)
        for file in files:
            with ProgressDisplay(unit="unit") as progress:
                found = import_file(store, memory, file, source=source, target=target, progress=progress)
            more = [f"{found.known:,} known"] if found.known else []
            more += [f"{found.skipped:,} skipped"] if found.skipped else []
            echo(f"{file}: {found.added:,} units added{''.join(f', {each}' for each in more)}", err=True)
        print_next(f"dragoman translate MODEL --memory {name}    or  dragoman serve MODEL --memory {name}")


@app.command("export")
def export_(
    name: Name,
    file: Annotated[Path, argument("FILE", "TMX or TSV file.")],
    key: Key = "",
    force: Force = False,
    database: DatabaseUrl = None,
) -> None:
    """Write the units of a memory to a file."""
    with report_errors(), open_memories(database) as store:
        from dragoman.api.memories import export_file

        check_new(file, force=force)
        count = export_file(store, store.get(key, name), file)
    echo(f"{file}: {count:,} units", err=True)


@app.command("list")
def list_(database: DatabaseUrl = None, json: Json = False) -> None:
    """List all memories."""
    with report_errors(), open_memories(database) as store:
        found = store.visible(None)
    if json:
        print_json([_facts(each) for each in found])
        return
    if not found:
        echo("no memories", err=True)
        print_next("dragoman memory import NAME FILE")
        return
    rows = [("name", "of", "languages", "units", "changed")]
    for each in found:
        pairs = ", ".join(f"{source}-{target}" for _, source, target, _ in each.directions)
        owner = f"{each.owner or 'operator'}{', shared' if each.is_shared else ''}"
        rows.append((each.name, owner, pairs, f"{each.units:,}", _date(each.updated)))
    print_table(rows, right=frozenset({3}))


@app.command()
def search(
    name: Name,
    text: Annotated[str, argument("TEXT", "A source text.")],
    pair: Pair = "",
    threshold: Annotated[int, number("Smallest score of a match, in percent.", "--threshold")] = 70,
    key: Key = "",
    database: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Print the units that match a text: 101 with its neighbours, 100 the same text, else the share of words.

    Below them come units that have the text in one of their sides.
    """
    with report_errors(), open_memories(database) as store:
        from dragoman.storage.memory_match import Query

        memory = store.get(key, name)
        _, source, target = _direction(memory, pair)
        (matches,) = store.look_up([memory], source, target, [Query(text)], threshold=threshold, limit=10)
        rows = [(str(each.score), each.unit.source, each.text) for each in matches]
        known = {each.unit.id for each in matches}
        rows += [("", u.source, u.target) for u in store.units(memory, text=text, limit=20) if u.id not in known]
    if json:
        print_json([{"score": int(score or 0), "source": ours, "target": theirs} for score, ours, theirs in rows])
    elif rows:
        print_table([("score", "source", "translation"), *rows], right=frozenset({0}))
    else:
        echo("no matches", err=True)


@app.command()
def pending(name: Name, key: Key = "", database: DatabaseUrl = None, json: Json = False) -> None:
    """List the corrections of a memory that wait for approval."""
    with report_errors(), open_memories(database) as store:
        found = list(store.units(store.get(key, name), state="pending"))
    if json:
        facts = ("id", "source", "target", "author")
        print_json([{each: getattr(unit, each) for each in facts} | {"date": _date(unit.created)} for unit in found])
    elif found:
        rows = [(unit.id, unit.author, _date(unit.created), unit.source, unit.target) for unit in found]
        print_table([("id", "author", "date", "source", "translation"), *rows])
        print_next(f"dragoman memory approve {name} ID…    or  dragoman memory reject {name} ID…")
    else:
        echo("no corrections wait", err=True)


@app.command()
def approve(
    name: Name, units: Units = None, key: Key = "", everything: All = False, database: DatabaseUrl = None
) -> None:
    """Approve corrections: they count at once, as exact matches. Time and reviewer are stored."""
    _review("approved", name, units, key, database, everything=everything)


@app.command()
def reject(
    name: Name, units: Units = None, key: Key = "", everything: All = False, database: DatabaseUrl = None
) -> None:
    """Reject corrections, or units that were approved. Time and reviewer are stored."""
    _review("rejected", name, units, key, database, everything=everything)


@app.command()
def remove(name: Name, key: Key = "", database: DatabaseUrl = None) -> None:
    """Delete a memory and all its units."""
    with report_errors(), open_memories(database) as store:
        memory = store.get(key, name, own=True)
        store.remove(memory)
    echo(f"removed {name}, {memory.units:,} units", err=True)


@app.command()
def share(
    name: Name,
    key: Key = "",
    off: Annotated[bool, flag("--off", "Let only its owner read the memory.")] = False,
    database: DatabaseUrl = None,
) -> None:
    """Let all API keys read a memory."""
    with report_errors(), open_memories(database) as store:
        store.share(store.get(key, name, own=True), shared=not off)
    echo(f"{name} is {'not shared' if off else 'shared with all keys'}", err=True)


def _review(
    state: Literal["approved", "rejected"],
    name: str,
    units: list[str] | None,
    key: str,
    database: str | None,
    *,
    everything: bool,
) -> None:
    with report_errors(), open_memories(database) as store:
        if everything == bool(units):
            raise ConfigError(
                "name the ids of corrections, or all that wait with --all; dragoman memory pending has them"
            )
        memory = store.get(key, name)
        chosen = [each.id for each in store.units(memory, state="pending")] if everything else units or []
        unknown = [each for each in chosen if not store.set_state(memory, each, state)]
        if unknown:
            raise ConfigError(f"{name} has no unit {', '.join(unknown)}; dragoman memory pending {name} has the ids")
    echo(f"{state} {len(chosen):,} of {name}", err=True)


def _direction(memory: StoredMemory, pair: str) -> tuple[int, str, str]:
    from dragoman.language_codes import parse_pair

    if not pair and len(memory.directions) == 1:
        return memory.directions[0][:3]
    wanted = parse_pair(pair)
    found = memory.find(*wanted) if wanted else []
    if not found:
        pairs = ", ".join(f"{source}-{target}" for _, source, target, _ in memory.directions) or "no units"
        raise ConfigError(f"--pair must be languages of the memory, got {pair!r}; it has {pairs}")
    return next(each[:3] for each in memory.directions if each[0] == found[0])


def _facts(memory: StoredMemory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "name": memory.name,
        "key": memory.owner,
        "shared": memory.is_shared,
        "units": memory.units,
        "languages": [{"source": each[1], "target": each[2], "units": each[3]} for each in memory.directions],
        "changed": _date(memory.updated),
    }


def _date(microseconds: int) -> str:
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):%Y-%m-%d %H:%M}"
