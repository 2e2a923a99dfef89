import pytest

from dragoman.data.readers.formats.single_file import find_language_columns


@pytest.mark.parametrize(
    ("names", "code", "picked"),
    [
        (["en"], "en", "en"),
        (["EN-us"], "en", "EN-us"),
        (["en-US", "en"], "en", "en"),
        (["EN", "en"], "en", "en"),
        (["en-US", "en_GB"], "en-GB", "en_GB"),
        (["en-US"], "en-GB", "en-US"),
        (["es-419"], "es", "es-419"),
        (["zh_Hant_TW"], "zh", "zh_Hant_TW"),
        (["en_id", "en"], "en", "en"),
        (["eng"], "en", "eng"),
        (["en"], "eng", "en"),
    ],
)
def test_the_language_that_is_meant(names: list[str], code: str, picked: str):
    assert find_language_columns(("de", *names), (code, "de")).names == (picked, "de")
    assert find_language_columns((*names, "de"), ("de", code)).names == ("de", picked)


@pytest.mark.parametrize(
    ("names", "languages", "reason", "detail"),
    [
        (("fra", "de"), ("en", "de"), "missing language", "no en; there is fra, de"),
        ((), ("en", "de"), "missing language", "no en; there is nothing at all"),
        (("", "e", "en"), ("en", "de"), "missing language", "no de; there is , e, en"),
        (("en_sentence", "de"), ("en", "de"), "missing language", "no en; there is en_sentence, de"),
        (("zh-Hant", "de"), ("zh-Hans", "de"), "missing language", "no zh-Hans; there is zh-Hant, de"),
        (("pt-BR",), ("pt-BR", "pt-PT"), "missing language", "no pt-PT; there is pt-BR"),
        (("pt-BR",), ("pt-PT", "pt-BR"), "missing language", "no pt-PT; there is pt-BR"),
        (("pt",), ("pt-BR", "pt-PT"), "missing language", "no pt-PT; there is pt"),
        (("en-US", "en-AU", "de"), ("en-GB", "de"), "ambiguous language", "en-US, en-AU may each be en-GB"),
        (("en_id", "en_text", "de"), ("en", "de"), "ambiguous language", "en_id, en_text may each be en"),
        (("en_id", "en_sentence", "de"), ("en", "de"), "ambiguous language", "en_id, en_sentence may each be en"),
    ],
)
def test_none_is_taken_where_it_is_not_clear(names: tuple, languages: tuple, reason: str, detail: str):
    assert find_language_columns(names, languages) == (None, reason, detail)


@pytest.mark.parametrize("names", [("id", "Source", "target"), ("tgt", "src"), ("text", "translation", "score")])
def test_names_of_the_sides(names: tuple[str, ...]):
    found = find_language_columns(names, ("en", "de")).names
    assert [name.lower()[:2] for name in found or ()] in (["so", "ta"], ["sr", "tg"], ["te", "tr"])
    assert find_language_columns((*names, "de", "en"), ("en", "de")).names == ("en", "de"), "languages come first"
    assert find_language_columns((*names, *names), ("en", "de")).names is None


def test_a_name_that_is_the_other_side_is_no_rival():
    assert find_language_columns(("pt-BR", "pt"), ("pt-BR", "pt-PT")).names == ("pt-BR", "pt")


def test_a_message_lists_few_of_many_names():
    names = tuple(f"column{number}" for number in range(20_000))
    detail = find_language_columns(names, ("en", "de")).detail
    assert len(detail) < 400
    assert detail.endswith("column19 and 19,980 more")
