"""Check the options and the sizes of a request."""

import functools
from collections.abc import Mapping, Sequence

from dragoman.api.translation.options import TranslateOptions
from dragoman.config.search import SearchSettings
from dragoman.errors import DataError
from dragoman.markup.html_text import HtmlText
from dragoman.server.errors import RequestError, TooLarge
from dragoman.server.request_types import NATIVE, Dialect
from dragoman.server.settings import Limits, ServerSettings
from dragoman.text.glossary import Glossary

_MAX_TERMS = 200
_MAX_TERM_CHARACTERS = 200
_CHARACTERS_PER_TOKEN = 4
_HTML_CHARACTERS_PER_TOKEN = 8  # of the limit of tokens: tags take time, and are not tokens
_TOKENS_PER_SEGMENT = 4  # of the limit of tokens, for each HTML segment, inline tag and placeholder
_DEFAULT_BEAM = SearchSettings().beam  # as in the command line and in Python


def charged_tokens(characters: int) -> int:
    """Return the tokens to charge for a text that is not tokenized."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def check_texts(texts: Sequence[str], limits: Limits, dialect: Dialect = NATIVE) -> None:
    """Reject too many texts, texts that are too long, and texts that are not valid Unicode."""
    if dialect.size_error is not None:
        for size, limit in [(len(texts), limits.texts), *((len(text), limits.text_characters) for text in texts)]:
            if size > limit:
                raise dialect.size_error(size, limit)
    if len(texts) > limits.texts:
        raise TooLarge(f"texts must be {limits.texts} at most, got {len(texts)}; send them in several requests")
    for number, text in enumerate(texts, 1):
        if len(text) > limits.text_characters:
            raise TooLarge(
                f"text {number} must have {limits.text_characters} characters at most, got {len(text)}; split it into "
                "several texts"
            )
        if not text.isascii():
            _check_unicode(text, number)


def check_glossary(terms: Mapping[str, str | None] | None) -> None:
    """Reject glossaries with too many or too long terms."""
    if not terms:
        return
    if len(terms) > _MAX_TERMS:
        raise TooLarge(
            f"a glossary must have {_MAX_TERMS} terms at most, got {len(terms)}; send the terms that occur in the text"
        )
    for term, translation in terms.items():
        for text in (term, translation or ""):
            if len(text) > _MAX_TERM_CHARACTERS:
                raise TooLarge(
                    f"a term must have {_MAX_TERM_CHARACTERS} characters at most, got {len(text)}; shorten it"
                )
            _check_unicode(text, 1)


def check_html_size(texts: Sequence[str], limits: Limits) -> None:
    """Reject HTML with too many characters."""
    size, limit = sum(map(len, texts)), _HTML_CHARACTERS_PER_TOKEN * limits.request_tokens
    if size > limit:
        raise TooLarge(f"HTML must have {limit:,} characters at most, got {size:,}; send it in several requests")


def check_html_segments(pages: Sequence[HtmlText], limits: Limits) -> None:
    """Reject HTML with too many segments, inline tags and placeholders: each takes time to be translated or aligned."""
    count = sum(1 + len(segment.spans) + len(segment.kept) for page in pages for segment in page.segments)
    limit = limits.request_tokens // _TOKENS_PER_SEGMENT
    if count > limit:
        raise TooLarge(
            f"HTML must have {limit:,} segments, inline tags and placeholders at most, got {count:,}; "
            "send it in several requests"
        )


def _check_unicode(text: str, number: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"text {number} must be Unicode, got half of a surrogate pair at character {error.start + 1}; decode it "
            "again from its source"
        ) from None


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
    """Return options whose beam, of the request, the server or else the model, is as wide as the n-best list."""
    nbest = 1 + alternatives
    return TranslateOptions(
        split_sentences=split_sentences,
        max_sentence_tokens=settings.limits.sentence_tokens,
        search=_search_settings(beam or settings.beam, nbest),
        alignment=alignment,
        attention=attention,
        flags=flags,
        glossary=_glossary(glossary) if glossary else None,
    )


@functools.lru_cache(maxsize=256)
def _search_settings(beam: int | None, nbest: int) -> SearchSettings:
    """Return the same object for the same values: batches compare it, and its validation takes time."""
    if beam is None:
        return SearchSettings.model_construct(_fields_set={"nbest"}, beam=max(_DEFAULT_BEAM, nbest), nbest=nbest)
    return SearchSettings(beam=max(beam, nbest), nbest=nbest)


def _glossary(terms: Mapping[str, str | None]) -> Glossary:
    try:
        return Glossary.from_dict(dict(terms))
    except DataError as error:
        raise RequestError(str(error), code="invalid_glossary") from None
