"""Dragoman: train, inspect and serve neural machine translation models.

::

    from dragoman import Translator

    translator = Translator.open("run/bundle")
    print(translator.translate("A dog runs in the snow."))

All names are imported when they are first used: ``import dragoman`` imports neither torch nor numpy. docs/stability.md
describes which changes these names may have.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.api.public import align, compare, evaluate, export, inspect, prepare, train
    from dragoman.api.translation.multi_model.translators import Translators
    from dragoman.api.translation.translation import Translation
    from dragoman.api.translation.translator import Translator
    from dragoman.bundle.bundle import Bundle
    from dragoman.config.config_file import load_config
    from dragoman.config.search import SearchSettings
    from dragoman.errors import DragomanError
    from dragoman.text.glossary import Glossary

__all__ = [
    "Bundle",
    "DragomanError",
    "Glossary",
    "SearchSettings",
    "Translation",
    "Translator",
    "Translators",
    "__version__",
    "align",
    "compare",
    "evaluate",
    "export",
    "inspect",
    "load_config",
    "prepare",
    "train",
]

_MODULES = {
    "Bundle": "bundle.bundle",
    "DragomanError": "errors",
    "Glossary": "text.glossary",
    "SearchSettings": "config.search",
    "Translation": "api.translation.translation",
    "Translator": "api.translation.translator",
    "Translators": "api.translation.multi_model.translators",
    "load_config": "config.config_file",
} | dict.fromkeys(("align", "compare", "evaluate", "export", "inspect", "prepare", "train"), "api.public")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
