"""Routes between languages: spellings of codes, and pivot languages."""

import pytest

from dragoman.language_codes import is_same_language
from dragoman.server.errors import RequestError
from dragoman.server.models.routing import RoutingTable, routes_of_models
from dragoman.server.models.served_languages import Languages
from dragoman.server.request_types import Route

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
    assert table(pairs).find("de", "fr")[1] == ("c", "d")
    del pairs["d"]
    assert table(pairs).find("de", "fr")[1] == ("a", "b")


def test_one_language_in_the_middle_and_no_more():
    routes = table({"a": ("de", "en"), "b": ("en", "fr"), "c": ("fr", "es")})
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
    routes = table({"a": ("xx", known), "b": (known, "xx")})
    assert routes.find("xx", asked)[0].target == known
    assert routes.find(asked, "xx")[0].source == known


@pytest.mark.parametrize(("known", "asked"), [("zh", "zt"), ("zh-Hant", "zh"), ("sr-Latn", "sr"), ("de", "d")])
def test_another_script_is_another_language(known: str, asked: str):
    with pytest.raises(RequestError, match=f"^{asked} is not supported$"):
        table({"a": ("xx", known)}).find("xx", asked)


def test_a_country_code_gets_the_language_to_write_if_it_is_served():
    routes = table({"a": ("zh", "en")})

    with pytest.raises(RequestError, match=r"^cn is not supported; write zh$"):
        routes.find("cn", "en")
    with pytest.raises(RequestError, match=r"^jp is not supported$"):
        routes.find("jp", "en")


def test_an_exact_code_goes_before_a_like_one():
    routes = table({"a": ("en", "pt"), "b": ("en", "pt-BR")})
    assert routes.find("en", "pt-br")[1] == ("b",)
    assert routes.find("en", "pt")[1] == ("a",)
    assert routes.find("en", "pt-PT")[1] == ("a",)


def test_a_model_may_be_named():
    routes = table(EUROPE)
    assert routes.find("en", "de")[1] == ("c",)
    assert routes.find("en", "de", "d")[1] == ("d",)
    with pytest.raises(RequestError, match="source must be fr for the model e, got en; change one of them"):
        routes.find("en", "en", "e")
    with pytest.raises(RequestError, match="target must be fr for the model b, got de; change one of them"):
        routes.find("en", "de", "b")
    with pytest.raises(RequestError, match=r"model must be one of a, b, c, d, e, or two .* got 'x'"):
        routes.find("en", "de", "x")


def test_two_models_may_be_named():
    routes = table(EUROPE)
    route, names = routes.find("fr", "de", "e+d")
    assert (route.via, names) == ("en", ("e", "d"))
    for given, reason in (
        ("d+e", "the second model must translate from de, the target of d, got e from fr"),
        ("e+b", "two models must lead to another language, got e\\+b from fr back to fr"),
        ("a+x", "model must be one of"),
        ("a+b+e", "model must be one of"),
        ("e+d ", "model must be one of"),
    ):
        with pytest.raises(RequestError, match=reason):
            routes.find("fr", "de", given)


def test_two_models_may_be_named_although_a_direct_one_is_served():
    pairs = {"one": ("en", "fr"), "two": ("fr", "de"), "direct": ("en", "de")}
    assert table(pairs).find("en", "de")[1] == ("direct",)
    assert table(pairs).find("en", "de", "one+two")[1] == ("one", "two")


def test_two_models_meet_in_two_codes_of_one_language():
    pairs = {"one": ("de", "zh-CN"), "two": ("zh", "ja")}
    route, names = table(pairs).find("de", "ja")
    assert (route.via, names) == ("zh-CN", ("one", "two"))


def test_a_direct_model_goes_before_a_pivot_to_another_code_of_the_language():
    pairs = {"direct": ("en", "zh"), "one": ("en", "fr"), "two": ("fr", "zh-CN")}
    for code in ("zh", "zh-CN", "zh-Hans", "cmn"):
        assert table(pairs).find("en", code)[1] == ("direct",)
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
            assert routes.find("xx", code)[1] == (f"to-{name}",), (first, second)
            assert routes.find(code, "xx")[1] == (f"of-{name}",), (first, second)
            assert routes.find("xx", code, f"to-{name}")[1] == (f"to-{name}",)
            assert routes.find(code, "xx", f"of-{name}")[1] == (f"of-{name}",)
            assert languages.match_pair("xx", code) == ("xx", code)
            assert languages.match_pair(code, "xx") == (code, "xx")
            assert languages.match(code) == code
            assert languages.match(languages.listed_code(code)) == code, (first, second)
        if is_same_language(first, second):  # another code of the language may name the model too
            assert routes_of_models("to-second", {"to-second": [pairs["to-second"]]}, "xx", first)[0].target == second
        for code in CODES:  # the languages of the page and those of the models agree
            pair = languages.match_pair("xx", code)
            if pair is None:
                with pytest.raises(RequestError):
                    routes.find("xx", code)
            else:
                assert routes.find("xx", code)[0].target == pair[1]


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
    assert routes.find("en", "de") == (Route("en", "de", (("many",), ("one",))), ("many",))
    assert routes.find("fr", "en")[1] == ("many",)
    assert routes.find("fr", "en", "many")[0] == Route("fr", "en", (("many",),))


def test_a_direction_that_no_model_has_goes_through_a_third_language_with_the_same_model():
    routes = RoutingTable.build({"many": AROUND_ENGLISH})
    assert routes.find("de", "fr") == (Route("de", "fr", (("many", "many"),), via="en"), ("many", "many"))
    assert routes.find("de", "fr", "many+many")[0].via == "en"
    direct = RoutingTable.build({"many": AROUND_ENGLISH, "direct": [("de", "fr")]})
    assert direct.find("de", "fr")[1] == ("direct",)


def test_a_named_model_must_have_the_direction():
    routes = RoutingTable.build({"many": AROUND_ENGLISH})
    with pytest.raises(RequestError, match=r"must be a direction of the model many, got de to fr; /v1/models lists"):
        routes.find("de", "fr", "many")
    found = routes_of_models("many", routes.directions, None, "en")
    assert [each.source for each in found] == ["de", "fr"]
