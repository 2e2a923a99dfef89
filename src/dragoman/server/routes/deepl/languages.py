"""Language codes as DeepL lists them: capitals, sources without regions, English and Portuguese with regions."""

from __future__ import annotations

from collections.abc import Iterable

from dragoman.language_codes import is_same_language, language_key
from dragoman.server.models.served_languages import language_name
from dragoman.server.request_types import ModelInfo, Route

__all__ = ["glossary_pairs", "source_code", "source_languages", "target_languages"]

_VARIANTS = {
    "en": ("en", "en-GB", "en-US"),
    "pt": ("pt", "pt-BR", "pt-PT"),
    "zh": ("zh", "zh-Hans"),
}
"""Codes that DeepL's clients send for a target language. Some of them reject the code without a region."""


def source_code(code: str) -> str:
    """Return the code of a source language: without a region, and with a script only if it is not the usual one."""
    key = language_key(code)
    return "-".join(filter(None, (key.language, key.script))).upper()


def source_languages(codes: Iterable[str]) -> dict[str, str]:
    """Return codes and names of source languages."""
    return {source_code(code): language_name(code) for code in codes}


def target_languages(codes: Iterable[str]) -> dict[str, str]:
    """Return codes and names of target languages."""
    found: dict[str, str] = {}
    for code in codes:
        preferred = next((each for each in _VARIANTS if is_same_language(each, code)), code)
        for variant in _VARIANTS.get(preferred, (code,)):
            found.setdefault(variant.upper(), language_name(variant))
    return found


def glossary_pairs(routes: Iterable[Route], models: Iterable[ModelInfo]) -> list[tuple[str, str]]:
    """Return the language pairs, in lower case and without regions, whose models can use a glossary."""
    capable = {each.name for each in models if each.supports_glossary}
    pairs = {
        (source_code(route.source).lower(), source_code(route.target).lower())
        for route in routes
        if any(names[-1] in capable for names in route.models)
    }
    return sorted(pairs)
