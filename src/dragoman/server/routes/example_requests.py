"""Example requests in the languages of a server: the documented examples, which are English to German, for any pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.language_codes import equivalent_languages, primary_language

__all__ = ["example_for"]


@dataclass(frozen=True)
class _Sentences:
    """The sentences of the examples in one language; `dogs` is a word of the first two."""

    snow: str
    play: str
    sleep: str
    dogs: str

    @property
    def marked_up(self) -> str:
        """The second sentence with one word in bold."""
        return self.play.replace(self.dogs, f"<b>{self.dogs}</b>", 1)


_ENGLISH = _Sentences("Two dogs play in the snow.", "Two dogs play.", "A man sleeps.", "dogs")
_PLACEHOLDERS = _Sentences("TEXT", "TEXT", "TEXT", "TERM")
_SENTENCES = {
    "de": _Sentences("Zwei Hunde spielen im Schnee.", "Zwei Hunde spielen.", "Ein Mann schläft.", "Hunde"),
    "en": _ENGLISH,
    "es": _Sentences("Dos perros juegan en el parque.", "Dos perros juegan.", "Un hombre duerme.", "perros"),
    "fr": _Sentences("Deux chiens jouent dans la neige.", "Deux chiens jouent.", "Un homme dort.", "chiens"),
    "it": _Sentences("Due cani giocano nella neve.", "Due cani giocano.", "Un uomo dorme.", "cani"),
    "ja": _Sentences("二匹の犬が雪の中で遊んでいます。", "二匹の犬が遊んでいます。", "男の人が眠っています。", "犬"),
    "pt": _Sentences("Dois cães brincam na neve.", "Dois cães brincam.", "Um homem dorme.", "cães"),
    "ru": _Sentences("Две собаки играют в снегу.", "Две собаки играют.", "Мужчина спит.", "собаки"),
    "zh": _Sentences("两只狗在雪地里玩耍。", "两只狗在玩耍。", "一个男人在睡觉。", "狗"),
    "zh-Hant": _Sentences("兩隻狗在雪地裡玩耍。", "兩隻狗在玩耍。", "一個男人在睡覺。", "狗"),
}


def example_for(value: Any, source: str, target: str) -> Any:
    """Return the body of an example, which translates from English to German, for another language pair.

    Languages without example sentences get a placeholder.
    """
    if isinstance(value, list):
        return [example_for(each, source, target) for each in value]
    if isinstance(value, str):
        return _translated(value, _sentences(source))
    if not isinstance(value, dict):
        return value
    codes = {
        "source": source,
        "target": target,
        "source_lang": source.upper(),
        "target_lang": target.upper(),
        "model": f"{source}:{target}",
        "glossary": {_sentences(source).dogs: _sentences(target).dogs, "Anna": None},
    }
    return {
        name: codes[name] if name in codes and each != "auto" else example_for(each, source, target)
        for name, each in value.items()
    }


def _sentences(code: str) -> _Sentences:
    codes = (*equivalent_languages(code), primary_language(code))
    return next((_SENTENCES[each] for each in codes if each in _SENTENCES), _PLACEHOLDERS)


def _translated(text: str, sentences: _Sentences) -> str:
    for each in ("snow", "marked_up", "play", "sleep"):
        text = text.replace(getattr(_ENGLISH, each), getattr(sentences, each))
    return text
