"""Untrusted bundles, at the start and at a reload: rejected in time with a message, and never executed."""

from __future__ import annotations

import asyncio
import json
import random
import resource
import shutil
from pathlib import Path

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment, admin_key
from benchmarks.serving_campaign.experiment import ExperimentResult
from testkit.http_client import Connection, Pool
from testkit.untrusted_bundles import CASES, SIGNAL

SECONDS = 2.0
MAX_MESSAGE = 1500
HEALTHY = {"q": "a b c", "source": "en", "target": "de"}


def untrusted_bundles(environment: Environment) -> ExperimentResult:
    """Run the experiment: every crafted bundle at a reload and at the start; and a control that executes bundles."""
    names = list(CASES)
    at_reload = random.Random(environment.seed).sample(names, min(len(names), environment.scaled(15, len(names))))
    at_start = random.Random(environment.seed + 1).sample(names, min(len(names), environment.scaled(1, len(names))))
    result = _run(environment, at_start, at_reload, "")
    code = [name for name in names if name.endswith(".py")][: environment.scaled(1, len(names))]
    result.set_control("Python files of a bundle are run", _run(environment, [], code, "execute_bundle_code"))
    return result


def _run(environment: Environment, at_start: list[str], at_reload: list[str], fault: str) -> ExperimentResult:
    result = ExperimentResult("untrusted bundles", trials=len(at_start) + len(at_reload))
    folder = environment.new_folder("untrusted")
    (folder / "temporary").mkdir()
    slowest = {
        "start": _at_start(environment, result, folder, at_start),
        "reload": asyncio.run(_at_reload(environment, result, folder, at_reload, fault)),
    }
    result.facts["slowest"] = slowest
    result.no_failures("accepted, or rejected without a short message")
    events = _suspicious_events(folder)
    result.target(
        "programs run, connections opened, files written elsewhere", "0", f"{len(events)} {events[:2]}", not events
    )
    ran = [str(path) for path in (folder, environment.folder, Path.cwd()) if (path / SIGNAL).exists()]
    result.target("executed code of a bundle", "none", ", ".join(ran) or "none", not ran)
    longest = max(seconds for seconds, _ in slowest.values())
    name = max(slowest.values())[1]
    result.target(
        "CPU seconds of the slowest rejection", f"≤ {SECONDS:g}", f"{longest:.2f} ({name})", longest <= SECONDS
    )
    for path in (folder, environment.folder, Path.cwd()):
        (path / SIGNAL).unlink(missing_ok=True)
    return result


def _valid(environment: Environment, folder: Path, name: str) -> Path:
    shutil.copytree(environment.bundle("luong"), folder / name)
    return folder / name


def _crafted(environment: Environment, folder: Path, name: str) -> Path:
    place = folder / "crafted"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return CASES[name](_valid(environment, place, "bundle")) or place / "bundle"


def _at_start(environment: Environment, result: ExperimentResult, folder: Path, names: list[str]) -> tuple[float, str]:
    """Start a server with each; the time in addition to the start of the program counts."""
    slowest, usual = (0.0, ""), _rejection(environment, result, folder, folder / "nowhere", "there is none")
    for name in names:
        seconds = _rejection(environment, result, folder, _crafted(environment, folder, name), name) - usual
        slowest = max(slowest, (seconds, name))
    return slowest


def _rejection(environment: Environment, result: ExperimentResult, folder: Path, path: Path, name: str) -> float:
    before = _cpu_of_children()
    server = environment.start(path, fault=f"watch={folder / 'events.log'}", env=_own_folders(folder), cwd=folder)
    try:
        code = server.process.wait(timeout=120)
    except Exception:  # noqa: BLE001 -- it started, or hangs
        result.fail(f"at the start: {name}: not rejected within 120 s")
        return 0.0
    finally:
        server.stop()
    if code == 0 or "Traceback" in server.output or not 0 < len(server.output) < MAX_MESSAGE:
        result.fail(f"at the start: {name}: exit {code}: {server.output[-300:]}")
    return _cpu_of_children() - before


def _own_folders(folder: Path) -> dict[str, str]:
    return {"TMPDIR": str(folder / "temporary"), "DRAGOMAN_CACHE": str(folder / "cache")}


async def _at_reload(
    environment: Environment, result: ExperimentResult, folder: Path, names: list[str], fault: str
) -> tuple[float, str]:
    """Replace a valid bundle by each, in a server."""
    live, kept = _valid(environment, folder, "live"), folder / "kept"
    shutil.copytree(live, kept)
    slowest = (0.0, "")
    watched = f"watch={folder / 'events.log'}" + (f",{fault}" if fault else "")
    keys, key = admin_key(folder)
    with environment.served(
        f"folder={live}", fault=watched, env=_own_folders(folder), cwd=folder, keys=keys, log="off"
    ) as server:
        (folder / "events.log").write_text("")
        before = await _answer(server, key)
        for name in names:
            slowest = max(
                slowest,
                (await _reload(server, key, _crafted(environment, folder, name), live, result, name), name),
            )
            _replace(kept, live)
        if await _answer(server, key) != before or not server.is_running:
            result.fail("the valid bundles do not translate as before")
    return slowest


async def _reload(
    server: Server, key: dict[str, str], crafted: Path, live: Path, result: ExperimentResult, name: str
) -> float:
    model = "folder"
    _replace(crafted, live)
    connection, before = await Connection.open(server.port), server.cpu_seconds + server.waited_seconds
    reply = await asyncio.wait_for(connection.request("POST", "/v1/models/reload", {}, key), 120)
    seconds = server.cpu_seconds + server.waited_seconds - before
    connection.close()
    answer = json.loads(reply.body)
    error = answer.get("failed", {}).get(model, "")
    is_rejected = error or model in answer.get("kept", ())  # a bundle with the old manifest is not opened
    if reply.status != 200 or not is_rejected or len(error) > MAX_MESSAGE or not (error or "-").isprintable():
        result.fail(f"at a reload: {name}: {reply.status} {reply.body[:300]!r}")
    return seconds


def _replace(path: Path, place: Path) -> None:
    """Copy a bundle; links, pipes and devices are preserved."""
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
    reply = await pool.request("POST", "/translate", HEALTHY, key)
    pool.close()
    return reply.status, reply.body


def _suspicious_events(folder: Path) -> list[str]:
    """Return suspicious events of the log."""
    path = folder / "events.log"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    own = ("temporary/dragoman-bundle-", "temporary/tmp", "cache/exports/")
    may = ("write /dev/null", *(f"write {folder / name}" for name in own))
    return [line for line in lines if not line.startswith(may) and ".pyc" not in line]


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
