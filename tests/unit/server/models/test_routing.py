"""Routes between languages: spellings of codes, and pivot languages."""

from pathlib import Path

import pytest

from dragoman.api.translation.multi_model.routing import Route, RoutingTable
from dragoman.errors import BundleError, ConfigError
from dragoman.language_codes import is_same_language
from dragoman.server.errors import RequestError
from dragoman.server.models.routing import (
    Languages,
    find_route,
    language_name,
    libretranslate_code,
    name_bundles,
    routes_of_model,
)
from tests.server.bundles import tiny_bundle

EUROPE = {"a": ("de", "en"), "b": ("en", "fr"), "c": ("en", "de"), "d": ("en", "de"), "e": ("fr", "en")}


def table(pairs: dict[str, tuple[str, str]]) -> RoutingTable:
    """Return the routes of models of one direction each."""
    return RoutingTable.build({name: [pair] for name, pair in pairs.items()})


def test_models_make_routes_and_pairs_of_models_do():
    routes = table(EUROPE)
    assert routes.all[:4] == (
        Route("de", "en", (("a",),)),
        Route("en", "fr", (("b",),)),
        Route("en", "de", (("c",), ("d",))),
        Route("fr", "en", (("e",),)),
    )
    assert set(routes.all[4:]) == {
        Route("de", "fr", (("a", "b"),), via="en"),
        Route("fr", "de", (("e", "c"), ("e", "d")), via="en"),
    }


def test_english_is_the_first_choice_in_the_middle():
    pairs = {"a": ("de", "cs"), "b": ("cs", "fr"), "c": ("de", "en"), "d": ("en", "fr")}
    assert find_route(table(pairs), "de", "fr").models[0] == ("c", "d")
    del pairs["d"]
    assert find_route(table(pairs), "de", "fr").models[0] == ("a", "b")


def test_one_language_in_the_middle_and_no_more():
    routes = table({"a": ("de", "en"), "b": ("en", "fr"), "c": ("fr", "es")})
    with pytest.raises(RequestError, match="es is not available as a target language from de"):
        find_route(routes, "de", "es")


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("de", "DE"),
        ("pt", "pt-BR"),
        ("pt", "pb"),
        ("pt-BR", "pt"),
        ("pt-BR", "pb"),
        ("pt-BR", "pt_br"),
        ("zh", "zh-Hans"),
        ("zh-Hans", "zh"),
        ("zh", "zh-CN"),
        ("zt", "zh-Hant"),
        ("zh-TW", "zt"),
        ("en", "en-GB"),
    ],
)
def test_codes_as_people_write_them(known: str, asked: str):
    routes = table({"a": ("xx", known), "b": (known, "xx")})
    assert find_route(routes, "xx", asked).target == known
    assert find_route(routes, asked, "xx").source == known


@pytest.mark.parametrize(("known", "asked"), [("zh", "zt"), ("zh-Hant", "zh"), ("sr-Latn", "sr"), ("de", "d")])
def test_another_script_is_another_language(known: str, asked: str):
    with pytest.raises(RequestError, match=f"^{asked} is not supported$"):
        find_route(table({"a": ("xx", known)}), "xx", asked)


def test_a_country_code_gets_the_language_to_write_if_it_is_served():
    routes = table({"a": ("zh", "en")})

    with pytest.raises(RequestError, match=r"^cn is not supported; write zh$"):
        find_route(routes, "cn", "en")
    with pytest.raises(RequestError, match=r"^jp is not supported$"):
        find_route(routes, "jp", "en")


def test_an_exact_code_goes_before_a_like_one():
    routes = table({"a": ("en", "pt"), "b": ("en", "pt-BR")})
    assert find_route(routes, "en", "pt-br").models[0] == ("b",)
    assert find_route(routes, "en", "pt").models[0] == ("a",)
    assert find_route(routes, "en", "pt-PT").models[0] == ("a",)


def test_a_model_may_be_named():
    routes = table(EUROPE)
    assert find_route(routes, "en", "de").models[0] == ("c",)
    assert find_route(routes, "en", "de", "d").models[0] == ("d",)
    with pytest.raises(RequestError, match="source must be fr for the model e, got en; change one of them"):
        find_route(routes, "en", "en", "e")
    with pytest.raises(RequestError, match="target must be fr for the model b, got de; change one of them"):
        find_route(routes, "en", "de", "b")
    with pytest.raises(RequestError, match="model must be one of a, b, c, d, e, got 'x'"):
        find_route(routes, "en", "de", "x")


def test_two_models_meet_in_two_codes_of_one_language():
    pairs = {"one": ("de", "zh-CN"), "two": ("zh", "ja")}
    route = find_route(table(pairs), "de", "ja")
    names = route.models[0]
    assert (route.via, names) == ("zh-CN", ("one", "two"))


def test_a_direct_model_goes_before_a_pivot_to_another_code_of_the_language():
    pairs = {"direct": ("en", "zh"), "one": ("en", "fr"), "two": ("fr", "zh-CN")}
    for code in ("zh", "zh-CN", "zh-Hans", "cmn"):
        assert find_route(table(pairs), "en", code).models[0] == ("direct",)
    assert not [route for route in table({"a": ("en", "zh"), "b": ("zh-CN", "en")}).all if route.via]


