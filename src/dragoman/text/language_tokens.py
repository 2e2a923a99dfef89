"""Language tokens: what the sentences of a model with several directions begin with."""

from collections.abc import Mapping
from types import MappingProxyType

from dragoman.config.corpus import DataConfig, Direction


def language_token(language: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the token of a language: one of `names`, or ``<2de>``."""
    return names.get(language) or f"<2{language}>"


def language_place(data: DataConfig) -> str | None:
    """Return which sides begin with language tokens: source, target or both; None with one direction only."""
    return (data.language_tokens or "source") if data.is_multilingual else None


def begin_tokens(data: DataConfig, direction: Direction) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tokens that begin the source and the target in a direction; none for most models of one direction."""
    if not data.is_multilingual:
        return (), ()
    names, place = data.token_names, language_place(data)
    source, target = (language_token(language, names) for language in direction)
    if place == "source":
        return (target,), ()
    return ((source,), (target,)) if place == "both" else ((), (target,))


def language_tokens(data: DataConfig) -> list[str]:
    """Return the tokens of all languages, in alphabetical order; none for most models of one direction."""
    if not data.is_multilingual:
        return []
    names, languages = data.token_names, {language for direction in data.all_directions() for language in direction}
    return sorted(language_token(language, names) for language in languages)
