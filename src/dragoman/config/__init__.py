"""Settings: what there is, what is legal, and how files and presets are read. Imports no torch."""

from dragoman.config.load import file_schema, load_config, parse_config, preset_names, to_toml
from dragoman.config.schema import (
    AttentionConfig,
    Config,
    ModelConfig,
    RnnConfig,
    RnnDecoderConfig,
    RnnEncoderConfig,
    TokenizerConfig,
    TrainingConfig,
    TransformerConfig,
)

__all__ = [
    "AttentionConfig",
    "Config",
    "ModelConfig",
    "RnnConfig",
    "RnnDecoderConfig",
    "RnnEncoderConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "TransformerConfig",
    "file_schema",
    "load_config",
    "parse_config",
    "preset_names",
    "to_toml",
]
