"""One model of the server: its saved files (bundle) and its loaded translators."""

import functools
import hashlib
import logging
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle
from dragoman.bundle.bundle import open_outline
from dragoman.bundle.locate import is_example
from dragoman.bundle.model_card import stated_licence
from dragoman.bundle.model_store import stored_version
from dragoman.bundle.verified_folder import MANIFEST
from dragoman.config.corpus import Direction
from dragoman.config.search import SearchSettings
from dragoman.engines.select import architecture, supports_inspection, supports_phrases
from dragoman.environment import is_installed
from dragoman.errors import BundleError, ConfigError
from dragoman.server.request_types import ModelInfo
from dragoman.server.settings import ServerSettings

EngineRole = Literal["default", "capable", "inspection"]
"""What a translator is for: most requests, requests that the default engine does not support, or inspection."""

_EXPORT_RATIOS = {"ctranslate2": 2.5, "onnx": 1.4}
"""Memory of a model relative to the files of its export, measured: CTranslate2 keeps weights in a second layout too."""
_BUNDLE_RATIO = 2.2  # the same relative to the files of a bundle, before the size of its export is known
_TORCH_RATIOS = {"float32": 1.05, "bfloat16": 0.55}  # relative to the weights in float32
_FLOAT_BYTES = 4
_log = logging.getLogger(__name__)
_FAILED = "it could not be loaded; the log of the server has the cause"
_IMPORTED = "Imported from "
_WARM_UP = "Hello, world."


