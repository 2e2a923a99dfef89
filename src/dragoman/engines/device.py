"""Choose the device of an engine: the processor, or a CUDA device that its package can use. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from dragoman.config.engine import DeviceName
from dragoman.errors import ConfigError

__all__ = ["Device", "no_cuda_error", "resolve_device"]

Device = Literal["cpu", "cuda"]

_FIXES = {
    "torch": "install a build of torch for CUDA",
    "ctranslate2": "install NVIDIA's driver, CUDA 12 and cuDNN",
    "onnx": "install onnxruntime-gpu in place of onnxruntime",
}


def resolve_device(engine: str, device: DeviceName, has_cuda: Callable[[], bool]) -> Device:
    """Return the device of an engine: `auto` is cuda if it has one; cuda without one is a `ConfigError`."""
    if device == "cpu":
        return "cpu"
    found = has_cuda()
    if device == "cuda" and not found:
        raise no_cuda_error(engine)
    return "cuda" if found else "cpu"


def no_cuda_error(engine: str) -> ConfigError:
    """Return the error for an engine that cannot use a CUDA device."""
    return ConfigError(
        f"device must be cpu or auto where {engine} finds no CUDA device, got cuda; leave --device out, or "
        f"{_FIXES[engine]}"
    )
