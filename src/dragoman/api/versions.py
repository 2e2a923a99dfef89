"""Which packages a figure was made with."""

from __future__ import annotations

import importlib.metadata
import platform

from dragoman import __version__

__all__ = ["package_versions"]

_PACKAGES = ("sacrebleu", "numpy", "ctranslate2", "onnxruntime", "torch", "sentencepiece")


def package_versions() -> dict[str, str]:
    """The versions of this package, of Python, and of those packages that figures depend on and that are there."""
    versions = {"dragoman": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
