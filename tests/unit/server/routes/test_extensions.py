"""Endpoints in the form of DeepLX, Immersive Translate and Kiss Translator."""

from typing import Any

import pytest

from tests.server.asgi_calls import Caller

DOGS, PLAY = "Two dogs", "Zwei Hunde spielen im Schnee"
DEEPLX = {"code": 200, "id": 0, "alternatives": [], "method": "Free"}


@pytest.fixture
def call() -> Caller:
    return Caller()


@pytest.mark.parametrize(
    ("path", "body", "answer"),
    [
        (
            "/deeplx/translate",
            {"text": DOGS, "source_lang": "EN", "target_lang": "DE"},
            DEEPLX | {"data": "Two-de dogs-de", "source_lang": "EN", "target_lang": "DE"},
        ),
        (
            "/deeplx/translate",
            {"text": "Two <b>dogs</b>", "source_lang": "auto", "target_lang": "de", "tag_handling": "html"},
            DEEPLX | {"data": "Two-de <b>dogs-de</b>", "source_lang": "EN", "target_lang": "DE"},
        ),
        (
            "/immersive",
            {"text_list": [DOGS, ""], "source_lang": "en", "target_lang": "de"},
            {"translations": [{"detected_source_lang": "en", "text": text} for text in ("Two-de dogs-de", "")]},
        ),
        ("/kiss", {"text": DOGS, "from": "en", "to": "de"}, {"text": "Two-de dogs-de", "src": "en"}),
        ("/kiss", {"text": PLAY, "from": "auto", "to": "de"}, {"text": PLAY, "src": "de"}),
        (
            "/kiss",
            {"texts": [DOGS, "A man"], "from": "en", "to": "de"},
            {"translations": [{"text": "Two-de dogs-de", "src": "en"}, {"text": "A-de man-de", "src": "en"}]},
        ),
    ],
)
def test_texts_are_translated(call: Caller, path: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
    assert call.post(path, json=body).json() == answer


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/deeplx/translate", {"text": "a", "target_lang": "xx"}, 400, "target_lang must be one of"),
        ("/deeplx/translate", {"text": "a", "target_lang": "de", "tag_handling": "x"}, 400, "tag_handling must be one"),
        ("/deeplx/translate", {"text": "a " * 2600, "target_lang": "de"}, 413, "text 1 must have 5000 characters"),
        ("/immersive", {"text_list": ["a"] * 65, "target_lang": "de"}, 413, "texts must be 64 at most"),
        ("/immersive", {"text_list": [], "target_lang": "de"}, 400, "text_list must"),
        ("/kiss", {"to": "de"}, 400, "the body must have either text or texts"),
        ("/kiss", {"text": "a", "texts": ["a"], "to": "de"}, 400, "the body must have either text or texts"),
        ("/kiss", {"text": "a", "to": "xx"}, 400, "to must be one of"),
    ],
)
def test_errors_have_the_form_of_deeplx(
    call: Caller, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    answer = call.post(path, json=body)

    assert (answer.status_code, answer.json()["code"]) == (status, status)
    assert answer.json()["message"].startswith(message), answer.text
    assert call.post(path, data={"text": "a"}).status_code == 415
