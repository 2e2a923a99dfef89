"""Google's Cloud Translation API, versions 2 and 3: fields, defaults, codes and errors."""

from typing import Any

import pytest

from tests.server.asgi_calls import Caller

V2, V3 = "/language/translate/v2", "/v3/projects/demo"
LONG = "Two dogs play in the snow"


@pytest.fixture
def call() -> Caller:
    return Caller()


FIELDS = {"q": ["Two dogs", "A man"], "source": "en", "target": "de", "format": "text"}


@pytest.mark.parametrize(
    ("method", "how"),
    [
        ("POST", {"json": FIELDS}),
        ("POST", {"json": FIELDS | {"model": "nmt", "cid": []}}),
        ("POST", {"data": FIELDS}),
        ("POST", {"data": FIELDS, "files": {"file": ("a.txt", b"")}}),
        ("POST", {"params": FIELDS}),
        ("POST", {"params": {"target": "de", "source": "en"}, "json": {"q": FIELDS["q"], "format": "text"}}),
        ("GET", {"params": FIELDS}),
    ],
)
def test_version_2_takes_every_kind_of_request(call: Caller, method: str, how: dict[str, Any]) -> None:
    answer = call(method, V2, **how)

    assert answer.json() == {
        "data": {"translations": [{"translatedText": each} for each in ("Two-de dogs-de", "A-de man-de")]}
    }
    assert [each.is_served for each in call.service.reservations] == [True]


@pytest.mark.parametrize("path", [V2, f"{V3}:translateText", f"{V3}/locations/global:translateText"])
@pytest.mark.parametrize(
    ("kind", "expected"), [(None, "Two-de &lt; <b>dogs-de</b>"), ("html", "Two-de &lt; <b>dogs-de</b>")]
)
def test_html_is_the_default(call: Caller, path: str, kind: str | None, expected: str) -> None:
    text = "Two &lt; <b>dogs</b>"
    two = {"q": text, "target": "de", "source": "en", "format": kind}
    three = {
        "contents": [text],
        "targetLanguageCode": "de",
        "sourceLanguageCode": "en",
        "mimeType": kind and "text/html",
    }
    answer = call.post(path, json=two if path == V2 else three).json()
    assert answer.get("data", answer)["translations"] == [{"translatedText": expected}]


def test_the_language_is_detected_and_has_googles_code(call: Caller) -> None:
    two = call.post(V2, json={"q": "今天天气很好，我们去公园", "target": "en", "format": "text"}).json()
    three = call.post(f"{V3}:translateText", json={"contents": [LONG], "targetLanguageCode": "de"}).json()
    assert two["data"]["translations"][0]["detectedSourceLanguage"] == "zh-CN"
    assert three["translations"] == [
        {"translatedText": " ".join(f"{word}-de" for word in LONG.split()), "detectedLanguageCode": "en"}
    ]
    assert call.post(V2, json={"q": "你好", "source": "zh-CN", "target": "en"}).status_code == 200


def test_detection(call: Caller) -> None:
    answers = [
        call.post(f"{V2}/detect", json={"q": [LONG, LONG]}),
        call.get(f"{V2}/detect", params={"q": [LONG, LONG]}),
    ]
    for answer in answers:
        found = answer.json()["data"]["detections"]
        assert [[each["language"] for each in one] for one in found] == [["en"], ["en"]]
        assert 0.9 < found[0][0]["confidence"] <= 1
    assert call.post(f"{V3}:detectLanguage", json={"content": LONG}).json()["languages"][0]["languageCode"] == "en"
    assert not call.service.reservations


def test_languages(call: Caller) -> None:
    bare = call.get(f"{V2}/languages").json()["data"]["languages"]
    named = call.get(f"{V2}/languages?target=de").json()["data"]["languages"]
    three = call.get(f"{V3}/locations/global/supportedLanguages").json()["languages"]

    assert bare == [{"language": code} for code in ("de", "en", "fr", "zh-CN")]
    assert named[0] == {"language": "de", "name": "German"}
    assert {each["languageCode"]: each["supportTarget"] for each in three} == {
        "de": True,
        "en": True,
        "fr": False,
        "zh-CN": False,
    }
    assert call.get(f"{V3}/supportedLanguages?displayLanguageCode=en").json()["languages"][0]["displayName"] == "German"


@pytest.mark.parametrize(
    ("path", "body", "status", "name", "message"),
    [
        (
            V2,
            {"q": "a", "target": "xx"},
            400,
            "INVALID_ARGUMENT",
            "target must be one of de, en, got 'xx'; see /language",
        ),
        (V2, {"target": "de"}, 400, "INVALID_ARGUMENT", "q is missing"),
        (V2, {"q": ["a"] * 65, "target": "de"}, 413, "INVALID_ARGUMENT", "texts must be 64 at most"),
        (V2, {"q": "a", "target": "de", "format": "xml"}, 400, "INVALID_ARGUMENT", "format must be"),
        (
            f"{V3}:translateText",
            {"contents": ["a"], "targetLanguageCode": "xx"},
            400,
            "INVALID_ARGUMENT",
            "targetLangu",
        ),
        (
            f"{V3}:translateText",
            {"contents": ["a"], "targetLanguageCode": "de", "glossaryConfig": {}},
            400,
            "INVALID_",
            "gl",
        ),
        (f"{V3}:detectLanguage", {"content": ""}, 400, "INVALID_ARGUMENT", "content"),
    ],
)
def test_errors_have_googles_form(
    call: Caller, path: str, body: dict[str, Any], status: int, name: str, message: str
) -> None:
    answer = call.post(path, json=body)
    error = answer.json()["error"]

    assert (answer.status_code, error["code"]) == (status, status)
    assert answer.headers["content-type"] == "application/json"
    assert error["status"].startswith(name)
    assert error["message"].startswith(message)
    assert error["errors"][0]["domain"] == "global"


def test_an_overloaded_server_and_a_fault(call: Caller) -> None:
    call.service.is_full = True
    refused = call.get(V2, params=FIELDS)
    assert (refused.status_code, refused.json()["error"]["status"]) == (503, "UNAVAILABLE")
    assert refused.headers["retry-after"] == str(refused.json()["error"]["retry_after"])
    call.service.is_full, call.service.fault = False, RuntimeError("an engine")
    failed = call.get(V2, params=FIELDS)
    assert (failed.status_code, failed.json()["error"]["status"]) == (500, "INTERNAL")
    assert "engine" not in failed.text
