"""Determine the source and target language of each text of a request; detect the source if it is ``auto``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from dragoman.markup.html_text import HtmlText
from dragoman.server.errors import RequestError
from dragoman.server.models.routing import code_hint, routes_of_models
from dragoman.server.models.served_languages import Languages, supported_codes
from dragoman.server.pipeline.language_detection import LanguageDetector
from dragoman.server.request_types import ApiNames, DetectedLanguage, ModelInfo, TranslationRequest
from dragoman.text.characters import has_letters
from dragoman.text.other_language import fitting_answers, other_language

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

    is_passthrough: bool = field(init=False)
    """Whether there is nothing to translate."""

    def __post_init__(self) -> None:
        """Search for letters here: languages of long texts are resolved in a thread."""
        object.__setattr__(self, "is_passthrough", self.source == self.target or not has_letters(self.text))


def resolve_texts(
    request: TranslationRequest, languages: Languages, models: Sequence[ModelInfo], detector: LanguageDetector
) -> list[ResolvedText]:
    """Resolve the languages of a request; with source ``auto`` the language of each text is detected."""
    pages = [request.parse_page(text) for text in request.texts]
    is_auto = request.source.strip().lower() == "auto"
    if request.model is not None:
        directions = {each.name: each.all_directions() for each in models}
        routes = routes_of_models(request.model, directions, None if is_auto else request.source, request.target)
        found: dict[str, tuple[str, str]] = {}
        for route in routes if is_auto else routes[:1]:
            found.setdefault(route.source, (route.source, route.target))
    elif is_auto:
        found = {
            source: _resolve_pair(languages, source, request.target, request.names)
            for source in _sources(languages, request)
        }
    else:
        found = {request.source: _resolve_pair(languages, request.source, request.target, request.names)}
    if not is_auto:
        (pair,) = found.values()
        return [ResolvedText(text, *pair, page=page) for text, page in zip(request.texts, pages, strict=True)]
    words = list(map(_words, request.texts, pages))
    is_target = request.model is not None or any(target in languages.targets for _, target in found.values())
    detected = [detector.detect(each, tuple(found) if is_target else languages.codes)[0] for each in words]
    first = next(iter(found.values()))
    if not is_target:
        _check_passthrough(languages, first[1], words, detected, request.names)
    elif request.rejects_other_languages:
        sources = [source for source, target in found.values() if source != target]
        _check_detected(languages, sources, words, detected, request)
    return [
        ResolvedText(text, *found.get(each.language, first), each, page)
        for text, each, page in zip(request.texts, detected, pages, strict=True)
    ]


def _check_passthrough(
    languages: Languages, target: str, texts: Sequence[str], detected: Sequence[DetectedLanguage], names: ApiNames
) -> None:
    """Reject a target that no model translates into, unless all texts are in that language already."""
    for text, found in zip(texts, detected, strict=True):
        is_there = found.language == target and found.confidence and found.unavailable is None
        if has_letters(text) and not is_there:
            raise RequestError(
                f"{names.target} must be one of {', '.join(languages.targets)}, got {target}; see {names.listing}",
                code="unavailable_pair",
            )


def _check_detected(
    languages: Languages,
    sources: Sequence[str],
    texts: Sequence[str],
    detected: Sequence[DetectedLanguage],
    request: TranslationRequest,
) -> None:
    """Reject a request if half of its texts or more are certainly in languages that are not translated.

    Short texts, names and texts without letters are never certain. The few of a large list do not prevent the
    translation of the others.
    """
    others = [
        number
        for number, (text, found) in enumerate(zip(texts, detected, strict=True))
        if found.unavailable is not None and _is_certain(text, found, sources)
    ]
    if not others or 2 * len(others) < sum(map(has_letters, texts)):
        return
    language, confidence = detected[others[0]].most_probable
    where = "the text" if len(texts) == 1 else f"text {others[0] + 1} of {len(texts)}"
    is_known = languages.match(language) is not None
    raise RequestError(
        f"{language} is not supported{f' for the target {request.target[:40]}' if is_known else ''}: it was detected "
        f"as the language of {where} with a confidence of {confidence:g} %; {supported_codes(sources, languages)}; if "
        f"the detection is wrong, set {request.names.source}",
        code="unavailable_pair" if is_known else "unknown_language",
    )


def _is_certain(text: str, found: DetectedLanguage, sources: Sequence[str]) -> bool:
    if any(found.unavailable in fitting_answers(source) for source in sources):  # similar to one that is translated
        return False
    return other_language(text, found.language) is not None


def _sources(languages: Languages, request: TranslationRequest) -> tuple[str, ...]:
    sources = languages.to_target(request.target)
    return sources or (_matched(languages, request.target, "target", request.names),)


def _resolve_pair(languages: Languages, source: str, target: str, names: ApiNames) -> tuple[str, str]:
    found = languages.match_pair(source, target)
    if found is not None:
        return found
    target = _matched(languages, target, "target", names)
    source = _matched(languages, source, "source", names)
    targets = [each for each in languages.from_source(source) if each != source]
    if targets:
        wrong = f"{names.target} must be one of {', '.join(targets)} for {source}, got {target}"
    else:
        wrong = f"{names.source} must be one of {', '.join(languages.sources)}, got {source}"
    raise RequestError(f"{wrong}; see {names.listing}", code="unavailable_pair")


def _matched(languages: Languages, code: str, side: Literal["source", "target"], names: ApiNames) -> str:
    found = languages.match(code)
    if found is None:
        served = languages.targets if side == "target" else languages.sources
        name = names.target if side == "target" else names.source
        hint = code_hint(code, served)
        raise RequestError(
            f"{name} must be one of {', '.join(served)}, got {code[:40]!r}{hint}; see {names.listing}",
            code="unknown_language",
        )
    return found


def _words(text: str, page: HtmlText | None) -> str:
    return text if page is None else " ".join(each.text for each in page.segments)
