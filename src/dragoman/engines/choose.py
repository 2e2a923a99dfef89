"""Which engine a bundle runs on: chosen by what it can do and what is installed, and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, cast, get_args

from dragoman.bundle import Bundle
from dragoman.engines.protocol import Engine
from dragoman.engines.stepping import EnsembleEngine, SteppingEngine
from dragoman.environment import is_installed, require, usable_cores
from dragoman.errors import CombinationError, ConfigError
from dragoman.search.settings import SearchSettings

__all__ = ["Chosen", "EngineName", "PrecisionName", "open_engine"]

EngineName = Literal["auto", "torch", "ctranslate2", "onnx"]
PrecisionName = Literal["auto", "float32", "bfloat16", "int8"]


@dataclass(frozen=True)
class _Kind:
    """Where an engine's class is, what it must have installed, what it can run and how precisely."""

    place: str
    package: str
    extra: str
    families: tuple[str, ...]
    precisions: tuple[str, ...]

    def load(self) -> Any:
        module, name = self.place.split(":")
        return getattr(import_module(module), name)


_KINDS = {
    "ctranslate2": _Kind(
        "dragoman.engines.ctranslate2_engine:CTranslate2Engine",
        "ctranslate2",
        "export",
        ("transformer",),
        ("float32", "int8"),
    ),
    "onnx": _Kind("dragoman.engines.onnx_engine:OnnxEngine", "onnxruntime", "export", ("rnn",), ("float32", "int8")),
    "torch": _Kind(
        "dragoman.engines.torch_engine:TorchEngine", "torch", "train", ("rnn", "transformer"), ("float32", "bfloat16")
    ),
}


@dataclass(frozen=True)
class Chosen:
    """An engine that is ready, and a line that says which and why."""

    engine: Engine
    why: str


@dataclass(frozen=True)
class _Wish:
    """What is asked of an engine."""

    engine: str
    precision: str
    threads: int
    settings: SearchSettings
    phrases: bool
    trace: bool
    stepwise: bool


def open_engine(
    bundles: Sequence[Bundle],
    *,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    threads: int | None = None,
    settings: SearchSettings | None = None,
    phrases: bool = False,
    trace: bool = False,
    stepwise: bool = False,
) -> Chosen:
    """An engine for a bundle, or for an ensemble of several, that can do what the settings ask for.

    `auto` takes the fastest that can: CTranslate2 for Transformers, ONNX Runtime for recurrent models, else torch; and
    float32. `phrases` and `trace` announce that translations must hold given phrases, or that the search tree is asked
    for, and `stepwise` that every step must be open to us, to be told or to be called off. Without `threads` every core
    is used.
    """
    _check("engine", engine, get_args(EngineName))
    _check("precision", precision, get_args(PrecisionName))
    threads = threads or usable_cores()
    wish = _Wish(engine, precision, threads, settings or SearchSettings(), phrases, trace, stepwise)
    if len(bundles) == 1:
        return _open(bundles[0], wish)
    members = [_open(bundle, wish, together=True) for bundle in bundles]
    ensemble = EnsembleEngine([cast("SteppingEngine", member.engine) for member in members])
    return Chosen(ensemble, f"ensemble of {len(members)}: " + "; ".join(member.why for member in members))


def _open(bundle: Bundle, wish: _Wish, *, together: bool = False) -> Chosen:
    """The engine of one bundle; one that is to work `together` with others lets us see its steps."""
    family = bundle.config.model.family
    if wish.engine != "auto":
        return _forced(bundle, wish, together=together)
    for name, kind in _KINDS.items():
        if family in kind.families and name != "torch":
            reason = _obstacle(name, wish, together=together)
            if reason is None:
                try:
                    return _start(bundle, name, wish)
                except CombinationError as error:  # some models cannot be exported
                    reason = str(error)
            if not is_installed(_KINDS["torch"].package):
                require(kind.package, kind.extra, f"the engine {name}")  # the smaller of the two to install
            return _start(bundle, "torch", wish, f"not {name}: {reason}")
    raise AssertionError(f"no engine is faster than torch for the family {family}")


def _forced(bundle: Bundle, wish: _Wish, *, together: bool) -> Chosen:
    kind, family = _KINDS[wish.engine], bundle.config.model.family
    if family not in kind.families:
        fitting = ", ".join(name for name, each in _KINDS.items() if family in each.families)
        raise CombinationError(f"engine must be one of {fitting} for the family {family}, got {wish.engine}")
    require(kind.package, kind.extra, f"the engine {wish.engine}")
    _check_precision(wish.engine, wish.precision)
    if reason := _obstacle(wish.engine, wish, together=together):
        raise CombinationError(
            f"engine must be able to do all that is asked for, got {wish.engine}: {reason}; use torch"
        )
    return _start(bundle, wish.engine, wish)


def _obstacle(name: str, wish: _Wish, *, together: bool) -> str | None:
    """Why an engine cannot be taken, or None."""
    kind = _KINDS[name]
    if not is_installed(kind.package):
        return f'{kind.package} is not installed (pip install "dragoman[{kind.extra}]")'
    if wish.precision not in ("auto", *kind.precisions):
        return f"it has no {wish.precision}"
    engine = kind.load()
    if together and not issubclass(engine, SteppingEngine):
        return "it cannot join an ensemble"
    if wish.stepwise and not issubclass(engine, SteppingEngine):
        return "its steps are not open"
    lack = engine.lacks(wish.settings, phrases=wish.phrases, trace=wish.trace)
    return f"it lacks {lack}" if lack else None


def _start(bundle: Bundle, name: str, wish: _Wish, why: str = "") -> Chosen:
    kind = _KINDS[name]
    precision = "float32" if wish.precision == "auto" else wish.precision
    _check_precision(name, precision, why)
    require(kind.package, kind.extra, f"the engine {name}")
    engine = kind.load().open(bundle, precision=precision, threads=wish.threads)
    said = f"{name} {precision}, {wish.threads} {'thread' if wish.threads == 1 else 'threads'}"
    return Chosen(engine, f"{said} ({why})" if why else said)


def _check(what: str, value: str, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ConfigError(f"{what} must be one of {', '.join(legal)}, got {value!r}")


def _check_precision(name: str, precision: str, why: str = "") -> None:
    legal = _KINDS[name].precisions
    if precision not in ("auto", *legal):
        because = f" ({why})" if why else ""
        raise CombinationError(f"precision must be one of {', '.join(legal)} on {name}, got {precision}{because}")
