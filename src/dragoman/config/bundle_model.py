"""Read the model settings of a saved model (bundle), which fine-tuning takes over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.config.parse_toml import parse_toml, read_toml_text
from dragoman.errors import ConfigError

__all__ = ["read_bundle_model"]

_CONFIG = "dragoman.toml"


def read_bundle_model(bundle: Path) -> dict[str, Any]:
    """Return the table ``[model]`` of the folder of a bundle; nothing else of the bundle is read or verified."""
    if bundle.is_file():
        raise ConfigError(
            f"start.bundle must be a folder where [model] has no family, got the file {bundle}; unpack the archive, or "
            f"copy the section [model] of its {_CONFIG}"
        )
    path = bundle / _CONFIG
    try:
        text = read_toml_text(path)
    except FileNotFoundError:
        raise ConfigError(f"start.bundle must be a bundle, got {bundle}; there is no {path}") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} must be a readable UTF-8 file, got: {error}; name another bundle") from None
    model = parse_toml(text, str(path), "name another bundle").get("model")
    if not isinstance(model, dict) or "family" not in model:
        raise ConfigError(f"{path} must have a section [model] with a family, got none; name the folder of a bundle")
    return model
