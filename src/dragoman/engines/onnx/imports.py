"""Import onnx and onnxruntime when they are needed; only exporting requires onnx."""

from __future__ import annotations

import importlib
from typing import Any

from dragoman.environment import require


def import_onnx(module: str = "onnx") -> Any:
    """Import onnx, which writes graphs, or one of its modules."""
    require("onnx", "export", "exporting to ONNX")
    return importlib.import_module(module)


def import_onnxruntime() -> Any:
    """Import onnxruntime, which runs graphs."""
    require("onnxruntime", "export", "the ONNX engine")
    return importlib.import_module("onnxruntime")
