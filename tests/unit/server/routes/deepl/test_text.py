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
        ({"text": ["a"]}, "target_lang is missing"),
        (DE, "text is missing"),
        ({"text": ["a"], "target_lang": "ZZ"}, "target_lang must be one of"),
        ({"text": ["a"], "glossary_id": "x", **DE}, "source_lang must be given with a glossary"),
        ({"text": ["a"], "formality": "rude", **DE}, "formality must be one of default"),
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
    assert {"language": "ZH", "name": "Simplified Chinese"} in sources
    assert targets == [
        {"language": "DE", "name": "German", "supports_formality": False},
        {"language": "EN", "name": "English", "supports_formality": False},
        {"language": "EN-GB", "name": "British English", "supports_formality": False},
        {"language": "EN-US", "name": "American English", "supports_formality": False},
    ]
    assert call("GET", "/v2/languages", data={"type": "target"}).json() == targets  # like DeepL's own client
    assert call.get("/v2/languages?type=x").status_code == 400


def test_usage_counts_per_key(tmp_path: Path) -> None:
    keys = [create_key(tmp_path / "keys", name) for name in ("anna", "ben")]
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    anna, ben = ({"authorization": f"DeepL-Auth-Key {key}"} for key in keys)
    call.post("/v2/translate", json={"text": ["Two dogs"], "source_lang": "EN", **DE}, headers=anna)
    call.post("/translate", json={"q": "Two", "source": "en", "target": "de"}, headers=anna)
    call.post("/v1/translate", json={"text": "Two", "source": "en", "target": "de", "stream": True}, headers=anna)
    call.post("/v1/translate", json={"text": ["a b", "c"], "source": "en", "target": "de"}, headers=ben)
    found = [call.get("/v2/usage", headers=headers).json() for headers in (anna, ben)]

    assert [each["character_count"] for each in found] == [14, 4]
    assert found[0]["character_limit"] > 10**9


def test_usage_counts_without_keys() -> None:
    call = Caller()
    call.post("/v2/translate", json={"text": ["Two dogs"], "source_lang": "EN", **DE})

    assert call.get("/v2/usage").json()["character_count"] == 8


def test_keys_as_deepl_sends_them(tmp_path: Path) -> None:
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    body = {"text": ["Two dogs"], "source_lang": "EN", **DE}

    def status(method: str, path: str, secret: str | None) -> int:
        headers = {} if secret is None else {"authorization": f"DeepL-Auth-Key {secret}"}
        return call(method, path, headers=headers, **({"json": body} if method == "POST" else {})).status_code

    for method, path in (("POST", "/v2/translate"), ("GET", "/v2/languages"), ("GET", "/v2/usage")):
        assert [status(method, path, secret) for secret in (key, None, "guess")] == [200, 403, 403]


def test_the_key_may_be_in_the_form_or_in_the_query(tmp_path: Path) -> None:
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    form = {"text": "Two", "target_lang": "DE", "source_lang": "EN"}

    assert call.post("/v2/translate", data=form | {"auth_key": key}).json()["translations"][0]["text"] == "Two-de"
    assert call.post("/v2/translate", data=form | {"auth_key": "guess"}).status_code == 403
    assert call.post("/v2/translate", data=form).status_code == 403
    assert call.post(f"/v2/translate?auth_key={key}", json=form).status_code == 200
    for path in ("/v2/languages", "/v2/usage"):
        assert [call.get(f"{path}?auth_key={each}").status_code for each in (key, "guess")] == [200, 403]


@pytest.mark.parametrize("formality", ["default", "more", "less", "prefer_more", "prefer_less", "", None])
def test_formality_is_accepted_without_effect(call: Caller, formality: str | None) -> None:
    body = {"text": ["Two dogs"], "source_lang": "EN", "formality": formality, **DE}

    assert call.post("/v2/translate", json=body).json()["translations"][0]["text"] == "Two-de dogs-de"


@pytest.mark.parametrize(("value", "is_shown"), [(1, True), (0, False), ("1", True), ("true", True), (False, False)])
def test_booleans_may_be_numbers(call: Caller, value: object, is_shown: bool) -> None:
    body = {"text": ["Two"], "source_lang": "EN", "show_billed_characters": value, **DE}
    (found,) = call.post("/v2/translate", json=body).json()["translations"]

    assert ("billed_characters" in found) is is_shown


