from typing import Any

import pytest

from tests.server.asgi_calls import Caller

SWEDISH = "Två hundar leker i snön utanför huset."


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


ENGLISH = "Two dogs play in the snow outside the house."


def test_a_language_without_a_model_is_named(call: Caller) -> None:
    (detected, *_) = call.post("/detect", json={"q": SWEDISH}).json()

    assert detected["language"] == "sv"
    assert detected["confidence"] >= 50


@pytest.mark.parametrize(
    ("q", "where"),
    [
        (SWEDISH, "the text"),
        ([SWEDISH], "the text"),
        ([ENGLISH, SWEDISH], "text 2 of 2"),
        (["Menu", SWEDISH, "42", "…"], "text 2 of 4"),
    ],
)
def test_texts_in_a_language_without_a_model_are_rejected(call: Caller, q: str | list[str], where: str) -> None:
    answer = call.post("/translate", json={"q": q, "source": "auto", "target": "de"})

    assert (answer.status_code, answer.json()["code"]) == (400, "unknown_language")
    assert answer.json()["error"].startswith(f"sv is not supported: it was detected as the language of {where} with a ")
    assert answer.json()["error"].endswith("%; supported: en, fr, zh-Hans; if the detection is wrong, set source")


@pytest.mark.parametrize("q", ["Volvo", "Två hundar", "Anna Svensson och Åsa Lindström", [ENGLISH, ENGLISH, SWEDISH]])
def test_short_texts_names_and_the_few_of_a_list_are_translated(call: Caller, q: str | list[str]) -> None:
    answer = call.post("/translate", json={"q": q, "source": "auto", "target": "de"})

    assert answer.status_code == 200


def test_a_named_language_is_not_detected(call: Caller) -> None:
    assert call.post("/translate", json={"q": SWEDISH, "source": "en", "target": "de"}).status_code == 200


@pytest.mark.parametrize(
    ("languages", "error"),
    [
        ({"source": "sv", "target": "de"}, "sv is not supported; supported: de, en, fr, zh-Hans"),
        ({"source": "auto", "target": "german"}, "german is not supported; supported: de, en"),
        ({"source": "cn", "target": "de"}, "cn is not supported; write zh; supported: de, en, fr, zh-Hans"),
    ],
)
def test_an_unknown_language_is_answered_with_the_known_ones(
    call: Caller, languages: dict[str, str], error: str
) -> None:
    assert call.post("/translate", json={"q": "Two dogs", **languages}).json()["error"] == error


@pytest.mark.parametrize("route", ["/translate", "/detect"])
@pytest.mark.parametrize("kind", ["json", "data"])
def test_an_empty_text_is_not_reported_as_a_field_that_was_not_sent(call: Caller, route: str, kind: str) -> None:
    """LibreTranslate has the first part for both, and clients may match it."""
    languages = {"source": "en", "target": "de"}
    how: list[dict[str, Any]] = [{kind: {"q": "", **languages}}, {kind: languages}]
    empty, missing = (call.post(route, **each) for each in how)

    assert (empty.status_code, missing.status_code) == (400, 400)
    assert empty.json()["error"] == "Invalid request: missing q parameter; it is empty"
    assert missing.json()["error"] == "Invalid request: missing q parameter"
