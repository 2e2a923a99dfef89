"""Bundles of strangers, at the start and at a reload: refused in time, in a sentence, and nothing of them is run."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import shutil
from pathlib import Path

from benchmarks.serving.client import Connection, Pool
from benchmarks.serving.process import Server
from benchmarks.serving_campaign.keys import admin
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row
from tests.hostile.strange_bundles import CASES, SIGNAL, as_archive

__all__ = ["strangers"]

SECONDS = 2.0
MOST_SAID = 1500
HEALTHY = {"q": "a b c", "source": "en", "target": "de"}


def strangers(room: Room) -> Row:
    """The row: every crafted bundle at a reload, and at the start; then bundles that are trusted, as a control."""
    names = list(CASES)
    at_reload = random.Random(room.seed).sample(names, min(len(names), room.scaled(60, len(names))))
    at_start = random.Random(room.seed + 1).sample(names, min(len(names), room.scaled(4, len(names))))
    row = _tried(room, at_start, at_reload, "")
    code = [name for name in names if name.endswith(".py")]
    row.controlled("Python files of a bundle are run", _tried(room, [], code, "trusting"))
    return row


def _tried(room: Room, at_start: list[str], at_reload: list[str], fault: str) -> Row:
    row = Row("a stranger's bundle", trials=len(at_start) + len(at_reload))
    folder = room.new_folder("strangers")
    (folder / "temporary").mkdir()
    slowest = {
        "start": _starts(room, row, folder, at_start),
        "reload": asyncio.run(_reloads(room, row, folder, at_reload, fault)),
    }
    row.facts["slowest"] = slowest
    row.no_failures("taken, or refused with more than a sentence")
    heard = _heard(folder)
    row.target("programs run, connections opened, files written elsewhere", "0", f"{len(heard)} {heard[:2]}", not heard)
    ran = [str(path) for path in (folder, room.folder, Path.cwd()) if (path / SIGNAL).exists()]
    row.target("code of a bundle that was run", "none", ", ".join(ran) or "none", not ran)
    longest = max(seconds for seconds, _ in slowest.values())
    name = max(slowest.values())[1]
    row.target("CPU seconds of the slowest refusal", f"≤ {SECONDS:g}", f"{longest:.2f} ({name})", longest <= SECONDS)
    for path in (folder, room.folder, Path.cwd()):
        (path / SIGNAL).unlink(missing_ok=True)
    return row


def _good(room: Room, folder: Path, name: str) -> Path:
    shutil.copytree(room.bundle("luong"), folder / name)
    return folder / name


def _crafted(room: Room, folder: Path, name: str) -> Path:
    place = folder / "crafted"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return CASES[name](_good(room, place, "bundle")) or place / "bundle"


def _starts(room: Room, row: Row, folder: Path, names: list[str]) -> tuple[float, str]:
    """Offer each to a server that starts; what a refusal takes beyond the start of the program itself counts."""
    slowest, usual = (0.0, ""), _refusal(room, row, folder, folder / "nowhere", "there is none")
    for name in names:
        seconds = _refusal(room, row, folder, _crafted(room, folder, name), name) - usual
        slowest = max(slowest, (seconds, name))
    return slowest


def _refusal(room: Room, row: Row, folder: Path, path: Path, name: str) -> float:
    before = _children()
    server = room.start(path, fault=f"watch={folder / 'heard.log'}", env=_apart(folder), cwd=folder)
    try:
        code = server.process.wait(timeout=30)
    except Exception:  # noqa: BLE001 -- it started, or hangs
        row.fail(f"at the start: {name}: no refusal within 30 s")
        return 0.0
    finally:
        server.stop()
    if code == 0 or "Traceback" in server.said or not 0 < len(server.said) < MOST_SAID:
        row.fail(f"at the start: {name}: exit {code}: {server.said[-300:]}")
    return _children() - before


def _apart(folder: Path) -> dict[str, str]:
    return {"TMPDIR": str(folder / "temporary")}


async def _reloads(room: Room, row: Row, folder: Path, names: list[str], fault: str) -> tuple[float, str]:
    """Put each in the place of a good one, in a server that has one as a folder and one as an archive."""
    live, archive = _good(room, folder, "live"), folder / "live.zip"
    shutil.move(str(as_archive(_good(room, folder, "spare"))), archive)
    keep = {live: folder / "kept", archive: folder / "kept.zip"}
    shutil.copytree(live, keep[live])
    shutil.copy(archive, keep[archive])
    slowest = (0.0, "")
    watched = f"watch={folder / 'heard.log'}" + (f",{fault}" if fault else "")
    keys, key = admin(folder)
    bundles = (f"folder={live}", f"archive={archive}")
    with room.served(*bundles, fault=watched, env=_apart(folder), cwd=folder, keys=keys, log="off") as server:
        (folder / "heard.log").write_text("")
        before = await _answer(server, key)
        for name in names:
            slowest = max(
                slowest, (await _reload(server, key, _crafted(room, folder, name), live, archive, row, name), name)
            )
            for place, good in keep.items():
                _put(good, place)
        if await _answer(server, key) != before or not server.is_running:
            row.fail("the good ones do not answer as before")
    return slowest


async def _reload(
    server: Server, key: dict[str, str], crafted: Path, live: Path, archive: Path, row: Row, name: str
) -> float:
    place, model = (live, "folder") if crafted.is_dir() else (archive, "archive")
    _put(crafted, place)
    connection, before = await Connection.open(server.port), server.cpu_seconds + server.waited_seconds
    reply = await asyncio.wait_for(connection.ask("POST", "/v1/models/reload", {}, key), 60)
    seconds = server.cpu_seconds + server.waited_seconds - before
    connection.close()
    told = json.loads(reply.body)
    said = told.get("failed", {}).get(model, "")
    is_refused = said or model in told.get("kept", ())  # one with the old one's manifest is not looked at
    if reply.status != 200 or not is_refused or len(said) > MOST_SAID or not (said or "-").isprintable():
        row.fail(f"at a reload: {name}: {reply.status} {reply.body[:300]!r}")
    return seconds


def _put(path: Path, place: Path) -> None:
    """Put a bundle in a place; links, pipes and devices stay what they are."""
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
    if not path.is_dir():
        shutil.copy(path, place)
        return
    place.mkdir()
    for file in path.iterdir():
        if file.is_symlink() or not file.is_file():
            file.rename(place / file.name)
        else:
            shutil.copy2(file, place / file.name)


async def _answer(server: Server, key: dict[str, str]) -> object:
    pool = Pool(server.port)
    reply = await pool.ask("POST", "/translate", HEALTHY, key)
    pool.close()
    return reply.status, reply.body


def _heard(folder: Path) -> list[str]:
    """What was done that was not to be done."""
    path = folder / "heard.log"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    may = ("write /dev/null", f"write {folder / 'temporary'}/dragoman-bundle-", f"write {folder / 'temporary'}/tmp")
    return [line for line in lines if not line.startswith(may) and ".exports" not in line and ".pyc" not in line]


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
