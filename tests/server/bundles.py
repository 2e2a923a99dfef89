"""Tiny bundles between languages, and requests to a service."""

from __future__ import annotations

import asyncio
import atexit
import functools
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.api.translation.options import TranslateOptions
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import parse_config
from dragoman.config.search import SearchSettings
from dragoman.server.pipeline.service import TranslationService, open_service
from dragoman.server.request_types import TranslationRequest, TranslationResult
from dragoman.server.settings import ServerSettings
from testkit.random_bundle import random_bundle

PRESETS = {"transformer": "vaswani2017-desk", "rnn": "luong2015-desk"}


@functools.cache
def _random(family: str, seed: int) -> Bundle:
    folder = tempfile.mkdtemp(prefix="dragoman-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return random_bundle(Path(folder) / "bundle", PRESETS[family], seed=seed)


def tiny_bundle(folder: Path, source: str, target: str, family: str = "transformer", *, seed: int = 1) -> Path:
    """Write an untrained bundle between two languages; an existing one is replaced."""
    made = _random(family, seed)
    data = {"source": source, "target": target, "train": [{"files": ["a", "b"]}]}
    config = parse_config(made.config.model_dump(exclude_none=True) | {"data": data})
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_bundle(folder, config, made.weights(), made.tokenizers(), "# Never trained\n")
    return folder


@asynccontextmanager
async def serving(
    bundles: Mapping[str, Path], metrics: Any = None, **settings: Any
) -> AsyncIterator[TranslationService]:
    """A service with these bundles and settings, closed at the end."""
    service = await open_service(bundles, ServerSettings(**({"threads": 2, "beam": 2} | settings)), metrics)
    try:
        yield service
    finally:
        await service.close()


def request(
    source: str, target: str, text: str = "", *, model: str | None = None, **options: Any
) -> TranslationRequest:
    """A request with these options of `TranslateOptions`, and the beam of `serving`."""
    options.setdefault("search", SearchSettings(beam=2))
    return TranslationRequest([text], source, target, model, options=TranslateOptions(**options))


async def translate(
    service: TranslationService, texts: Sequence[str], wanted: TranslationRequest, seconds: float | None = None
) -> list[TranslationResult]:
    """Translate texts as one request, from its admission to its release."""
    reservation = service.admit(seconds)
    try:
        pair = await service.open_pair(wanted, reservation)
        return await service.translate_pair(pair, replace(wanted, texts=texts), reservation)
    finally:
        reservation.release()


async def translate_text(service: TranslationService, text: str, wanted: TranslationRequest) -> str:
    """The text of one translation."""
    await asyncio.sleep(0)
    return (await translate(service, [text], wanted))[0].text
