"""Where the parts are put together: what the command line does, for programs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.api.bundling import average
    from dragoman.api.corpora import check_corpora, prepare_corpora
    from dragoman.api.resume_check import verify_resume
    from dragoman.api.training import train
    from dragoman.api.translation import Translation
    from dragoman.api.translator import Translator

__all__ = ["Translation", "Translator", "average", "check_corpora", "prepare_corpora", "train", "verify_resume"]

_MODULES = {
    "Translation": "translation",
    "Translator": "translator",
    "average": "bundling",
    "check_corpora": "corpora",
    "prepare_corpora": "corpora",
    "train": "training",
    "verify_resume": "resume_check",
}


def __getattr__(name: str) -> Any:
    """Names are looked up when they are asked for: preparing data needs no torch, and translating no tables."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
