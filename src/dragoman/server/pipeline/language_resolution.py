"""Detect the language of each text, and choose the model that translates it."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from dragoman.api.translation.multi_model.routing import code_hint
from dragoman.language_codes import language_key
from dragoman.markup.html_text import HtmlText
from dragoman.server.errors import RequestError
from dragoman.server.models.routing import Languages, language_name, routes_of_model, supported_codes
from dragoman.server.request_types import DetectedLanguage, Dialect, ModelInfo, TranslationRequest
from dragoman.text.characters import has_letters
from dragoman.text.language_detection_model import load_detector
from dragoman.text.language_scripts import chinese_script
from dragoman.text.other_language import fitting_answers, other_language

MAX_DETECTED_CHARACTERS = 500
"""Characters that are read; more take longer, and hardly change the result."""

_ALL_LANGUAGES = 200  # more than the model has
_MAX_RESULTS = 3
_MIN_PROBABILITY = 0.01  # of a result other than the first
_CERTAINTY = 0.5  # of a language that the server does not translate

_KANA = re.compile("[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")

_MODEL_CODES = {"nb": "no"}


class LanguageDetector:
    """Language detector; takes about 0.1 ms per text."""

    @functools.cached_property
    def _model(self) -> Any:
        return load_detector()

    def detect(self, text: str, among: Sequence[str]) -> list[DetectedLanguage]:
        """Return the most probable of some languages, the best first; there is always one.

        A text without letters, or in a language that the model does not have, gets confidence 0 and English, as in
        LibreTranslate, or the first of `among` if English is not served. The first result also names the language of
        the text if that is another one.
        """
        text = text[:MAX_DETECTED_CHARACTERS].replace("\0", " ")
        found: list[DetectedLanguage] = []
        scores: dict[str, float] = {}
        if has_letters(text):
            # A threshold is faster: most languages are improbable, and listing them all takes longer than detection.
            scores = self._scores(text, _MIN_PROBABILITY)
            found = _ranked(text, scores, among) or _ranked(text, self._scores(text, 0.0), among)
        first = found[0] if found else DetectedLanguage("en" if "en" in among or not among else among[0], 0.0)
        if (other := _other_language(scores, first.language)) is not None:
            first = replace(first, unavailable=other, unavailable_confidence=_percent(scores[other]))
        return [first, *(each for each in found[1:_MAX_RESULTS] if each.confidence >= 100 * _MIN_PROBABILITY)]

    def _scores(self, text: str, threshold: float) -> dict[str, float]:
        likely = self._model.detect(text, k=_ALL_LANGUAGES, threshold=threshold)
        scores = {str(each["lang"]): float(each["score"]) for each in likely}
        _separate_chinese_japanese(text, scores)
        return scores


def _ranked(text: str, scores: Mapping[str, float], among: Sequence[str]) -> list[DetectedLanguage]:
    found: list[DetectedLanguage] = []
    for name, codes in _by_model_code(among).items():
        code = _select_chinese(text, codes) if name == "zh" else codes[0]
        if name in scores:
            found.append(DetectedLanguage(code, _percent(scores[name])))
    return sorted(found, key=lambda each: -each.confidence)


def _percent(score: float) -> float:
    return round(min(100.0, 100 * score), 1)


def _other_language(scores: Mapping[str, float], language: str) -> str | None:
    """Return the most probable language if it is neither `language` nor one that the model confuses with it."""
    best = max(scores, key=lambda name: scores[name], default=None)
    fitting = fitting_answers(language)
    return best if best and fitting and scores[best] >= _CERTAINTY and best not in fitting else None


def _by_model_code(codes: Sequence[str]) -> dict[str, list[str]]:
    """Group codes by the model's code of the language; it has no variants."""
    names: dict[str, list[str]] = {}
    for code in codes:
        language = language_key(code).language
        names.setdefault(_MODEL_CODES.get(language, language), []).append(code)
    return names


def _separate_chinese_japanese(text: str, scores: dict[str, float]) -> None:
    """Correct the model, which confuses Chinese with Japanese: nearly every Japanese sentence has kana."""
    if _KANA.search(text):
        scores["ja"] = scores.get("ja", 0.0) + scores.pop("zh", 0.0)
    elif _HAN.search(text):
        scores["zh"] = scores.get("zh", 0.0) + sum(scores.pop(each, 0.0) for each in ("ja", "yue", "wuu"))


