"""The application of a replica: its lifespan opens and closes the models."""

from __future__ import annotations

import asyncio
import pickle  # noqa: TID251 -- as Ray does
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.errors import BundleError
from dragoman.server.replica_app import ReplicaApp
from dragoman.server.settings import ServerSettings
from tests.server.bundles import tiny_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bundle(tmp_path_factory.mktemp("bundles") / "tiny", "en", "de")


def in_lifespan(app: ReplicaApp, work: Callable[[httpx.AsyncClient], Awaitable[None]]) -> list[str]:
    """Run work between the start and the end of an app; return the messages of its lifespan."""
    sent: list[str] = []

    async def run() -> None:
        messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        started = asyncio.Event()

        async def send(message: Any) -> None:
            sent.append(message["type"])
            started.set()

        messages.put_nowait({"type": "lifespan.startup"})
        living = asyncio.create_task(app({"type": "lifespan"}, messages.get, send))
        await started.wait()
        if "failed" not in sent[0]:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
                await work(client)
            messages.put_nowait({"type": "lifespan.shutdown"})
        await living

    asyncio.run(run())
    return sent


def test_models_live_as_long_as_the_lifespan(bundle: Path) -> None:
    app = ReplicaApp({"tiny": bundle}, ServerSettings(threads=1, beam=1, log="off"))
    statuses: list[int] = []

    async def work(client: httpx.AsyncClient) -> None:
        body = {"q": "a b", "source": "en", "target": "de"}
        statuses.append((await client.post("/translate", json=body)).status_code)
        statuses.append((await client.get("/metrics")).status_code)
        await app.reload()
        assert (await client.get("/readyz")).status_code == 200
        await app.start_draining()
        assert (await client.get("/readyz")).status_code == 503
        statuses.append((await client.post("/translate", json=body)).status_code)  # still accepted
        assert await app.drain()
        rejected = await client.post("/translate", json=body)
        assert rejected.json()["code"] == "shutting_down"
        assert rejected.headers["retry-after"]

    assert in_lifespan(app, work) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert statuses == [200, 501, 200]


def test_an_open_app_is_pickled_without_its_models(bundle: Path) -> None:
    app = ReplicaApp({"tiny": bundle}, ServerSettings(threads=1, log="off"))

    async def work(client: httpx.AsyncClient) -> None:
        copy = pickle.loads(pickle.dumps(app))
        assert copy.__dict__ == ReplicaApp({"tiny": bundle}, ServerSettings(threads=1, log="off")).__dict__

    in_lifespan(app, work)


def test_a_start_that_fails_is_reported(tmp_path: Path) -> None:
    app = ReplicaApp({"none": tmp_path / "none"}, ServerSettings(log="off"))

    async def work(client: httpx.AsyncClient) -> None:
        raise AssertionError

    with pytest.raises(BundleError):
        in_lifespan(app, work)
