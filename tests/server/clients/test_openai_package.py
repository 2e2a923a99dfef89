"""OpenAI's own Python package against a real server, unchanged."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dragoman.server.access.api_keys import create_key
from tests.server.fake_server import running

openai: Any = pytest.importorskip("openai")

MESSAGES = [{"role": "user", "content": "Two dogs"}]


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    keys = tmp_path_factory.mktemp("keys") / "keys"
    right = create_key(keys, "anna")
    with running({"keys": str(keys)}) as server, contextlib.ExitStack() as clients:

        def connected(key: str = right) -> Any:
            made = openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)
            return clients.enter_context(made)

        yield connected


def test_a_text_and_a_stream(connect: Callable[..., Any]) -> None:
    client = connect()
    whole = client.chat.completions.create(model="en:de", messages=MESSAGES)
    parts = list(client.chat.completions.create(model="en:de", messages=MESSAGES, stream=True))

    assert whole.choices[0].message.content == "Two-de dogs-de"
    assert "".join(each.choices[0].delta.content or "" for each in parts) == "Two-de dogs-de"
    assert "en:de" in {each.id for each in client.models.list()}


@pytest.mark.parametrize("stream", [False, True])
def test_errors_have_an_object(connect: Callable[..., Any], stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        connect().chat.completions.create(model="en:zz", messages=MESSAGES, stream=stream)
    error = caught.value
    assert (error.code, error.type, error.param) == ("unknown_language", "invalid_request_error", None)
    assert error.body["message"].startswith("target must be one of")

    with pytest.raises(openai.PermissionDeniedError) as caught:  # rejected before the route runs
        connect("wrong").chat.completions.create(model="en:de", messages=MESSAGES, stream=stream)
    assert (caught.value.code, caught.value.type) == ("invalid_key", "authentication_error")
    assert caught.value.body["message"] == "Invalid API key"


def test_an_error_within_a_stream_ends_it() -> None:
    settings = {"limits": {"seconds": 0.5}}
    with running(settings, delay=0.4) as server, openai.OpenAI(base_url=f"{server.url}/v1", api_key="any") as client:
        messages = [{"role": "user", "content": "Two dogs play in the snow and a man sleeps"}]
        stream = client.chat.completions.create(model="en:de", messages=messages, stream=True)
        first = next(stream)
        with pytest.raises(openai.APIError, match="the time for this request has run out") as caught:
            list(stream)

    assert first.choices[0].delta.content.startswith("Two-de")
    assert (caught.value.code, caught.value.type) == ("deadline", "server_error")
    assert caught.value.body["retry_after"] == 1
