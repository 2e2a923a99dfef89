import pytest

from dragoman.server.models.served_languages import Languages, language_name, libretranslate_code
from dragoman.server.request_types import Route


def served(*pairs: str) -> Languages:
    ends = [pair.split(">") for pair in pairs]
    return Languages([Route(source, target, (("model",),)) for source, target in ends])


def test_what_can_be_reached() -> None:
    languages = served("en>de", "fr>en", "fr>de")

    assert languages.sources == ("en", "fr")
    assert languages.targets == ("de", "en")
    assert languages.codes == ("de", "en", "fr")
    assert languages.from_source("fr") == ("de", "en", "fr")
    assert languages.from_source("de") == ("de",)
    assert languages.to_target("de") == ("de", "en", "fr")
    assert languages.to_target("fr") == ("fr",)
    assert languages.match_pair("fr", "de") == ("fr", "de")
    assert languages.match_pair("de", "DE") == ("de", "de")
    assert languages.match_pair("de", "fr") is None
    assert languages.default_target == "de"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("de", "de"),
        ("DE", "de"),
        (" de ", "de"),
        ("de-AT", "de"),
        ("de_CH", "de"),
        ("en", "en-GB"),
        ("EN-US", "en-GB"),
        ("zh-Hans", "zh"),
        ("zh-CN", "zh"),
        ("ZH-HANS", "zh"),
        ("pb", "pt-BR"),
        ("pt-br", "pt-BR"),
        ("no", "nb"),
        ("iw", "he"),
    ],
)
def test_codes_that_people_write(code: str, found: str) -> None:
    languages = served("de>en-GB", "zh>en-GB", "pt-BR>en-GB", "nb>en-GB", "he>en-GB")

    assert languages.match(code) == found


@pytest.mark.parametrize("code", ["zz", "", "zt", "zh-Hant", "zh-TW", "de-Latn", "-", "d", "auto"])
def test_codes_that_mean_nothing_here(code: str) -> None:
    assert served("zh>de").match(code) is None


def test_a_script_does_not_stand_for_the_language() -> None:
    assert served("sr-Latn>en").match("sr") is None
    assert served("sr-Latn>en").match("sr-latn") == "sr-Latn"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("zh", "Simplified Chinese"),
        ("zt", "Traditional Chinese"),
        ("pb", "Brazilian Portuguese"),
        ("de-XX", "German"),
        ("qqq", "qqq"),
    ],
)
def test_names(code: str, name: str) -> None:
    assert language_name(code) == name


def test_codes_as_libretranslate_lists_them() -> None:
    assert [libretranslate_code(code) for code in ("zh", "zt", "pb", "de")] == ["zh-Hans", "zh-Hant", "pt-BR", "de"]
