"""Settings: schemas, presets, and loading from files, options and the environment. Imports no numpy and no torch."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.config.config_file import file_schema, load_config, parse_config, preset_names, to_toml
    from dragoman.config.corpus import CleaningConfig, CorpusConfig, DataConfig, OnBadLine, SamplingConfig
    from dragoman.config.rnn import AttentionConfig, RnnConfig, RnnDecoderConfig, RnnEncoderConfig
    from dragoman.config.schema import Config, ModelConfig, TokenizerConfig, TransformerConfig
    from dragoman.config.training import LoraConfig, StartConfig, TrainingConfig

_NAMES = {
    "corpus": ("CleaningConfig", "CorpusConfig", "DataConfig", "OnBadLine", "SamplingConfig"),
    "config_file": ("file_schema", "load_config", "parse_config", "preset_names", "to_toml"),
    "rnn": ("AttentionConfig", "RnnConfig", "RnnDecoderConfig", "RnnEncoderConfig"),
    "schema": ("Config", "ModelConfig", "TokenizerConfig", "TransformerConfig"),
    "training": ("LoraConfig", "StartConfig", "TrainingConfig"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is used: the settings of a command do not need the schema of configurations."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
