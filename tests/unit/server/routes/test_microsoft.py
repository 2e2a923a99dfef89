"""Microsoft Translator, version 3: several targets within the limits, and the paths of LibreTranslate."""

from typing import Any

import pytest

from dragoman.server.settings import Limits, ServerSettings
from tests.server.asgi_calls import Caller

PATH, PREFIX = "/translate?api-version=3.0", "/translator/text/v3.0"


@pytest.fixture
def call() -> Caller:
    return Caller()


@pytest.mark.parametrize("path", [f"{PATH}&to=de", f"{PREFIX}/translate?to=de", f"/translate?to=de&from=&{PATH[11:]}"])
@pytest.mark.parametrize("name", ["Text", "text"])
def test_texts_are_translated(call: Caller, path: str, name: str) -> None:
    answer = call.post(path, json=[{name: "Two dogs play in the snow"}, {name: "A man sleeps on a bench"}]).json()

    assert [each["translations"][0]["to"] for each in answer] == ["de", "de"]
    assert answer[1]["translations"][0]["text"] == "A-de man-de sleeps-de on-de a-de bench-de"
    assert answer[0]["detectedLanguage"]["language"] == "en"
    assert 0 < answer[0]["detectedLanguage"]["score"] <= 1


def test_several_targets(call: Caller) -> None:
    answer = call.post(f"{PATH}&from=fr&to=de&to=en", json=[{"Text": "un"}, {"Text": "deux"}]).json()
    texts = [[(each["to"], each["text"]) for each in one["translations"]] for one in answer]
    assert texts == [[("de", "un-de"), ("en", "un-en")], [("de", "deux-de"), ("en", "deux-en")]]
    assert "detectedLanguage" not in answer[0]


@pytest.mark.parametrize("kind", ["html", "Html"])
def test_html(call: Caller, kind: str) -> None:
    answer = call.post(f"{PATH}&from=en&to=de&textType={kind}", json=[{"Text": "Two <b>dogs</b>"}]).json()
    assert answer[0]["translations"][0]["text"] == "Two-de <b>dogs-de</b>"


@pytest.mark.parametrize(
    ("query", "body", "status", "message"),
    [
        ("&to=xx", [{"Text": "a"}], 400, "to must be one of de, en"),
        ("", [{"Text": "a"}], 400, "to must"),
        ("&to=de", {"Text": "a"}, 400, "the body must be a JSON array"),
        ("&to=de", 7, 400, "the body must be a JSON array"),
        ("&to=de", [], 400, "the body must"),
        ("&to=de", [{"Test": "a"}], 400, "0.Text is missing"),
        ("&to=de&textType=xml", [{"Text": "a"}], 400, "textType must be one of"),
        ("&to=de" * 33, [{"Text": "a"}, {"Text": "b"}], 413, "texts must be 64 at most, got 66"),
        ("&to=de" * 900, [{"Text": "a"}] * 900, 413, "texts must be 64 at most, got"),
        ("&to=de&textType=html" + "&to=de" * 19, [{"Text": "<b>x " * 999}], 413, "HTML must have"),
        ("&to=de&textType=html&to=de", [{"Text": "<b>x" * 1100}], 413, "HTML must have"),
    ],
)
def test_errors_have_microsofts_form(call: Caller, query: str, body: Any, status: int, message: str) -> None:
    answer = call.post(PATH + query, json=body)

    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["code"] == 1000 * status
    assert answer.json()["error"]["message"].startswith(message), answer.text
    assert not call.service.requests


def test_one_target_may_have_as_much_html(call: Caller) -> None:
    assert call.post(f"{PATH}&to=de&textType=html", json=[{"Text": "<b>x" * 1000}]).status_code == 200


def test_another_version_is_rejected(call: Caller) -> None:
    answer = call.post("/translate?api-version=2025-10-01&to=de", json=[{"Text": "a"}])
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("api-version must")


def test_detection_and_languages(call: Caller) -> None:
    found = call.post("/detect?api-version=3.0", json=[{"Text": "Two dogs play in the snow"}]).json()
    languages = call.get("/languages?api-version=3.0").json()["translation"]

    assert (found[0]["language"], found[0]["isTranslationSupported"]) == ("en", True)
    assert languages["de"] == {"name": "German", "nativeName": "Deutsch", "dir": "ltr"}
    assert list(languages) == ["de", "en", "fr", "zh-Hans"]
    assert call.get("/languages?api-version=3.0&scope=dictionary").json() == {}
    assert call.get("/languages?api-version=3.0&scope=translation ").json() == {"translation": languages}


def test_libretranslate_keeps_its_paths(call: Caller) -> None:
    body = {"q": "Two dogs", "source": "en", "target": "de"}
    for query in ("", "?to=de", "?x=api-version=3.0", "?xapi-version=3.0"):
        assert call.post(f"/translate{query}", json=body).json() == {"translatedText": "Two-de dogs-de"}
    assert call.get("/languages").json()[0]["code"] == "de"
    assert call("DELETE", PATH).status_code == 405


def test_every_target_is_charged() -> None:
    call = Caller(settings=ServerSettings(limits=Limits(tokens_per_minute=3)))
    assert call.post(f"{PATH}&from=fr&to=de&to=en", json=[{"Text": "un deux"}]).status_code == 429
