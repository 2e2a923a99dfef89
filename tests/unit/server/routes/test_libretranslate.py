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
