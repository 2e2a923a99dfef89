"""Build the translation options of a request from server settings and request fields."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from dragoman.api.translation.options import TranslateOptions
from dragoman.config.search import SearchSettings
from dragoman.errors import DataError
from dragoman.server.errors import RequestError
from dragoman.server.settings import ServerSettings
from dragoman.text.glossary import Glossary

__all__ = ["build_options"]


def build_options(
    settings: ServerSettings,
    *,
    alternatives: int = 0,
    beam: int | None = None,
    split_sentences: bool = True,
    alignment: bool = False,
    attention: bool = False,
    flags: bool = False,
    glossary: Mapping[str, str | None] | None = None,
) -> TranslateOptions:
    """Return options with the beam of the server if none is given, and at least as wide as the n-best list."""
    nbest = 1 + alternatives
    return TranslateOptions(
        split_sentences=split_sentences,
        max_sentence_tokens=settings.limits.sentence_tokens,
        search=_search_settings(max(beam or settings.beam, nbest), nbest),
        alignment=alignment,
        attention=attention,
        flags=flags,
        glossary=_glossary(glossary) if glossary else None,
    )


@functools.lru_cache(maxsize=256)
def _search_settings(beam: int, nbest: int) -> SearchSettings:
    """Return the same object for the same values: batches compare it, and its validation takes time."""
    return SearchSettings(beam=beam, nbest=nbest)


def _glossary(terms: Mapping[str, str | None]) -> Glossary:
    try:
        return Glossary.from_dict(dict(terms))
    except DataError as error:
        raise RequestError(str(error), code="invalid_glossary") from None