def _select_chinese(text: str, codes: Sequence[str]) -> str:
    traditional = [code for code in codes if language_key(code).script == "Hant"]
    simplified = [code for code in codes if code not in traditional]
    if not traditional or not simplified:
        return codes[0]
    return (traditional if chinese_script(text) == "Hant" else simplified)[0]


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
        routes = routes_of_model(request.model, directions, None if is_auto else request.source, request.target)
        found: dict[str, tuple[str, str]] = {}
        for route in routes if is_auto else routes[:1]:
            found.setdefault(route.source, (route.source, route.target))
    elif is_auto:
        found = {
            source: _resolve_pair(languages, source, request.target, request.dialect)
            for source in _sources(languages, request)
        }
    else:
        found = {request.source: _resolve_pair(languages, request.source, request.target, request.dialect)}
    if not is_auto:
        (pair,) = found.values()
        return [ResolvedText(text, *pair, page=page) for text, page in zip(request.texts, pages, strict=True)]
    words = list(map(_words, request.texts, pages))
    is_target = request.model is not None or any(target in languages.targets for _, target in found.values())
    detected = [detector.detect(each, tuple(found) if is_target else languages.codes)[0] for each in words]
    first = next(iter(found.values()))
    if not is_target:
        _check_passthrough(languages, first[1], words, detected, request.dialect)
    elif request.dialect.rejects_other_languages:
        sources = [source for source, target in found.values() if source != target]
        _check_detected(languages, sources, words, detected, request)
    return [
        ResolvedText(text, *found.get(each.language, first), each, page)
        for text, each, page in zip(request.texts, detected, pages, strict=True)
    ]


def _check_passthrough(
    languages: Languages, target: str, texts: Sequence[str], detected: Sequence[DetectedLanguage], dialect: Dialect
) -> None:
    """Reject a target that no model translates into, unless all texts are in that language already."""
    for text, found in zip(texts, detected, strict=True):
        is_there = found.language == target and found.confidence and found.unavailable is None
        if has_letters(text) and not is_there:
            raise RequestError(
                f"{dialect.target} must be one of {', '.join(languages.targets)}, got {target}; see {dialect.listing}",
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
        f"the detection is wrong, set {request.dialect.source}",
        code="unavailable_pair" if is_known else "unknown_language",
    )


def _is_certain(text: str, found: DetectedLanguage, sources: Sequence[str]) -> bool:
    if any(found.unavailable in fitting_answers(source) for source in sources):  # similar to one that is translated
        return False
    return other_language(text, found.language) is not None


def _sources(languages: Languages, request: TranslationRequest) -> tuple[str, ...]:
    sources = languages.to_target(request.target)
    return sources or (_matched(languages, request.target, "target", request.dialect),)


def _resolve_pair(languages: Languages, source: str, target: str, dialect: Dialect) -> tuple[str, str]:
    found = languages.match_pair(source, target)
    if found is not None:
        return found
    source = _matched(languages, source, "source", dialect)
    target = _matched(languages, target, "target", dialect)
    if not dialect.names_languages:
        names = [f"{language_name(code)} ({languages.listed_code(code)})" for code in (target, source)]
        raise RequestError(f"{names[0]} is not available as a target language from {names[1]}", code="unavailable_pair")
    targets = [each for each in languages.from_source(source) if each != source]
    if targets:
        wrong = f"{dialect.target} must be one of {', '.join(targets)} for {source}, got {target}"
    else:
        wrong = f"{dialect.source} must be one of {', '.join(languages.sources)}, got {source}"
    raise RequestError(f"{wrong}; see {dialect.listing}", code="unavailable_pair")


def _matched(languages: Languages, code: str, side: Literal["source", "target"], dialect: Dialect) -> str:
    found = languages.match(code)
    if found is None:
        served = languages.targets if side == "target" else languages.sources
        name = dialect.target if side == "target" else dialect.source
        wrong = f"{code[:40]} is not supported{code_hint(code, languages.codes)}; {supported_codes(served, languages)}"
        if dialect.names_languages:
            hint = code_hint(code, served)
            wrong = f"{name} must be one of {', '.join(served)}, got {code[:40]!r}{hint}; see {dialect.listing}"
        raise RequestError(wrong, code="unknown_language")
    return found


def _words(text: str, page: HtmlText | None) -> str:
    return text if page is None else " ".join(each.text for each in page.segments)
