"""What the bundles of one translator have in common, and how much they can read at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dragoman.bundle import Bundle
from dragoman.config import Config
from dragoman.errors import ConfigError
from dragoman.text import Tokenizer

__all__ = ["in_common", "readable"]


def readable(config: Config) -> int | None:
    """How many pieces a model can read at once, its end left out; None where there is no limit."""
    model = config.model
    if model.family == "transformer" and model.positions == "learned":
        return max(1, model.max_positions - 1)
    return None


def in_common(bundles: Sequence[Bundle]) -> tuple[Config, dict[str, Tokenizer]]:
    """The tokenizers, which all must share, and the configuration of the bundle that can read the least."""
    if not bundles:
        raise ConfigError("a translator must have at least one bundle, got none; name one")
    first, *others = (_spelling(bundle) for bundle in bundles)
    for bundle, other in zip(bundles[1:], others, strict=True):
        if other != first:
            raise ConfigError(
                f"the bundles of an ensemble must have the same tokenizers and normal form, got others in "
                f"{bundle.path} than in {bundles[0].path}; train them on the same prepared data"
            )
    config = min((bundle.config for bundle in bundles), key=lambda each: readable(each) or float("inf"))
    return config, bundles[0].tokenizers()


def _spelling(bundle: Bundle) -> tuple[Any, ...]:
    tokenizers = bundle.tokenizers()
    return bundle.config.tokenizer.normal_form, *(tokenizers[side].to_bytes() for side in ("source", "target"))
