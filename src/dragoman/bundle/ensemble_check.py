"""Check that several saved models (bundles) can form an ensemble: same tokenizers and same normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.bundle import Bundle
from dragoman.config import Config
from dragoman.errors import ConfigError
from dragoman.text import Tokenizer
from dragoman.text.language_tokens import language_place

__all__ = ["check_compatible", "max_source_tokens"]


def max_source_tokens(config: Config) -> int | None:
    """Return the maximum number of source tokens of a model, without the end; None if there is no limit."""
    model = config.model
    if model.family == "transformer" and model.positions == "learned":
        return max(1, model.max_positions - 1)
    return None


def check_compatible(bundles: Sequence[Bundle]) -> tuple[Config, dict[str, Tokenizer]]:
    """Return the common tokenizers, and the configuration of the bundle with the lowest limit of source tokens."""
    if not bundles:
        raise ConfigError("a translator must have at least one bundle, got none; name one")
    first, *others = (_spelling(bundle) for bundle in bundles)
    for bundle, other in zip(bundles[1:], others, strict=True):
        if other != first:
            raise ConfigError(
                f"the bundles of an ensemble must have the same tokenizers, normal form and directions, got others in "
                f"{bundle.path} than in {bundles[0].path}; train them on the same prepared data"
            )
    config = min((bundle.config for bundle in bundles), key=lambda each: max_source_tokens(each) or float("inf"))
    return config, bundles[0].tokenizers()


def _spelling(bundle: Bundle) -> tuple[Any, ...]:
    tokenizers, data = bundle.tokenizers(), bundle.config.data
    directions = None
    if data is not None and data.is_multilingual:
        directions = (language_place(data), sorted(data.all_directions()))
    texts = (tokenizers[side].to_bytes() for side in ("source", "target"))
    return bundle.config.tokenizer.normal_form, directions, *texts
