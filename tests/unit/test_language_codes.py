"""Language codes: one canonical form, and unambiguous messages for codes that do not exist."""

import pytest

from dragoman.config import load_config, parse_config
from dragoman.errors import ConfigError
from dragoman.language_codes import (
    canonical_language,
    check_language,
    equivalent_languages,
    match_language,
    match_rank,
    parse_language,
    primary_language,
)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("en", "en"),
        ("EN", "en"),
        (" en ", "en"),
        ("eng", "en"),
        ("ger", "de"),
        ("iw", "he"),
        ("zh_CN", "zh-CN"),
        ("zh-cn", "zh-CN"),
        ("ZH_hant_tw", "zh-Hant-TW"),
        ("cmn-Hans", "zh-Hans"),
        ("sr_latn", "sr-Latn"),
        ("es-419", "es-419"),
        ("pb", "pt-BR"),
        ("zt", "zh-Hant"),
        ("fil", "fil"),
        ("ca-valencia", "ca-valencia"),
    ],
)
def test_every_spelling_of_a_code_has_one_canonical_form(written: str, canonical: str):
    assert canonical_language(written) == canonical
    assert check_language(written) == canonical
    assert canonical_language(canonical) == canonical


@pytest.mark.parametrize("written", ["", "e", "english", "en-", "zh--CN", "e1", "中文", "en text", "x-private"])
def test_text_that_is_no_code_is_refused_with_an_example(written: str):
    with pytest.raises(ConfigError, match=r"must be a code of two or three letters, got .*; for instance en, de"):
        parse_language(written)


@pytest.mark.parametrize(("written", "fix"), [("xx", "for instance en"), ("cn", "write zh"), ("jp", "write ja")])
def test_a_code_of_no_language_is_refused_and_the_usual_mistake_named(written: str, fix: str):
    with pytest.raises(ConfigError, match=f"must be a code of ISO 639, got '{written}'; {fix}"):
        check_language(written)


def test_a_language_without_a_code_may_take_a_private_one():
    assert check_language("qaa") == "qaa"


def test_codes_of_one_written_language_are_equivalent_and_scripts_are_not():
    assert equivalent_languages("zh_cn")[:2] == ("zh-CN", "zh")
    assert "zh-Hant" not in equivalent_languages("zh")
    assert equivalent_languages("zt")[0] == "zh-Hant"
    assert "zh-TW" in equivalent_languages("zt")
    assert set(equivalent_languages("no")) == {"nb", "no"}
    assert equivalent_languages("de-AT") == ("de-AT",)
    for code in ("zh", "zh-TW", "fil", "no"):
        group = equivalent_languages(code)
        assert [sorted(equivalent_languages(other)) for other in group] == [sorted(group)] * len(group)


def test_the_primary_code_ignores_case_and_separators():
    assert [primary_language(code) for code in ("ZH_TW", "zt", "fil", "DEU")] == ["zh", "zh", "tl", "de"]


def test_a_configuration_takes_any_spelling_and_keeps_the_canonical_one():
    table = {**load_config("pairs-5k").model_dump(exclude_none=True)}
    table["data"] = {"source": "EN", "target": "zh_CN", "train": [{"files": ["a", "b"]}]}
    data = parse_config(table).data
    assert data is not None
    assert (data.source, data.target) == ("en", "zh-CN")


@pytest.mark.parametrize(
    ("code", "served", "rank"),
    [
        ("zh-CN", "zh-CN", 0),
        ("ZH_cn", "zh-CN", 1),
        ("zh-CN", "zh", 2),
        ("cmn", "zh-Hans-CN", 2),
        ("zt", "zh-HK", 2),
        ("no", "nob", 2),
        ("de-AT", "de", 3),
        ("pt", "pt-BR", 4),
        ("en-US", "en-GB", 5),
        ("zh", "zh-TW", None),
        ("sr-Latn", "sr", None),
        ("nn", "no", None),
        ("", "de", None),
        ("-", "de", None),
        ("de" * 1000, "de", None),
    ],
)
def test_how_well_one_code_answers_another(code: str, served: str, rank: int | None) -> None:
    assert match_rank(code, served) == rank


def test_the_best_served_language_answers_a_code() -> None:
    assert match_language("zh-CN", ["zh", "zh-Hans", "zh-CN"]) == "zh-CN"
    assert match_language("zh-SG", ["zh-TW", "zh-Hans", "zh"]) == "zh-Hans"
    assert match_language("en-AU", ["en-GB", "de", "en"]) == "en"
    assert match_language("xx", ["en"]) is None
    assert match_language("en", []) is None
