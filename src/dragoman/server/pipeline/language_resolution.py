"""Determine the source and target language of each text of a request; detect the source if it is ``auto``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.markup.html_text import HtmlText
from dragoman.server.errors import RequestError
from dragoman.server.models.served_languages import Languages
from dragoman.server.pipeline.language_detection import LanguageDetector
from dragoman.server.request_types import DetectedLanguage, ModelInfo, TranslationRequest
from dragoman.text.characters import has_letters

__all__ = ["ResolvedText", "resolve_texts"]


@dataclass(frozen=True)
class ResolvedText:
    """A text and its languages, as codes of the routes."""

    text: str
    source: str
    target: str
    detected: DetectedLanguage | None = None
    page: HtmlText | None = None
    """The parsed text, if it is HTML."""

    @property
    def is_passthrough(self) -> bool:
        """Whether there is nothing to translate."""
        return self.source == self.target or not has_letters(self.text)


def resolve_texts(
    request: TranslationRequest, languages: Languages, models: Sequence[ModelInfo], detector: LanguageDetector
) -> list[ResolvedText]:
    """Resolve the languages of a request; with source ``auto`` the language of each text is detected."""
    target = _match(languages, request.target, "target")
    sources = _possible_sources(request, languages, models, target)
    pages = [HtmlText.parse(text) if request.is_html else None for text in request.texts]
    if request.source.strip().lower() == "auto":
        detected = [detector.detect(each, sources)[0] for each in map(_words, request.texts, pages)]
        return [
            ResolvedText(text, each.language if each.language in sources else sources[0], target, each, page)
            for text, each, page in zip(request.texts, detected, pages, strict=True)
        ]
    source = _match(languages, request.source, "source")
    if source not in sources:
        raise RequestError(
            f"target must be one of {', '.join(languages.from_source(source))} for {source}, got {target}; "
            "/v1/models lists all routes"
        )
    return [ResolvedText(text, source, target, page=page) for text, page in zip(request.texts, pages, strict=True)]


def _possible_sources(
    request: TranslationRequest, languages: Languages, models: Sequence[ModelInfo], target: str
) -> tuple[str, ...]:
    if request.model is None:
        return languages.to_target(target)
    by_name = {each.name: each for each in models}
    model = by_name.get(request.model)
    if model is None:
        raise RequestError(
            f"model must be one of {', '.join(sorted(by_name))}, got {request.model[:60]!r}; leave it out"
        )
    if model.target != target:
        raise RequestError(
            f"target must be {model.target} for the model {model.name}, got {target}; change one of them"
        )
    return (model.source,)


def _match(languages: Languages, code: str, name: str) -> str:
    found = languages.match(code)
    if found is None:
        raise RequestError(f"{name} must be one of {', '.join(languages.codes)}, got {code[:40]!r}; see /languages")
    return found


def _words(text: str, page: HtmlText | None) -> str:
    return text if page is None else " ".join(each.text for each in page.segments)
