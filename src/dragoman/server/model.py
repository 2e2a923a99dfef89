"""A model of the fleet: a bundle, and the translators that are open on it."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dragoman.api.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import WEIGHTS
from dragoman.bundle.sealed import MANIFEST
from dragoman.environment import is_installed
from dragoman.errors import BundleError, ConfigError
from dragoman.search.settings import SearchSettings
from dragoman.server.jobs import ModelFacts
from dragoman.server.settings import ServerSettings

__all__ = ["Model", "Way", "bytes_of", "give_back_memory", "open_bundle", "open_translator", "stamp_of"]

Way = Literal["usual", "able", "inspected"]
"""What a translator was opened for: most requests, those that the usual engine lacks something for, or inspection."""

_SHARES = {"float32": 1.0, "bfloat16": 0.5, "int8": 0.27}  # of the bytes of the weights; int8 has scales besides
_WARM_UP = "Hello, world."


@dataclass(eq=False)
class Model:
    """A bundle by its name. `stamp` tells whether there is another in its place by now."""

    name: str
    path: Path
    bundle: Bundle
    stamp: str
    open: dict[Way, Translator] = field(default_factory=dict)
    used: dict[Way, float] = field(default_factory=dict)
    is_loading: bool = False
    failure: str = ""
    refused: str = ""
    """The stamp of a bundle in its place that was no good."""
    _said: tuple[str, str, str] = ("", "", "")

    @property
    def languages(self) -> tuple[str, str]:
        """From which, into which."""
        data = self.bundle.config.data
        return ("", "") if data is None else (data.source, data.target)

    @property
    def size(self) -> int:
        """The bytes of all that is open, by estimate."""
        return sum(bytes_of(self.bundle, each) for each in self.open.values())

    @property
    def state(self) -> Literal["ready", "loading", "unloaded", "failed"]:
        """How it stands."""
        if "usual" in self.open:
            return "ready"
        if self.is_loading:
            return "loading"
        return "failed" if self.failure else "unloaded"

    def facts(self) -> ModelFacts:
        """What there is to say; the engine is that of the last time where none is open."""
        if (usual := self.open.get("usual")) is not None:
            self._said = usual.engine.name, usual.engine.precision, usual.why
        engine, precision, why = self._said
        return ModelFacts(
            name=self.name,
            source=self.languages[0],
            target=self.languages[1],
            family=self.bundle.config.model.family,
            state=self.state,
            digest=self.bundle.digest,
            engine=engine,
            precision=precision,
            bytes=self.size,
            why=self.failure or why,
        )


def stamp_of(path: Path) -> str:
    """What changes when another bundle is put in the place of one: cheap to look at."""
    try:
        if path.is_file():
            facts = path.stat()
            return f"{facts.st_ino} {facts.st_size} {facts.st_mtime_ns}"
        return hashlib.sha256((path / MANIFEST).read_bytes()).hexdigest()
    except OSError as error:
        raise BundleError(f"{path} must be a readable bundle, got: {error.strerror}; put it back") from None


def open_bundle(path: Path) -> tuple[Bundle, str]:
    """A bundle and its stamp; one that does not say its languages is a `ConfigError`."""
    stamp = stamp_of(path)
    bundle = Bundle.open(path)
    if bundle.config.data is None:
        raise ConfigError(
            f"{path} must say from which language it translates into which, got no [data] in its config.toml; train it "
            "with both named"
        )
    return bundle, stamp


def open_translator(bundle: Bundle, way: Way, settings: ServerSettings, threads: int) -> Translator:
    """Open a bundle, and translate a sentence: whoever comes next waits for nothing."""
    search = SearchSettings(beam=settings.beam)
    if way == "usual":
        translator = Translator.open(
            bundle,
            engine=settings.engine,
            precision=settings.precision,
            threads=threads,
            settings=search,
            stepwise=settings.stepwise,
        )
    elif way == "able":
        translator = Translator.open(bundle, threads=threads, settings=search, stepwise=True)
    else:
        engine: Literal["torch", "auto"] = "torch" if is_installed("torch") else "auto"
        translator = Translator.open(bundle, engine=engine, threads=threads, settings=search, stepwise=True)
    translator.translate(_WARM_UP)
    return translator


def bytes_of(bundle: Bundle, translator: Translator) -> int:
    """About how much memory a translator takes: that of its weights, as precise as its engine has them."""
    weights = int(bundle.manifest["files"][WEIGHTS]["size"])
    return round(weights * _SHARES.get(translator.engine.precision, 1.0))


def give_back_memory() -> None:
    """Return to the system what engines that are gone have left: the C library of most Linuxes keeps it otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
