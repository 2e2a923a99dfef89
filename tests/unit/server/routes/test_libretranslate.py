from typing import Any

import pytest

from tests.server.asgi_calls import Caller

SWEDISH = "Två hundar leker i snön utanför huset."


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def test_a_language_without_a_model_is_named(call: Caller) -> None:
    (detected, *_) = call.post("/detect", json={"q": SWEDISH}).json()
    translated = call.post("/translate", json={"q": SWEDISH, "source": "auto", "target": "de"}).json()

    assert detected["language"] == translated["detectedLanguage"]["language"] == "sv"
    assert detected["confidence"] >= 50


@pytest.mark.parametrize("route", ["/translate", "/detect"])
@pytest.mark.parametrize("kind", ["json", "data"])
def test_an_empty_text_is_not_reported_as_a_field_that_was_not_sent(call: Caller, route: str, kind: str) -> None:
    """LibreTranslate has the first part for both, and clients may match it."""
    languages = {"source": "en", "target": "de"}
    how: list[dict[str, Any]] = [{kind: {"q": "", **languages}}, {kind: languages}]
    empty, missing = (call.post(route, **each) for each in how)

    assert (empty.status_code, missing.status_code) == (400, 400)
    assert empty.json()["error"] == "Invalid request: missing q parameter; it must have text, got an empty value"
    assert missing.json()["error"] == "Invalid request: missing q parameter"
