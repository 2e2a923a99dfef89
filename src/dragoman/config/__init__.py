"""Settings: what there is, what is legal, and how files and presets are read. Imports no torch."""

from dragoman.config.corpora import CleaningConfig, CorpusConfig, DataConfig, OnBadLine, SamplingConfig
from dragoman.config.load import file_schema, load_config, parse_config, preset_names, to_toml
from dragoman.config.schema import (
    AttentionConfig,
    Config,
    ModelConfig,
    RnnConfig,
    RnnDecoderConfig,
    RnnEncoderConfig,
    TokenizerConfig,
    TransformerConfig,
)
from dragoman.config.training import StartConfig, TrainingConfig

__all__ = [
    "AttentionConfig",
    "CleaningConfig",
    "Config",
    "CorpusConfig",
    "DataConfig",
    "ModelConfig",
    "OnBadLine",
    "RnnConfig",
    "RnnDecoderConfig",
    "RnnEncoderConfig",
    "SamplingConfig",
    "StartConfig",
    "TokenizerConfig",
    "TrainingConfig",
    "TransformerConfig",
    "file_schema",
    "load_config",
    "parse_config",
    "preset_names",
    "to_toml",
]