CODES = [
    *("ar", "de", "de-AT", "en", "en-GB", "en-US", "EN", "fil", "fr", "he", "id", "in", "iw", "nb", "nn", "no", "pb"),
    *(
        "pt",
        "pt-BR",
        "pt-PT",
        "sr",
        "sr-Latn",
        "tl",
        "zh",
        "zh-CN",
        "zh-HK",
        "zh-Hans",
        "zh-Hant",
        "zh-TW",
        "zh_CN",
        "zt",
    ),
    *("chi", "deu", "nor"),
]


@pytest.mark.parametrize("first", CODES)
def test_each_of_two_served_codes_gets_its_own_model(first: str):
    for second in CODES:
        if second == first:
            continue
        pairs = {
            "to-first": ("xx", first),
            "to-second": ("xx", second),
            "of-first": (first, "xx"),
            "of-second": (second, "xx"),
        }
        routes = table(pairs)
        languages = Languages(routes.all)
        for name, code in (("first", first), ("second", second)):
            assert find_route(routes, "xx", code).models[0] == (f"to-{name}",), (first, second)
            assert find_route(routes, code, "xx").models[0] == (f"of-{name}",), (first, second)
            assert find_route(routes, "xx", code, f"to-{name}").models[0] == (f"to-{name}",)
            assert find_route(routes, code, "xx", f"of-{name}").models[0] == (f"of-{name}",)
            assert languages.match_pair("xx", code) == ("xx", code)
            assert languages.match_pair(code, "xx") == (code, "xx")
            assert languages.match(code) == code
            assert languages.match(languages.listed_code(code)) == code, (first, second)
        if is_same_language(first, second):  # another code of the language may name the model too
            assert routes_of_model("to-second", {"to-second": [pairs["to-second"]]}, "xx", first)[0].target == second
        for code in CODES:  # the languages of the page and those of the models agree
            pair = languages.match_pair("xx", code)
            if pair is None:
                with pytest.raises(RequestError):
                    find_route(routes, "xx", code)
            else:
                assert find_route(routes, "xx", code).target == pair[1]


def test_a_source_code_does_not_hide_the_target_of_another_model():
    languages = Languages(table({"a": ("zh", "en"), "b": ("en", "zh-CN")}).all)
    assert languages.match_pair("en", "zh") == ("en", "zh-CN")
    assert languages.match_pair("zh-CN", "en") == ("zh", "en")
    assert languages.to_target("zh") == ("en", "zh", "zh-CN")


def test_what_is_refused_is_a_bad_request():
    assert RequestError.status == 400


AROUND_ENGLISH = [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")]


def test_a_model_with_several_directions_is_in_each_route():
    routes = RoutingTable.build({"many": AROUND_ENGLISH, "one": [("en", "de")]})
    assert find_route(routes, "en", "de") == Route("en", "de", (("many",), ("one",)))
    assert find_route(routes, "fr", "en").models[0] == ("many",)
    assert find_route(routes, "fr", "en", "many") == Route("fr", "en", (("many",),))


def test_a_direction_that_no_model_has_goes_through_a_third_language_with_the_same_model():
    routes = RoutingTable.build({"many": AROUND_ENGLISH})
    assert find_route(routes, "de", "fr") == Route("de", "fr", (("many", "many"),), via="en")
    direct = RoutingTable.build({"many": AROUND_ENGLISH, "direct": [("de", "fr")]})
    assert find_route(direct, "de", "fr").models[0] == ("direct",)


def test_a_named_model_must_have_the_direction():
    routes = RoutingTable.build({"many": AROUND_ENGLISH})
    with pytest.raises(RequestError, match=r"must be a direction of the model many, got de to fr; /v1/models lists"):
        find_route(routes, "de", "fr", "many")
    found = routes_of_model("many", routes.directions, None, "en")
    assert [each.source for each in found] == ["de", "fr"]


def test_names_come_from_folders_and_languages(tmp_path: Path):
    runs = [
        tiny_bundle(tmp_path / "luong" / "run" / "bundle", "en", "de"),
        tiny_bundle(tmp_path / "en_de-small" / "bundle", "en", "de"),
        tiny_bundle(tmp_path / "other" / "luong" / "bundle", "en", "de"),
        tiny_bundle(tmp_path / "a b", "de", "en"),
    ]
    assert list(name_bundles(runs).items()) == list(
        zip(["luong-en-de", "en_de-small", "luong-en-de-2", "a-b-de-en"], runs, strict=True)
    )


def test_names_may_be_given(tmp_path: Path):
    assert name_bundles([f"best={tmp_path}/x"]) == {"best": tmp_path / "x"}
    with pytest.raises(ConfigError, match="different names, got 'a' twice"):
        name_bundles(["a=x", "a=y"])
    with pytest.raises(ConfigError, match="PATH or NAME=PATH"):
        name_bundles(["a b=x"])


def test_what_is_no_bundle_has_no_name(tmp_path: Path):
    with pytest.raises(BundleError):
        name_bundles([tmp_path])


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
