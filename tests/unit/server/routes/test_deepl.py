from pathlib import Path
from typing import Any

import pytest

from dragoman.server.access.api_keys import create_key
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller

DE = {"target_lang": "DE"}


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def test_json(call: Caller) -> None:
    answer = call.post("/v2/translate", json={"text": ["Two dogs play in the snow", "7"], **DE})

    assert answer.json() == {
        "translations": [
            {"detected_source_language": "EN", "text": "Two-de dogs-de play-de in-de the-de snow-de"},
            {"detected_source_language": "EN", "text": "7"},
        ]
    }


@pytest.mark.parametrize("kind", ["data", "files"])
def test_forms_repeat_text(call: Caller, kind: str) -> None:
    fields = [("text", "Two dogs"), ("text", "A man"), ("target_lang", "DE"), ("source_lang", "EN")]
    how: dict[str, Any] = {"files": [(name, (None, value)) for name, value in fields]}
    if kind == "data":
        how = {"data": {"text": ["Two dogs", "A man"], "target_lang": "DE", "source_lang": "EN"}}

    found = call.post("/v2/translate", **how).json()["translations"]

    assert [each["text"] for each in found] == ["Two-de dogs-de", "A-de man-de"]


@pytest.mark.parametrize("code", ["en-GB", "EN-US", "EN", "en"])
def test_variants_of_languages(call: Caller, code: str) -> None:
    found = call.post("/v2/translate", json={"text": ["Hund"], "target_lang": code, "source_lang": "DE"}).json()

    assert found["translations"][0]["text"] == "Hund-en"


@pytest.mark.parametrize("tags", ["html", "xml"])
def test_tags(call: Caller, tags: str) -> None:
    body = {"text": ["Two <b>dogs</b> &amp; men"], "source_lang": "EN", "tag_handling": tags, **DE}
    found = call.post("/v2/translate", json=body).json()["translations"][0]["text"]

    assert found.startswith("Two-de <b>dogs-de</b> &amp;")


def test_sentences_are_split_by_default(call: Caller) -> None:
    body = {"text": ["Two\ndogs"], "source_lang": "EN", **DE}
    call.post("/v2/translate", json=body)
    call.post("/v2/translate", json=body | {"split_sentences": "0"})

    assert [each.options.split_sentences for each in call.service.requests[-2:]] == [True, False]


def test_billed_characters(call: Caller) -> None:
    body = {"text": ["Two dogs"], "source_lang": "EN", "show_billed_characters": True, **DE}

    assert call.post("/v2/translate", json=body).json()["translations"][0]["billed_characters"] == 8


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": ["a"]}, "target_lang must be given"),
        (DE, "text must be given"),
        ({"text": ["a"], "target_lang": "ZZ"}, "target must be one of"),
        ({"text": ["a"], "glossary_id": "x", **DE}, "send the terms to /v1/translate"),
        ({"text": ["a"], "formality": "more", **DE}, "formality must be default"),
        ({"text": ["a"], "tag_handling": "md", **DE}, "tag_handling must be one of html, xml"),
    ],
)
def test_errors_have_a_message(call: Caller, body: dict[str, Any], message: str) -> None:
    answer = call.post("/v2/translate", json=body)

    assert answer.status_code == 400
    assert message in answer.json()["message"]


def test_languages(call: Caller) -> None:
    sources, targets = (call.get(f"/v2/languages?type={side}").json() for side in ("source", "target"))

    assert sources == call.get("/v2/languages").json()
    assert {"language": "FR", "name": "French"} in sources
    assert targets == [
        {"language": "DE", "name": "German", "supports_formality": False},
        {"language": "EN", "name": "English", "supports_formality": False},
    ]
    assert call("GET", "/v2/languages", data={"type": "target"}).json() == targets  # like DeepL's own client
    assert call.get("/v2/languages?type=x").status_code == 400


def test_usage_counts() -> None:
    call = Caller()
    call.post("/v2/translate", json={"text": ["Two dogs"], "source_lang": "EN", **DE})
    found = call.get("/v2/usage").json()

    assert found["character_count"] == 8
    assert found["character_limit"] > 10**9


def test_keys_as_deepl_sends_them(tmp_path: Path) -> None:
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    body = {"text": ["Two dogs"], "source_lang": "EN", **DE}

    def status(method: str, path: str, secret: str | None) -> int:
        headers = {} if secret is None else {"authorization": f"DeepL-Auth-Key {secret}"}
        return call(method, path, headers=headers, **({"json": body} if method == "POST" else {})).status_code

    for method, path in (("POST", "/v2/translate"), ("GET", "/v2/languages"), ("GET", "/v2/usage")):
        assert [status(method, path, secret) for secret in (key, None, "guess")] == [200, 403, 403]