@dataclass(eq=False)
class ServedModel:
    """A bundle and its open translators by role; the fingerprint changes when the bundle on disk is replaced."""

    name: str
    path: Path
    bundle: Bundle
    fingerprint: str
    is_checked: bool = True
    """Whether the files were verified; of those of an outline only the configuration was."""
    translators: dict[EngineRole, Translator] = field(default_factory=dict)
    last_used: dict[EngineRole, float] = field(default_factory=dict)
    is_loading: bool = False
    users: Counter[EngineRole] = field(default_factory=Counter)
    """Numbers of requests that use a translator now."""
    has_failed: bool = False
    rejected_fingerprint: str = ""
    """Fingerprint of a new bundle that could not be loaded."""
    _known_size: tuple[str, int] = ("", 0)
    _engine_info: tuple[str, str, str] = ("", "", "")
    _known_provenance: tuple[str, str, str] = ("", "", "")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Source and target languages; the main direction first."""
        data = self.bundle.config.data
        return () if data is None else tuple(data.all_directions())

    @property
    def size(self) -> int:
        """Estimated bytes of all open translators."""
        sizes = {role: estimate_bytes(self.bundle, each) for role, each in self.translators.items()}
        if "default" in sizes:
            self._known_size = self.bundle.digest, sizes["default"]
        return sum(sizes.values())

    @property
    def planned_size(self) -> int:
        """Estimated bytes of the default translator before it is open: those of the last time, if there was one."""
        digest, size = self._known_size
        return size if digest == self.bundle.digest else planned_bytes(self.bundle)

    @property
    def state(self) -> Literal["ready", "loading", "unloaded", "failed"]:
        """State of the default translator."""
        if "default" in self.translators:
            return "ready"
        if self.is_loading:
            return "loading"
        return "failed" if self.has_failed else "unloaded"

    def adopt(self, bundle: Bundle, found: str, path: Path) -> None:
        """Use a verified bundle; `found` is its fingerprint."""
        self.bundle, self.fingerprint, self.path, self.is_checked = bundle, found, path, True

    def roles(self, translator: Translator) -> list[EngineRole]:
        """Return the roles of an open translator, or of one of its directions."""
        return [role for role, each in self.translators.items() if each.shared_engine is translator.shared_engine]

    def info(self) -> ModelInfo:
        """Return the public description; an unloaded model has the engine of its last translator."""
        if (default := self.translators.get("default")) is not None:
            self._engine_info = default.engine.name, default.engine.precision, default.engine_reason
        engine, precision, reason = self._engine_info
        licence, origin = self._provenance()
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
            why=_FAILED if self.has_failed else reason,
            supports_glossary=_supports_phrases(architecture(self.bundle.config.model)),
            supports_inspection=supports_inspection(),
            licence=licence,
            origin=origin,
        )

    def _provenance(self) -> tuple[str, str]:
        """Return licence and origin, from the model store or from the model card; they are read once per bundle."""
        if self._known_provenance[0] != self.bundle.digest:
            stored, description = stored_version(self.path), self.bundle.config.description
            origin = description if description.startswith(_IMPORTED) or is_example(self.path) else ""
            try:
                licence = stated_licence(self.bundle.card())
            except (OSError, BundleError):  # the bundle was removed while the model is served
                return "", origin
            if stored is not None:
                licence, origin = stored.licence or licence, stored.origin or origin
            self._known_provenance = self.bundle.digest, licence, origin
        return self._known_provenance[1:]


_supports_phrases = functools.cache(supports_phrases)  # packages are not installed while a server runs


def fingerprint(path: Path) -> str:
    """Return a value that changes when the bundle at a path is replaced; fast to compute."""
    try:
        sizes = sorted((each.name, each.stat().st_size) for each in path.iterdir())  # damaged files, same manifest
        return hashlib.sha256((path / MANIFEST).read_bytes() + repr(sizes).encode()).hexdigest()
    except OSError as error:
        raise BundleError(f"{path} cannot be read: {error.strerror}; put the bundle back") from None


def open_bundle(path: Path, *, verify_again: bool = False, outline: bool = False) -> tuple[Bundle, str]:
    """Open a bundle and return it with its fingerprint; a bundle without languages is a `ConfigError`."""
    found = fingerprint(path)
    bundle = open_outline(path) if outline else Bundle.open(path, verify_again=verify_again)
    if bundle.config.data is None:
        raise ConfigError(
            f"{path} does not state its source and target language; import it again with "
            "--source-language and --target-language"
        )
    return bundle, found


def open_translator(bundle: Bundle, role: EngineRole, settings: ServerSettings, threads: int) -> Translator:
    """Open a translator for a role, and try it: its translation must have a text and a finite score."""
    search = None if settings.beam is None else SearchSettings(beam=settings.beam)
    options: dict[str, Any] = {"incremental": True}
    if role == "default":
        options = {"engine": settings.engine, "precision": settings.precision, "incremental": settings.incremental}
    elif role == "inspection" and is_installed("torch"):
        options["engine"] = "torch"
    translator = Translator.open(
        bundle, device=settings.device, threads=threads, search=search, shortlist=settings.shortlist, **options
    )
    if getattr(translator.shared_engine, "has_new_export", False):
        _log.info("%s", getattr(translator.shared_engine, "note", ""))
    first = translator.direction(*translator.directions[0])
    if settings.min_confidence:
        first.postprocessor.require_calibration()
    tried = first.translate(_WARM_UP)
    if not math.isfinite(tried.score) or not tried.text.strip():
        what = "no text" if math.isfinite(tried.score) else "a score that is not finite"
        raise BundleError(
            f"the model in {bundle.folder} translates a sentence with {what}; train a new run, with more updates or "
            "more text"
        )
    return translator


def planned_bytes(bundle: Bundle) -> int:
    """Estimate the memory of a bundle before it is open: that of an export with the precision of its weights."""
    return round(_BUNDLE_RATIO * sum(int(facts["size"]) for facts in bundle.manifest["files"].values()))


def estimate_bytes(bundle: Bundle, translator: Translator) -> int:
    """Estimate the memory of a translator from the size of its export, or of its weights on torch."""
    engine = translator.shared_engine
    if exported := getattr(engine, "export_bytes", 0):
        return round(_EXPORT_RATIOS[engine.name] * exported)
    return round(_FLOAT_BYTES * bundle.parameter_count() * _TORCH_RATIOS.get(engine.precision, 1.0))
