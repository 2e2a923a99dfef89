"""One options type: its fields, the keywords of `Translator.translate`, and their types agree."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from dragoman.api.translation.options import TranslateKeywords, TranslateOptions, search_settings
from dragoman.api.translation.translator import Translator
from dragoman.config.search import SearchSettings
from dragoman.errors import ConfigError

OPTIONS = {field.name: field for field in fields(TranslateOptions)}
OF_SEARCH = {"beam", "nbest"}  # shorthand for fields of `search`
OF_A_CALL = {
    "source",
    "target",
    "prefix",
    "first",
    "cancelled",
    "progress",
}  # about these texts, not how texts are translated


def keywords(method: object) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(method).parameters.values()  # type: ignore[arg-type]
    return {each.name: each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


def test_translate_has_one_keyword_per_option():
    assert set(keywords(Translator.translate)) == OPTIONS.keys() | OF_SEARCH | OF_A_CALL
    assert set(SearchSettings.model_fields) >= OF_SEARCH


def test_types_of_keywords_are_those_of_options():
    declared = get_type_hints(TranslateOptions)
    typed = get_type_hints(TranslateKeywords)
    hints = get_type_hints(Translator.translate)
    assert {name: hints[name] for name in keywords(Translator.translate)} == typed
    for name in OPTIONS.keys() - {"search"}:
        assert typed[name] == declared[name]
    assert typed["search"] == declared["search"] | None


def test_defaults_of_keywords_are_those_of_options():
    default, given = TranslateOptions(), keywords(Translator.translate)
    for name in OPTIONS.keys() - {"search"}:
        assert given[name].default == getattr(default, name)


def test_a_stream_has_the_options_that_change_its_text():
    given = keywords(Translator.translate_stream)
    results = {"alignment", "attention", "posterior", "flags", "search_tree", "nbest", "first", "progress"}
    assert set(given) == keywords(Translator.translate).keys() - results
    for name in given:
        assert given[name].default == keywords(Translator.translate)[name].default


def test_beam_and_nbest_replace_those_of_the_search_settings():
    settings = SearchSettings(beam=3, alpha=0.5)
    assert search_settings(settings) is settings
    assert search_settings(settings, beam=4, nbest=2) == SearchSettings(beam=4, nbest=2, alpha=0.5)
    with pytest.raises(ConfigError, match="beam must be greater than or equal to 1, got 0"):
        search_settings(settings, beam=0)
    with pytest.raises(ConfigError, match="nbest must be at most the beam"):
        search_settings(settings, nbest=4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": "4"}, "beam must be a whole number, got '4'"),
        ({"beam": 10**9}, "beam must be less than or equal to 1000, got 1000000000"),
        ({"sample": True, "nbest": 10**9}, "nbest must be less than or equal to 1000"),
        ({"beem": 4}, "beem is no known setting; did you mean beam"),
    ],
)
def test_a_wrong_value_is_an_error_of_the_package(values: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        SearchSettings(**values)


def test_settings_of_another_type_are_errors():
    with pytest.raises(ConfigError, match=r"search must be SearchSettings, got dict; write SearchSettings\(beam=4\)"):
        search_settings({"beam": 4})  # type: ignore[arg-type]


def test_a_sample_has_no_search_tree():
    with pytest.raises(ConfigError, match="sampled translations have no search tree"):
        TranslateOptions(search_tree=True, search=SearchSettings(sample=True))