@pytest.mark.parametrize(
    ("value", "splits"), [(0, False), (1, True), ("0", False), (False, False), ("nonewlines", True)]
)
def test_sentence_splitting_may_be_a_number(call: Caller, value: object, splits: bool) -> None:
    call.post("/v2/translate", json={"text": ["Two"], "source_lang": "EN", "split_sentences": value, **DE})

    assert call.service.requests[-1].options.split_sentences is splits


@pytest.mark.parametrize("name", ["text[]", "text[0]"])
def test_repeated_fields_as_php_writes_them(call: Caller, name: str) -> None:
    found = call.post("/v2/translate", data={name: ["Two", "dogs"], "source_lang": "EN", **DE}).json()

    assert [each["text"] for each in found["translations"]] == ["Two-de", "dogs-de"]


@pytest.mark.parametrize("ignored", [["x"], "x", "y,x", ["X "]])
def test_ignored_tags_keep_their_content_and_the_spaces_around_them(call: Caller, ignored: object) -> None:
    text = 'Go to <x id="6"></x> now: <x>two words</x>.'
    body = {"text": [text], "source_lang": "EN", "tag_handling": "xml", "ignore_tags": ignored, **DE}
    found = call.post("/v2/translate", json=body).json()["translations"][0]["text"]

    assert found == 'Go-de to-de <x id="6"></x> now-de <x>two words</x>.'


def test_xml_has_no_entities_of_html(call: Caller) -> None:
    body = {"text": ["a\u00a0b &amp; <i>c</i>"], "source_lang": "EN", **DE}
    xml, html = (
        call.post("/v2/translate", json=body | {"tag_handling": kind}).json()["translations"][0]["text"]
        for kind in ("xml", "html")
    )

    assert "&nbsp;" not in xml
    assert "&amp;" in xml
    assert "<i>" in html


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", ""])
def test_json_without_its_content_type_names_the_header(call: Caller, kind: str) -> None:
    """``curl -d`` sends JSON as a form."""
    body = b' {"text": ["Two dogs"], "target_lang": "DE"}'
    answer = call.post("/v2/translate", content=body, headers={"content-type": kind} if kind else {})

    assert answer.status_code == 400
    assert "send it with the header Content-Type: application/json" in answer.text


def test_a_language_without_a_model_is_named(call: Caller) -> None:
    text = "两只狗在房子外面的雪地里玩。"

    found = call.post("/v2/translate", json={"text": [text], **DE}).json()["translations"][0]

    assert found["detected_source_language"] == "ZH"


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"target_lang": "XX"}, "target_lang must be one of "),
        ({"target_lang": "DE", "source_lang": "XX"}, "source_lang must be one of "),
        ({"target_lang": "XX", "source_lang": "EN"}, "target_lang must be one of "),
    ],
)
def test_errors_name_the_fields_and_routes_of_this_api(call: Caller, wrong: dict[str, str], expected: str) -> None:
    answers = [
        call.post("/v2/translate", json={"text": ["Two dogs"], **wrong}),
        call.post("/v2/document", data=wrong, files={"file": ("a.txt", b"Two dogs")}),
    ]
    for answer in answers:
        assert answer.status_code == 400
        assert answer.json()["message"].startswith(expected)
        assert answer.json()["message"].endswith("; see /v2/languages")


def test_texts_in_a_language_without_a_model_are_rejected(call: Caller) -> None:
    swedish = "Två hundar leker i snön utanför huset."
    alone = call.post("/v2/translate", json={"text": [swedish], **DE})
    half = call.post("/v2/translate", json={"text": ["Two dogs play in the snow", swedish], **DE})
    few = call.post("/v2/translate", json={"text": ["Two dogs play in the snow"] * 2 + [swedish], **DE})
    named = call.post("/v2/translate", json={"text": [swedish], "source_lang": "EN", **DE})

    assert (alone.status_code, half.status_code, few.status_code, named.status_code) == (400, 400, 200, 200)
    assert alone.json()["message"].startswith("sv is not supported: it was detected as the language of the text with ")
    assert alone.json()["message"].endswith("; supported: en, fr, zh-Hans; if the detection is wrong, set source_lang")
    assert "the language of text 2 of 2" in half.json()["message"]
    assert few.json()["translations"][2]["detected_source_language"] == "SV"
