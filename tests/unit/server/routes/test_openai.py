"""Chat completions: the last user message is translated, and nothing else is pretended."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.server.access.api_keys import create_key
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller

TEXT = [{"role": "system", "content": "Translate to French."}, {"role": "user", "content": "Two dogs"}]
PATH = "/v1/chat/completions"


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def test_the_last_user_message_is_translated(call: Caller) -> None:
    found = call.post(PATH, json={"model": "en:de", "messages": TEXT, "temperature": 0.3}).json()

    assert found["object"] == "chat.completion"
    assert found["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Two-de dogs-de"}, "finish_reason": "stop"}
    ]
    assert found["usage"] == {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}
    assert found["model"] == "en:de"


@pytest.mark.parametrize("model", ["en-de", "EN:DE", "auto:de"])
def test_names_of_models(call: Caller, model: str) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "Two dogs play in the snow"}]}]
    found = call.post(PATH, json={"model": model, "messages": messages}).json()

    assert found["choices"][0]["message"]["content"] == "Two-de dogs-de play-de in-de the-de snow-de"


def test_a_stream(call: Caller) -> None:
    answer = call.post(PATH, json={"model": "en:de", "messages": TEXT, "stream": True})
    *chunks, last = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    choices = [json.loads(each)["choices"][0] for each in chunks]

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert last == "[DONE]"
    assert "".join(each["delta"].get("content", "") for each in choices) == "Two-de dogs-de"
    assert choices[0]["delta"]["role"] == "assistant"
    assert [each["finish_reason"] for each in choices] == [None, None, "stop"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "gpt-4o"}, "model must be SOURCE:TARGET, such as en:de, or one of de-en"),
        ({"model": "en:zz"}, "target must be one of"),
        ({"messages": []}, "messages"),
        ({"messages": TEXT[:1]}, "messages has none with the role user"),
        ({"n": 2}, "n must be"),
        ({"tools": [{"type": "function"}]}, "tools must be"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "text": ""}]}]}, "must be"),
    ],
)
def test_what_a_translation_model_cannot_do_is_rejected(call: Caller, change: dict[str, Any], message: str) -> None:
    answer = call.post(PATH, json={"model": "en:de", "messages": TEXT} | change)

    assert answer.status_code == 400
    assert message in answer.json()["error"]["message"]


def test_models_are_listed(call: Caller) -> None:
    found = call.get("/v1/models").json()

    assert found["object"] == "list"
    assert {"en-de", "en:de", "auto:de", "fr:de"} <= {each["id"] for each in found["data"]}


def test_a_key_is_required(tmp_path: Path) -> None:
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    body = {"model": "en:de", "messages": TEXT}

    assert call.post(PATH, json=body).status_code == 403
    assert call.post(PATH, json=body, headers={"authorization": f"Bearer {key}"}).status_code == 200
