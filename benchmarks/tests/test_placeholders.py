"""The measurement of placeholders in small, in all formats, with a translator that damages what it can."""

from functools import partial
from typing import Any

import pytest

from benchmarks.placeholders import FORMATS, Result, Unit, fault, in_documents, measure, units
from dragoman.api.translation import markup
from dragoman.api.translation.text_translator import TextTranslator
from dragoman.api.translation.translation import Translation
from dragoman.config.search import SearchSettings
from dragoman.documents.formats import FORMATS as ALL
from dragoman.documents.formats import read_document


class _Damaging(TextTranslator):
    """Writes words in reverse order and placeholders in upper case, and loses the last word."""

    languages = ("en", "pt")
    search_settings = SearchSettings()

    def translate(self, text: Any, **_: Any) -> Any:
        return [self._one(each) for each in text]

    def direction(self, source: str | None = None, target: str | None = None) -> TextTranslator:
        return self

    def _release(self) -> None:
        pass

    def _one(self, text: str) -> Translation:
        words = text.split()
        target = [word.upper() for word in words[-2::-1]] or ["X"]
        links = tuple((len(words) - 2 - place, place) for place in range(len(words) - 1))
        return Translation(
            text, " ".join(target), source_words=tuple(words), target_words=tuple(target), alignment=links
        )


def measured(suffix: str, count: int = 90) -> dict[str, Any]:
    return measure(suffix, units(count, 7), partial(in_documents, suffix, FORMATS[suffix], _Damaging()))


SAME_READER = {".htm", ".yml", ".mqxliff", ".sdlxliff", ".ssa"}
# In LaTeX, placeholders such as \(name) and %s are syntax of its own.
NOT_MEASURED = {".ass", ".epub", ".ipynb", ".mdx", ".odp", ".ods", ".tex", ".vtt", ".xlsx"}


def test_all_formats_are_measured():
    assert FORMATS.keys() == ALL.keys() - SAME_READER - NOT_MEASURED


@pytest.mark.parametrize("suffix", FORMATS)
def test_none_is_lost_in_a_format_unless_marked(suffix: str):
    found = measured(suffix)
    assert found["faults"] == {}
    assert found["units"] >= 60
    assert found["marked"] < 20


@pytest.mark.parametrize("suffix", [".po", ".srt", ".md"])
def test_a_part_of_a_placeholder_is_no_tag(suffix: str):
    text = "Open %<name>s at %<b>5.2f now"
    document = read_document(f"a{suffix}", FORMATS[suffix].write(text))
    assert [(each.text, each.spans) for each in document.segments] == [(text, ())]


def test_a_guard_that_accepts_everything_is_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(markup, "find_damage", lambda *_: None)
    monkeypatch.setattr(markup.GuardedUnit, "damage", lambda *_: None)
    assert sum(measured(".po", 60)["faults"].values()) > 30


@pytest.mark.parametrize(
    ("unit", "translation"),
    [
        (Unit("brace", "Hi {a} {b}", ("{a}", "{b}")), "Oi {a}"),
        (Unit("brace", "Hi {a}", ("{a}",)), "Oi {a} {a}"),
        (Unit("pair", "<b>x</b>", ("<b>", "</b>")), "</b>x<b>"),
        (Unit("mnemonic", "_Open", ()), "Abrir"),
        (Unit("icu", "{n, plural, one {# a} other {# b}}", ()), "{n, plural, one {# a} other {b}}"),
        (Unit("icu", "{n, plural, one {# a} other {# b}}", ()), "{n, plural, um {# a} other {# b}}"),
    ],
)
def test_each_kind_of_damage_is_a_fault(unit: Unit, translation: str):
    assert fault(unit, translation) is not None
    assert fault(unit, unit.text) is None


def test_a_text_that_is_marked_and_changed_is_damage():
    some = [Unit("brace", "Hi {a}", ("{a}",))]
    results: list[Result] = [("Oi {a}", True)]
    assert measure("x", some, lambda _: results)["faults"] == {"marked but changed": 1}
