"""Select an inference engine for a saved model by the features of the model and the installed packages."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast, get_args

from dragoman.bundle import Bundle
from dragoman.config.engine import DeviceName, EngineName, PrecisionName
from dragoman.config.schema import ModelConfig, TransformerConfig
from dragoman.config.search import SearchSettings
from dragoman.engines.protocol import Device, Engine, EnsembleEngine, IncrementalEngine, resolve_device
from dragoman.environment import default_threads, install_command, is_installed, require
from dragoman.errors import CombinationError, ConfigError


@dataclass(frozen=True)
class _Kind:
    """Class, package, architectures and precisions of an engine."""

    path: str
    package: str
    extra: str
    architectures: tuple[str, ...]
    precisions: tuple[str, ...]

    def load(self) -> Any:
        module, name = self.path.split(":")
        return getattr(import_module(module), name)


_KINDS = {
    "ctranslate2": _Kind(
        "dragoman.engines.ctranslate2.engine:CTranslate2Engine",
        "ctranslate2",
        "export",
        ("transformer",),
        ("float32", "int8"),
    ),
    "onnx": _Kind(
        "dragoman.engines.onnx.engine:OnnxEngine", "onnxruntime", "export", ("rnn", "ssru"), ("float32", "int8")
    ),
    "torch": _Kind(
        "dragoman.engines.torch_engine:TorchEngine",
        "torch",
        "train",
        ("rnn", "transformer", "ssru"),
        ("float32", "bfloat16"),
    ),
}


def architecture(model: ModelConfig) -> str:
    """The architecture that decides on engines: the family of a model, or ssru for a Transformer with that decoder."""
    if isinstance(model, TransformerConfig) and model.decoder == "ssru":
        return "ssru"
    return model.family


@dataclass(frozen=True)
class OpenedEngine:
    """An open engine, and a line that describes it and the reason for the choice."""

    engine: Engine
    description: str


@dataclass(frozen=True)
class _Requirements:
    """Requirements for an engine."""

    engine: str
    precision: str
    device: DeviceName
    threads: int
    settings: SearchSettings
    phrases: bool
    trace: bool
    incremental: bool
    shortlist: bool


def open_engine(  # noqa: PLR0913 -- one keyword per requirement
    bundles: Sequence[Bundle],
    *,
    engine: EngineName = "auto",
    precision: PrecisionName = "auto",
    device: DeviceName = "cpu",
    threads: int | None = None,
    settings: SearchSettings | None = None,
    phrases: bool = False,
    trace: bool = False,
    incremental: bool = False,
    shortlist: bool = True,
) -> OpenedEngine:
    """Open an engine for a bundle, or for an ensemble of several, that supports the settings.

    `auto` selects the fastest suitable engine (CTranslate2 for Transformers, ONNX Runtime for recurrent models and SSRU
    decoders, otherwise torch) and float32, or int8 for a model that has int8 weights, if the engine supports it.
    `phrases`: translations must contain given phrases. `trace`: the search tree is required. `incremental`: every step
    must be accessible, for streaming and cancellation. `shortlist`: use that of the bundle, if it has one and the
    engine supports it. By default all cores are used. `device`: `auto` is cuda if the engine finds one.
    """
    _check("engine", engine, get_args(EngineName))
    _check("precision", precision, get_args(PrecisionName))
    _check("device", device, get_args(DeviceName))
    threads = threads or default_threads()
    required = _Requirements(
        engine, precision, device, threads, settings or SearchSettings(), phrases, trace, incremental, shortlist
    )
    if len(bundles) == 1:
        return _open(bundles[0], required)
    members = [_open(bundle, required, together=True) for bundle in bundles]
    ensemble = EnsembleEngine([cast("IncrementalEngine", member.engine) for member in members])
    return OpenedEngine(ensemble, f"ensemble of {len(members)}: " + "; ".join(member.description for member in members))


def supports_phrases(architecture_name: str) -> bool:
    """Whether an installed engine can include given phrases in translations, as a glossary requires."""
    return is_installed(_KINDS["torch"].package) or any(
        kind.load().unsupported(SearchSettings(), phrases=True) is None
        for name, kind in _KINDS.items()
        if name != "torch" and architecture_name in kind.architectures and is_installed(kind.package)
    )


def prefers_torch(engine: Engine | type[Engine]) -> bool:
    """Whether torch is installed and searches for required phrases better than an engine."""
    return engine.name == "ctranslate2" and is_installed(_KINDS["torch"].package)


def supports_inspection() -> bool:
    """Whether an installed engine has the attention weights of every layer and head."""
    return is_installed(_KINDS["torch"].package)


def _open(bundle: Bundle, required: _Requirements, *, together: bool = False) -> OpenedEngine:
    """Open the engine of one bundle. A member of an ensemble (`together`) must be incremental."""
    wanted = architecture(bundle.config.model)
    if required.engine != "auto":
        return _forced(bundle, required, together=together)
    for name, kind in _KINDS.items():
        if wanted in kind.architectures and name != "torch":
            reason = _obstacle(name, required, together=together)
            if reason is None:
                try:
                    return _start(bundle, name, required)
                except CombinationError as error:  # not every model can be exported
                    reason = str(error)
            if not is_installed(_KINDS["torch"].package):
                require(kind.package, kind.extra, f"the engine {name}")  # smaller to install than torch
            return _start(bundle, "torch", required, f"not {name}: {reason}")
    raise AssertionError(f"no engine is faster than torch for {wanted}")


def _forced(bundle: Bundle, required: _Requirements, *, together: bool) -> OpenedEngine:
    kind, wanted = _KINDS[required.engine], architecture(bundle.config.model)
    if wanted not in kind.architectures:
        fitting = ", ".join(name for name, each in _KINDS.items() if wanted in each.architectures)
        model = "a Transformer with an SSRU decoder" if wanted == "ssru" else f"the family {wanted}"
        raise CombinationError(f"engine must be one of {fitting} for {model}, got {required.engine}")
    require(kind.package, kind.extra, f"the engine {required.engine}")
    _check_precision(required.engine, required.precision)
    if reason := _obstacle(required.engine, required, together=together):
        raise CombinationError(f"the engine {required.engine} cannot be used: {reason}; use the engine torch")
    return _start(bundle, required.engine, required)


def _obstacle(name: str, required: _Requirements, *, together: bool) -> str | None:
    """Why an engine cannot be used; None if it can."""
    kind = _KINDS[name]
    if not is_installed(kind.package):
        return f"{kind.package} is not installed ({install_command(kind.extra)})"
    if required.precision not in ("auto", *kind.precisions):
        return f"it does not support {required.precision}"
    engine = kind.load()
    if together and not issubclass(engine, IncrementalEngine):
        return "it cannot join an ensemble"
    if required.incremental and not issubclass(engine, IncrementalEngine):
        return "it is not incremental"
    if required.phrases and required.engine == "auto" and prefers_torch(engine):
        return "its search does not choose where glossary terms fit best"
    missing = engine.unsupported(required.settings, phrases=required.phrases, trace=required.trace)
    return f"it does not support {missing}" if missing else None


def _start(bundle: Bundle, name: str, required: _Requirements, why: str = "") -> OpenedEngine:
    kind = _KINDS[name]
    require(kind.package, kind.extra, f"the engine {name}")
    device = resolve_device(name, required.device, kind.load().has_cuda)
    precision = default_precision(bundle, name, device) if required.precision == "auto" else required.precision
    _check_precision(name, precision, why)
    if (name, device, precision) == ("onnx", "cuda", "int8"):
        raise CombinationError(
            "precision must be float32 on onnx with cuda, got int8; its int8 kernels need a processor"
        )
    options = {} if required.shortlist or name != "onnx" else {"shortlist": False}
    engine = kind.load().open(bundle, precision=precision, threads=required.threads, device=device, **options)
    threads = f"{required.threads} {'thread' if required.threads == 1 else 'threads'}"
    description = f"{name} {precision}, {threads if device == 'cpu' else device}"
    return OpenedEngine(engine, f"{description} ({why})" if why else description)


def default_precision(bundle: Bundle, name: str, device: Device = "cpu") -> str:
    """int8 on ONNX Runtime for a model that has int8 weights or was made for them."""
    own = bundle.inference()
    return "int8" if name == "onnx" and device == "cpu" and own is not None and own.precision == "int8" else "float32"


def _check(what: str, value: str, legal: Sequence[str]) -> None:
    if value not in legal:
        raise ConfigError(f"{what} must be one of {', '.join(legal)}, got {value!r}")


def _check_precision(name: str, precision: str, why: str = "") -> None:
    legal = _KINDS[name].precisions
    if precision not in ("auto", *legal):
        because = f" ({why})" if why else ""
        raise CombinationError(f"precision must be one of {', '.join(legal)} on {name}, got {precision}{because}")
