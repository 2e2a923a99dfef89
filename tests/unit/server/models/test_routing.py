"""Routes between languages: spellings of codes, and pivot languages."""

import pytest

from dragoman.server.errors import RequestError
from dragoman.server.models.routing import RoutingTable, canonical
from dragoman.server.request_types import Route

EUROPE = {"a": ("de", "en"), "b": ("en", "fr"), "c": ("en", "de"), "d": ("en", "de"), "e": ("fr", "en")}


def test_models_make_routes_and_pairs_of_models_do():
    routes = RoutingTable.build(EUROPE)
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
    assert RoutingTable.build(pairs).find("de", "fr")[1] == ("c", "d")
    del pairs["d"]
    assert RoutingTable.build(pairs).find("de", "fr")[1] == ("a", "b")


def test_one_language_in_the_middle_and_no_more():
    routes = RoutingTable.build({"a": ("de", "en"), "b": ("en", "fr"), "c": ("fr", "es")})
    with pytest.raises(RequestError, match="es is not available as a target language from de"):
        routes.find("de", "es")


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
    routes = RoutingTable.build({"a": ("xx", known), "b": (known, "xx")})
    assert routes.find("xx", asked)[0].target == known
    assert routes.find(asked, "xx")[0].source == known


@pytest.mark.parametrize(("known", "asked"), [("zh", "zt"), ("zh-Hant", "zh"), ("pt-BR", "pt-PT"), ("de", "d")])
def test_another_script_or_region_is_another_language(known: str, asked: str):
    with pytest.raises(RequestError, match=f"^{asked} is not supported$"):
        RoutingTable.build({"a": ("xx", known)}).find("xx", asked)


def test_an_exact_code_goes_before_a_like_one():
    routes = RoutingTable.build({"a": ("en", "pt"), "b": ("en", "pt-BR")})
    assert routes.find("en", "pt-br")[1] == ("b",)
    assert routes.find("en", "pt")[1] == ("a",)
    assert routes.find("en", "pt-PT")[1] == ("a",)


def test_a_model_may_be_named():
    routes = RoutingTable.build(EUROPE)
    assert routes.find("en", "de")[1] == ("c",)
    assert routes.find("en", "de", "d")[1] == ("d",)
    assert routes.find("fr", "de", "e+d")[1] == ("e", "d")
    with pytest.raises(RequestError, match="model must be one of c, d for en to de, got 'b'"):
        routes.find("en", "de", "b")


def test_one_language_is_itself():
    routes = RoutingTable.build(EUROPE)
    assert routes.is_same("en", "EN-us")
    assert not routes.is_same("en", "de")
    assert not routes.is_same("xx", "xx")


def test_what_is_refused_is_a_bad_request():
    assert RequestError.status == 400
    assert canonical(" ZH_TW ") == "zh-hant"
