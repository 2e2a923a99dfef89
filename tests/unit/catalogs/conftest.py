"""A local server with models, whose addresses are in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.catalogs import http_client
from dragoman.catalogs.http_client import Access
from testkit.model_server import ModelServer

HTTP = Access(allow_http=True)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> Iterator[ModelServer]:
    """A server without models; retries do not wait."""
    with ModelServer() as kit:
        for name, value in kit.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("DRAGOMAN_OFFLINE", raising=False)
        monkeypatch.setattr(http_client, "PAUSES", (0.0, 0.0, 0.0))
        yield kit
