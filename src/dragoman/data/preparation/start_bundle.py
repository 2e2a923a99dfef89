"""Open the saved model (bundle) that fine-tuning starts from, and use its tokenizer settings."""

from __future__ import annotations

from pathlib import Path

from dragoman.bundle import Bundle
from dragoman.config import Config

__all__ = ["open_start_bundle", "with_start_tokenizer"]


def open_start_bundle(config: Config, folder: Path) -> Bundle | None:
    """Open and verify the start bundle of a configuration, or return None; a relative path begins at `folder`."""
    return None if config.start is None else Bundle.open(folder / config.start.bundle)


def with_start_tokenizer(config: Config, bundle: Bundle | None) -> Config:
    """Return the configuration with the [tokenizer] section of the bundle."""
    return config if bundle is None else config.model_copy(update={"tokenizer": bundle.config.tokenizer})
