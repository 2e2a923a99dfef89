"""Open the saved model (bundle) that fine-tuning starts from, and compare its settings with a configuration."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.config import Config, DataConfig, ModelConfig
from dragoman.errors import ConfigError
from dragoman.text.language_tokens import language_place

_LISTED_DIRECTIONS = 12
_DROPOUT_SETTINGS = {"dropout", "attention_dropout", "activation_dropout"}
_FIX = "use the [model] section of the bundle's dragoman.toml"


def open_start_bundle(config: Config, folder: Path) -> Bundle | None:
    """Open and verify the start bundle of a configuration, or return None; a relative path begins at `folder`."""
    return None if config.start is None else Bundle.open(folder / config.start.bundle)


def with_start_tokenizer(config: Config, bundle: Bundle | None) -> Config:
    """Return the configuration with the [tokenizer] section of the bundle."""
    return config if bundle is None else config.model_copy(update={"tokenizer": bundle.config.tokenizer})


def check_same_model(bundle: Bundle, model: ModelConfig) -> None:
    """Require that a configuration describes the model of the bundle, except for dropout."""
    wanted, got = _settings(bundle.config.model.model_dump()), _settings(model.model_dump())
    if wanted.get("family") != got.get("family"):
        wanted, got = ({"family": each["family"]} for each in (wanted, got))
    if differ := [name for name in sorted({*wanted, *got}) if wanted.get(name) != got.get(name)]:
        rules = " and ".join(f"model.{name} must be {_shown(wanted.get(name))}" for name in differ)
        values = " and ".join(_shown(got.get(name)) for name in differ)
        raise ConfigError(f"{rules}, as in {bundle.folder}, got {values}; {_FIX}")


def check_same_languages(bundle: Bundle, data: DataConfig) -> None:
    """Require that sentences begin with language tokens as in the training of a bundle with several directions."""
    base = bundle.config.data
    if base is None or not base.is_multilingual:
        return
    if not data.is_multilingual:
        listed = ", ".join(f'"{":".join(each)}"' for each in base.all_directions()[:_LISTED_DIRECTIONS])
        raise ConfigError(
            f"the model in {bundle.folder} has several directions, and the configuration one; add data.directions "
            f"= [{listed}], and that of the corpus"
        )
    if language_place(data) != language_place(base):
        raise ConfigError(
            f'data.language_tokens must be "{language_place(base)}", as in {bundle.folder}, got '
            f'"{language_place(data)}"; change it'
        )


def _settings(section: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """Settings by dotted name, without those of dropout."""
    found: dict[str, Any] = {}
    for name, value in section.items():
        if isinstance(value, Mapping):
            found |= _settings(value, f"{place}{name}.")
        elif name not in _DROPOUT_SETTINGS:
            found[place + name] = value
    return found


def _shown(value: Any) -> str:
    """Format a value as in a configuration file."""
    return "left out" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
