"""One model of the server: its saved files (bundle) and its loaded translators."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import WEIGHTS
from dragoman.bundle.verified_folder import MANIFEST
from dragoman.config.corpus import Direction
from dragoman.config.search import SearchSettings
from dragoman.engines.select import architecture, supports_inspection, supports_phrases
from dragoman.environment import is_installed
from dragoman.errors import BundleError, ConfigError
from dragoman.server.request_types import ModelInfo
from dragoman.server.settings import ServerSettings

__all__ = [
    "EngineRole",
    "ServedModel",
    "estimate_bytes",
    "fingerprint",
    "open_bundle",
    "open_translator",
    "trim_heap",
    "weight_bytes",
]

EngineRole = Literal["default", "capable", "inspection"]
"""What a translator is for: most requests, requests that the default engine does not support, or inspection."""

_SIZE_RATIOS = {"float32": 1.0, "bfloat16": 0.5, "int8": 0.27}  # relative to the weights file; int8 has scales
_WARM_UP = "Hello, world."


@dataclass(eq=False)
class ServedModel:
    """A bundle and its open translators by role; the fingerprint changes when the bundle on disk is replaced."""

    name: str
    path: Path
    bundle: Bundle
    fingerprint: str
    translators: dict[EngineRole, Translator] = field(default_factory=dict)
    last_used: dict[EngineRole, float] = field(default_factory=dict)
    is_loading: bool = False
    failure: str = ""
    rejected_fingerprint: str = ""
    """Fingerprint of a new bundle that could not be loaded."""
    _engine_info: tuple[str, str, str] = ("", "", "")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Source and target languages; the main direction first."""
        data = self.bundle.config.data
        return () if data is None else tuple(data.all_directions())

    @property
    def size(self) -> int:
        """Estimated bytes of all open translators."""
        return sum(estimate_bytes(self.bundle, each) for each in self.translators.values())

    @property
    def state(self) -> Literal["ready", "loading", "unloaded", "failed"]:
        """State of the default translator."""
        if "default" in self.translators:
            return "ready"
        if self.is_loading:
            return "loading"
        return "failed" if self.failure else "unloaded"

    def info(self) -> ModelInfo:
        """Return the public description; an unloaded model has the engine of its last translator."""
        if (default := self.translators.get("default")) is not None:
            self._engine_info = default.engine.name, default.engine.precision, default.engine_reason
        engine, precision, reason = self._engine_info
        directions = self.directions
        return ModelInfo(
            name=self.name,
            source=directions[0][0],
            target=directions[0][1],
            directions=directions if len(directions) > 1 else (),
            family=self.bundle.config.model.family,
            state=self.state,
            digest=self.bundle.digest,
            engine=engine,
            precision=precision,
            bytes=self.size,
            why=self.failure or reason,
            supports_glossary=_supports_phrases(architecture(self.bundle.config.model)),
            supports_inspection=supports_inspection(),
        )


_supports_phrases = functools.cache(supports_phrases)  # packages are not installed while a server runs


def fingerprint(path: Path) -> str:
    """Return a value that changes when the bundle at a path is replaced; fast to compute."""
    try:
        if path.is_file():
            stat = path.stat()
            return f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}"
        return hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()
    except OSError as error:
        raise BundleError(f"{path} must be a readable bundle, got: {error.strerror}; put it back") from None


def open_bundle(path: Path) -> tuple[Bundle, str]:
    """Open a bundle and return it with its fingerprint; a bundle without languages is a `ConfigError`."""
    found = fingerprint(path)
    bundle = Bundle.open(path)
    if bundle.config.data is None:
        raise ConfigError(
            f"{path} must name its source and target language, got neither; import it again with "
            "--source-language and --target-language"
        )
    return bundle, found


def open_translator(bundle: Bundle, role: EngineRole, settings: ServerSettings, threads: int) -> Translator:
    """Open a translator for a role, and try it: its translation must have a text and a finite score."""
    search = SearchSettings(beam=settings.beam)
    if role == "default":
        translator = Translator.open(
            bundle,
            engine=settings.engine,
            precision=settings.precision,
            device=settings.device,
            threads=threads,
            search=search,
            incremental=settings.incremental,
            shortlist=settings.shortlist,
        )
    elif role == "capable":
        translator = Translator.open(
            bundle,
            device=settings.device,
            threads=threads,
            search=search,
            incremental=True,
            shortlist=settings.shortlist,
        )
    else:
        engine: Literal["torch", "auto"] = "torch" if is_installed("torch") else "auto"
        translator = Translator.open(
            bundle, engine=engine, device=settings.device, threads=threads, search=search, incremental=True
        )
    tried = translator.direction(*translator.directions[0]).translate(_WARM_UP)
    if not math.isfinite(tried.score) or not tried.text.strip():
        got = "an empty translation" if math.isfinite(tried.score) else "a score that is not finite"
        raise BundleError(
            f"{bundle.path} must translate a sentence, got {got}; train a new run, with more updates or more text"
        )
    return translator


def weight_bytes(bundle: Bundle) -> int:
    """Return the size of the weights file."""
    return int(bundle.manifest["files"][WEIGHTS]["size"])


def estimate_bytes(bundle: Bundle, translator: Translator) -> int:
    """Estimate the memory of a translator from its weights and precision."""
    return round(weight_bytes(bundle) * _SIZE_RATIOS.get(translator.engine.precision, 1.0))


def trim_heap() -> None:
    """Return freed memory to the operating system; glibc keeps it otherwise."""
    trim = None if os.name == "nt" else getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
