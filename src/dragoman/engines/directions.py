"""Tokenizers and engines of one direction of a model with several."""

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from dragoman.config import Config, DataConfig
from dragoman.config.corpus import Direction
from dragoman.engines.protocol import Engine
from dragoman.engines.target_prefix import begin_translations
from dragoman.errors import ConfigError
from dragoman.language_codes import match_language
from dragoman.text import PrefixedTokenizer, Tokenizer, language_token_id
from dragoman.text.language_tokens import begin_tokens

_MAX_SHOWN = 20


class _Directed(Protocol):
    """A translator, which is defined above this package."""

    directions: tuple[Direction, ...]

    def direction(self, source: str | None = None, target: str | None = None) -> Self: ...


_Translator = TypeVar("_Translator", bound=_Directed)


def in_direction(translator: _Translator, direction: Direction) -> _Translator:
    """Return the translator of one direction of a model with several; one of a single direction is unchanged."""
    return translator.direction(*direction) if len(translator.directions) > 1 else translator


def choose_direction(directions: Sequence[Direction], source: str | None, target: str | None) -> Direction:
    """Return the direction between two languages, of which one may be left out if there is only one with the other.

    A direction that was not trained is chosen if both languages were trained, each on its side.
    """
    chosen = [
        None if given is None else match_language(given, dict.fromkeys(each[side] for each in directions))
        for side, given in enumerate((source, target))
    ]
    one, other = chosen
    trained: list[Direction] = []
    if all(given is None or found for given, found in zip((source, target), chosen, strict=True)):
        trained = [each for each in directions if one in (None, each[0]) and other in (None, each[1])]
    if len(trained) == 1:
        return trained[0]
    if not trained and one is not None and other is not None and one != other:
        return one, other
    got = f", got {source or '?'} → {target or '?'}" if source or target else ""
    raise ConfigError(
        f"source and target must be one direction of the model ({list_directions(trained or directions)}){got}; "
        + ("name both languages" if trained else "name one of these, or another model")
    )


def list_directions(directions: Sequence[Direction]) -> str:
    """Return directions as text; only the first of many."""
    shown = [" → ".join(filter(None, each)) for each in directions[:_MAX_SHOWN]]
    more = [f"and {len(directions) - _MAX_SHOWN:,} more"] if len(directions) > _MAX_SHOWN else []
    return ", ".join(shown + more)


def directed_tokenizers(
    data: DataConfig, direction: Direction, tokenizers: dict[str, Tokenizer]
) -> dict[str, Tokenizer]:
    """Return tokenizers whose sources begin with the language token of the direction, if it has one there."""
    source, _ = begin_tokens(data, direction)
    return tokenizers | {"source": PrefixedTokenizer(tokenizers["source"], source[0])} if source else tokenizers


def has_language_tokens(data: DataConfig, direction: Direction, tokenizers: dict[str, Tokenizer]) -> bool:
    """Return whether a vocabulary has the tokens that begin sentences of a direction."""
    return all(
        tokenizers[side].token_to_id(token) != tokenizers[side].unk_id
        for side, tokens in zip(("source", "target"), begin_tokens(data, direction), strict=True)
        for token in tokens
    )


def target_prefix(data: DataConfig, direction: Direction, tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the ids of the tokens that begin translations in a direction."""
    _, target = begin_tokens(data, direction)
    return tuple(language_token_id(tokenizer, token) for token in target)


def directed_parts(
    config: Config, direction: Direction, engine: Engine, tokenizers: dict[str, Tokenizer]
) -> tuple[Engine, dict[str, Tokenizer]]:
    """Return the engine and the tokenizers of a direction: they add the tokens that begin sentences."""
    assert config.data is not None
    prefix = target_prefix(config.data, direction, tokenizers["target"])
    return begin_translations(engine, prefix), directed_tokenizers(config.data, direction, tokenizers)


def only_direction(
    config: Config, engine: Engine, tokenizers: dict[str, Tokenizer]
) -> tuple[Engine, dict[str, Tokenizer]]:
    """Return the engine and the tokenizers of a model of one direction; those of a model with several are unchanged."""
    directions = config.data.all_directions() if config.data else []
    return directed_parts(config, directions[0], engine, tokenizers) if len(directions) == 1 else (engine, tokenizers)
