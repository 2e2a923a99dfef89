"""The model that training begins with: what preparing data needs of it."""

from __future__ import annotations

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import Config

__all__ = ["open_start", "with_start"]


def open_start(config: Config, folder: Path) -> Bundle | None:
    """The bundle that a configuration starts with, verified, or None; a relative path begins at `folder`."""
    return None if config.start is None else Bundle.open(folder / config.start.bundle)


def with_start(config: Config, bundle: Bundle | None) -> Config:
    """The configuration with the bundle's own [tokenizer] section, since its pieces decide how text is cut."""
    return config if bundle is None else config.model_copy(update={"tokenizer": bundle.config.tokenizer})
