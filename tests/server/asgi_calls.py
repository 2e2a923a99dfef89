"""Call an app in this process, without a server."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
from tests.server.fake_service import FakeService


@dataclass
class Caller:
    """Calls the routes of a fake service."""

    service: FakeService = field(default_factory=FakeService)
    settings: ServerSettings = field(default_factory=ServerSettings)
    is_replica: bool = False

    def __post_init__(self) -> None:
        self.app = create_app(self.service, self.settings, is_replica=self.is_replica)

    def __call__(self, method: str, path: str, **how: Any) -> httpx.Response:
        return asyncio.run(self._call(method, path, how))

    def post(self, path: str, **how: Any) -> httpx.Response:
        return self("POST", path, **how)

    def get(self, path: str, **how: Any) -> httpx.Response:
        return self("GET", path, **how)

    async def _call(self, method: str, path: str, how: dict[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **how)


def events_in(text: str) -> list[tuple[str, Any]]:
    """Names and values of server-sent events; comments are left out."""
    found: list[tuple[str, Any]] = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        if not block.startswith(":"):
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found
