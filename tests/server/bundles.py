"""Tiny bundles between languages, and requests to a service."""

from __future__ import annotations

import asyncio
import atexit
import functools
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.random_bundle import random_bundle
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import parse_config
from dragoman.server.jobs import Answer, Ask
from dragoman.server.service import Service, open_service
from dragoman.server.settings import ServerSettings

__all__ = ["PRESETS", "answer", "answers", "serving", "tiny_bundle"]

PRESETS = {"transformer": "vaswani2017-desk", "rnn": "luong2015-desk"}


@functools.cache
def _random(family: str, seed: int) -> Bundle:
    folder = tempfile.mkdtemp(prefix="dragoman-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return random_bundle(Path(folder) / "bundle", PRESETS[family], seed=seed)


def tiny_bundle(folder: Path, source: str, target: str, family: str = "transformer", *, seed: int = 1) -> Path:
    """Write an untrained bundle between two languages, in the place of what is there."""
    made = _random(family, seed)
    data = {"source": source, "target": target, "train": [{"files": ["a", "b"]}]}
    config = parse_config(made.config.model_dump(exclude_none=True) | {"data": data})
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(folder, config, made.weights(), made.tokenizers(), "# Never trained\n")
    return folder


@asynccontextmanager
async def serving(bundles: Mapping[str, Path], meter: Any = None, **settings: Any) -> AsyncIterator[Service]:
    """A service with these bundles and settings, closed at the end."""
    service = await open_service(bundles, ServerSettings(**({"threads": 2, "beam": 2} | settings)), meter)
    try:
        yield service
    finally:
        await service.close()


async def answers(service: Service, texts: Sequence[str], ask: Ask, seconds: float | None = None) -> list[Answer]:
    """One request, from its place to its end."""
    ticket = service.enter(seconds)
    try:
        return await service.translate(texts, ask, ticket)
    finally:
        ticket.leave()


async def answer(service: Service, text: str, ask: Ask) -> str:
    """The text of one translation."""
    await asyncio.sleep(0)
    return (await answers(service, [text], ask))[0].translation.text
