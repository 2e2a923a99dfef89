"""The packages of the ONNX engine, imported when they are first needed: one that only reads an export needs no onnx."""

from __future__ import annotations

import importlib
from typing import Any

from dragoman.environment import require

__all__ = ["import_onnx", "import_onnxruntime"]


def import_onnx(module: str = "onnx") -> Any:
    """The package that writes graphs, or a module of it."""
    require("onnx", "export", "exporting to ONNX")
    return importlib.import_module(module)


def import_onnxruntime() -> Any:
    """The package that runs graphs."""
    require("onnxruntime", "export", "the ONNX engine")
    return importlib.import_module("onnxruntime")
