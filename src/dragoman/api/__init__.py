"""Where the parts are put together: what the command line does, for programs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.api.corpora import check_corpora, prepare_corpora

if TYPE_CHECKING:
    from dragoman.api.bundling import average
    from dragoman.api.resume_check import verify_resume
    from dragoman.api.training import train

__all__ = ["average", "check_corpora", "prepare_corpora", "train", "verify_resume"]

_NEED_TORCH = {"average": "bundling", "train": "training", "verify_resume": "resume_check"}


def __getattr__(name: str) -> Any:
    """Names that load torch, which preparing data does not need, are looked up when they are asked for."""
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_NEED_TORCH[name]}"), name)
