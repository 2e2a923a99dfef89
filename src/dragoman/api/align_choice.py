"""Whether a translator has the map that is asked for, before everything is aligned."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.api.attention import AttentionChoice
from dragoman.api.translator import Translator
from dragoman.engines.protocol import Attentive, Engine
from dragoman.engines.stepping import EnsembleEngine
from dragoman.errors import ConfigError

__all__ = ["check_choice", "check_usual"]


def check_choice(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    choice: AttentionChoice,
    *,
    by_spaces: bool,
    of: str = "",
) -> None:
    """Refuse a layer or a head that the model does not have: the first pair shows which it has.

    Errors of these begin with `of`. An engine that can give only the usual map is asked for that alone.
    """
    if not isinstance(translator.engine, Attentive):
        check_usual(translator.engine, choice, by_spaces=by_spaces)
    elif (choice.layer, choice.head) != (None, None) and len(sources) == len(targets):
        for attention in translator.attention(sources[:1], targets[:1]):
            attention.check(choice, of=of)


def check_usual(engine: Engine, choice: AttentionChoice, *, by_spaces: bool) -> None:
    """Refuse any choice but the usual map between usual words, for engines that have no other."""
    if choice == AttentionChoice() and not by_spaces:
        return
    what = "words by spaces" if by_spaces else "a layer, a head or a reading"
    if isinstance(engine, EnsembleEngine):
        raise ConfigError(
            f"translator must be one model to choose {what}, got an ensemble of {len(engine.members)}; open one of its "
            "bundles alone, or leave the choice out"
        )
    raise ConfigError(
        f"engine must be torch to choose {what}, got {engine.name}; open the translator with engine='torch', or leave "
        "the choice out"
    )
