import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.evaluation.quality_flags import FLAGS
from dragoman.server.access.api_keys import create_key
from dragoman.server.errors import Overloaded, TooLarge
from dragoman.server.routes.v1 import InspectResponse
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller, events_in
from tests.server.fake_service import FakeService

BODY = {"text": "Two dogs", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def translations(call: Caller, **more: Any) -> list[dict[str, Any]]:
    answer = call.post("/v1/translate", json=BODY | more)
    assert answer.status_code == 200, answer.text
    found = answer.json()["translations"]
    assert isinstance(found, list)
    return found


def test_all_that_always_is_there(call: Caller) -> None:
    (found,) = translations(call)

    assert found == {
        "source": "Two dogs",
        "text": "Two-de dogs-de",
        "score": -0.5,
        "log_prob": -1.0,
        "is_truncated": False,
        "is_cut": False,
        "tokens": ["▁Two-de", "▁dogs-de"],
        "flags": [],
        "models": ["en-de"],
        "via": None,
        "detected": None,
        "alternatives": [],
    }


def test_what_is_there_when_asked_for(call: Caller) -> None:
    (found,) = translations(call, alignments=True, weights=True, alternatives=2, flags=False)

    assert found["alignment"] == [[0, 0], [1, 1]]
    assert found["weights"] == [[1.0, 0.0], [0.0, 1.0]]
    assert found["source_words"] == ["Two", "dogs"]
    assert [each["text"] for each in found["alternatives"]] == ["Two-de dogs-de !", "Two-de dogs-de !!"]
    assert [each["score"] for each in found["alternatives"]] == [-1.5, -2.5]
    assert "flags" not in found


@pytest.mark.parametrize(
    ("asked", "there", "missing"), [("alignments", "alignment", "weights"), ("weights", "weights", "alignment")]
)
def test_alternatives_have_links_of_their_own(call: Caller, asked: str, there: str, missing: str) -> None:
    (found,) = translations(call, text="copied dogs", alternatives=2, **{asked: True})
    (several,) = translations(call, text="Two dogs\nA man", alternatives=2, **{asked: True})

    assert [each["text"] for each in found["nbest"]] == [f"copied-de dogs-de{end}" for end in ("", " !", " !!")]
    for each in (*found["nbest"], *several["sentences"][1]["nbest"]):
        assert {there, "target_words"} <= each.keys()
        assert missing not in each
    assert found["nbest"][2]["flags"][0]["meaning"] == FLAGS["copied"]


def test_alternatives_keep_placeholders(call: Caller) -> None:
    (found,) = translations(call, text="Two {name} dogs", alternatives=2, weights=True)

    assert found["text"] == "Two-de {name} dogs-de"
    assert [each["text"] for each in found["nbest"]] == [f"{found['text']}{end}" for end in ("", " !", " !!")]
    assert found["alternatives"] == [{key: each[key] for key in ("text", "score")} for each in found["nbest"][1:]]


@pytest.mark.parametrize("text", ["Two dogs", "Two {name} dogs", "Two\n100% dogs"])
def test_what_was_not_asked_for_is_not_there(call: Caller, text: str) -> None:
    for found in translations(call, text=[text, "A man"]):
        for each in (found, *found.get("sentences", ())):
            assert not {"alignment", "weights", "source_words", "target_words", "nbest"} & each.keys()


def test_flags_are_explained(call: Caller) -> None:
    (found,) = translations(call, text="copied\ncopied")

    assert found["flags"][0] == {"name": "copied", "detail": "nearly", "meaning": FLAGS["copied"]}
    assert found["sentences"][1]["flags"][0]["meaning"] == FLAGS["copied"]


def test_a_list_and_its_languages(call: Caller) -> None:
    texts = ["Deux chiens jouent dans la neige", "7"]

    first, second = translations(call, text=texts, source="auto")

    assert first["detected"]["language"] == "fr"
    assert (first["models"], first["via"]) == (["fr-en", "en-de"], "en")
    assert (second["text"], second["models"]) == ("7", [])
    assert translations(call, text=[]) == []


def test_options_reach_the_service() -> None:
    call = Caller()
    translations(call, beam=7, split=False, glossary={"dogs": "Hunde", "Two": None}, model="en-de", alternatives=1)
    (request,) = call.service.requests
    options = request.options

    assert (request.model, options.split_sentences, options.flags) == ("en-de", False, True)
    assert (options.search.beam, options.search.nbest) == (7, 2)
    assert options.glossary is not None
    assert options.glossary.terms == {"dogs": "Hunde", "Two": None}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"target": "zz"}, "target must be one of de, en, got 'zz'"),
        ({"target": None}, "target must be text, got null"),
        ({"text": 3}, "text must be text, got 3"),
        ({"text": ["a", 3]}, "text"),
        ({"beam": 0}, "beam must be greater than or equal to 1, got 0"),
        ({"beam": 100}, "beam must be less than or equal to 16, got 100"),
        ({"alternatives": 6}, "alternatives must be 5 at most, got 6"),
        ({"alternatives": True}, "alternatives must be a whole number"),
        ({"format": "md"}, "format must be one of text, html"),
        ({"alignment": True}, "did you mean alignments?"),
        ({"model": "x"}, "model must be one of"),
        ({"glossary": {"": "x"}}, "a term and its translation must hold more"),
        ({"stream": "yes"}, "stream must be true or false"),
    ],
)
def test_faults_are_told(call: Caller, more: dict[str, Any], error: str) -> None:
    answer = call.post("/v1/translate", json=BODY | more)

    assert answer.status_code == 400
    assert error in answer.json()["detail"]
    assert answer.json()["error"] == answer.json()["message"] == answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("more", [{"text": "x" * 5001}, {"text": ["x"] * 65}, {"glossary": {"x" * 201: None}}])
def test_what_is_too_large(call: Caller, more: dict[str, Any]) -> None:
    assert call.post("/v1/translate", json=BODY | more).status_code == 413


def test_only_json_is_taken(call: Caller) -> None:
    assert call.post("/v1/translate", data=BODY).status_code == 415
    assert call.post("/v1/translate", content=b"{}").status_code == 415
    answer = call.post("/v1/translate", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert "must be JSON" in answer.json()["error"]


@pytest.mark.parametrize(
    "how", [{"json": BODY | {"stream": True}}, {"json": BODY, "headers": {"accept": "text/event-stream"}}]
)
def test_a_stream(call: Caller, how: dict[str, Any]) -> None:
    answer = call.post("/v1/translate", **how)
    events = events_in(answer.text)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert [name for name, _ in events] == ["text", "text", "translation", "done"]
    assert "".join(value["text"] for name, value in events if name == "text") == "Two-de dogs-de"
    (whole,) = translations(call)
    assert events[2][1] == {"index": 0, **whole}
    assert events[3][1] == {}


def test_a_stream_of_several_texts(call: Caller) -> None:
    texts = ["Two dogs", "7", "A {name}", "<b>"]
    answer = call.post("/v1/translate", json=BODY | {"text": texts, "stream": True})
    events = events_in(answer.text)

    assert [value["index"] for name, value in events if name == "translation"] == [0, 1, 2, 3]
    indexes = [value["index"] for name, value in events if name != "done"]
    assert indexes == sorted(indexes)
    for index in range(len(texts)):
        text = "".join(value["text"] for name, value in events if name == "text" and value["index"] == index)
        (whole,) = [value for name, value in events if name == "translation" and value["index"] == index]
        assert whole["text"] == text


def test_a_stream_of_html(call: Caller) -> None:
    answer = call.post("/v1/translate", json=BODY | {"text": "<i>Two</i> dogs", "format": "html", "stream": True})

    assert events_in(answer.text)[0] == ("text", {"index": 0, "text": "<i>Two-de</i> dogs-de"})


def test_a_stream_that_cannot_begin_has_a_status() -> None:
    call = Caller(FakeService(fault=Overloaded("busy", retry_after=3.0)))
    answer = call.post("/v1/translate", json=BODY | {"stream": True})

    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "3"


def test_a_stream_that_fails_ends_with_an_error() -> None:
    class Failing(FakeService):
        async def stream_pair(self, *args: Any) -> Any:
            yield "Two"
            raise Overloaded("too late", retry_after=6.2)

    events = events_in(Caller(Failing()).post("/v1/translate", json=BODY | {"stream": True}).text)

    assert [name for name, _ in events] == ["text", "error"]
    error = events[1][1]
    assert (error["status"], error["detail"], error["code"]) == (503, "too late; try again in 7 s", "overloaded")
    assert error["retry_after"] == 7


def test_a_stream_that_takes_too_long_ends_with_an_error() -> None:
    class Hanging(FakeService):
        async def stream_pair(self, *args: Any) -> Any:
            yield "Two"
            await asyncio.Event().wait()

    settings = ServerSettings.model_validate({"limits": {"seconds": 0.1}})
    events = events_in(Caller(Hanging(), settings).post("/v1/translate", json=BODY | {"stream": True}).text)

    assert [name for name, _ in events] == ["text", "error"]
    assert (events[1][1]["code"], events[1][1]["retry_after"]) == ("deadline", 1)


def test_a_stream_with_an_error_of_the_server_ends_with_one_event_that_tells_nothing() -> None:
    class Failing(FakeService):
        async def stream_pair(self, *args: Any) -> Any:
            yield "Two"
            raise RuntimeError("secret")

    answer = Caller(Failing()).post("/v1/translate", json=BODY | {"stream": True})
    events = events_in(answer.text)

    assert [name for name, _ in events] == ["text", "error"]
    assert (events[1][1]["code"], events[1][1]["request_id"]) == ("internal", answer.headers["x-request-id"])
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"target": "xx"}, "unknown_language"),
        ({"source": "de", "target": "fr"}, "unavailable_pair"),
        ({"model": "none"}, "unknown_model"),
        ({"model": "fr-en+zh-en"}, "unknown_model"),
        ({"glossary": {" ": "b"}}, "invalid_glossary"),
        ({"beam": 0}, "invalid_request"),
        ({"text": "a" * 6000}, "too_large"),
    ],
)
def test_errors_have_a_code(call: Caller, more: dict[str, Any], code: str) -> None:
    assert call.post("/v1/translate", json=BODY | more).json()["code"] == code


@pytest.mark.parametrize(("path", "name"), [("/translate", "q"), ("/v1/translate", "text")])
def test_a_country_code_gets_the_language_to_write(call: Caller, path: str, name: str) -> None:
    answer = call.post(path, json={name: "两只狗", "source": "cn", "target": "en"})

    assert answer.status_code == 400
    assert "; write zh" in answer.json()["error"]


def test_refusals_of_the_service_have_their_status() -> None:
    for fault, status in ((Overloaded("busy", retry_after=2.0), 503), (TooLarge("too much"), 413)):
        answer = Caller(FakeService(fault=fault)).post("/v1/translate", json=BODY)
        assert answer.status_code == status
        assert answer.json()["detail"] == str(fault)


def test_places_are_given_back() -> None:
    call = Caller()
    for more in ({}, {"stream": True}, {"target": "zz"}):
        call.post("/v1/translate", json=BODY | more)

    assert len(call.service.reservations) == 3
    assert all(reservation.is_released for reservation in call.service.reservations)


def test_inspect(call: Caller) -> None:
    answer = call.post("/v1/inspect", json=BODY | {"counterfactuals": 2, "source": "auto"})

    assert answer.json().keys() == InspectResponse.model_fields.keys()
    InspectResponse.model_validate(answer.json())
    assert answer.json()["source_words"] == ["Two", "dogs"]
    assert len(answer.json()["counterfactuals"]) == 2
    assert answer.json()["models"] == ["en-de"]
    assert answer.json()["detected"]["language"] == "en"
    given = call.post("/v1/inspect", json=BODY | {"translation": "Zwei Hunde"})
    assert given.json()["translation"] == "Zwei Hunde"
    for more in ({"counterfactuals": 4}, {"text": ""}, {"text": "7"}, {"target": "en"}, {"beam": 4}):
        assert call.post("/v1/inspect", json=BODY | more).status_code == 400


def test_models(call: Caller) -> None:
    found = call.get("/v1/models").json()

    assert {each["name"] for each in found["models"]} == {"de-en", "en-de", "fr-en", "zh-en"}
    assert {"source": "fr", "target": "de", "models": [["fr-en", "en-de"]], "via": "en"} in found["routes"]


def test_reload_takes_the_right(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    admin, anna = create_key(path, "root", ["admin"]), create_key(path, "anna")
    call = Caller(settings=ServerSettings(keys=str(path)))

    def reload(key: str | None) -> httpx.Response:
        return call.post("/v1/models/reload", headers={"authorization": f"Bearer {key}"} if key else {})

    assert [reload(key).status_code for key in (None, "guess", anna)] == [403, 403, 403]
    assert call.service.reloads == 0
    assert reload(admin).json() == {"reloaded": [], "kept": ["de-en", "en-de", "fr-en", "zh-en"], "failed": {}} | {
        "added": [],
        "removed": [],
    }
    assert Caller().post("/v1/models/reload").status_code == 403


def test_when_the_client_leaves_a_stream_its_ticket_is_cancelled() -> None:
    call = Caller(FakeService(delay=0.05))

    async def disconnect() -> None:
        gone = asyncio.Event()
        body = b'{"text": "' + b"dog " * 100 + b'", "source": "en", "target": "de", "stream": true}'
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if b"event: text" in message.get("body", b""):
                gone.set()

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(body)).encode()))
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/v1/translate",
            "headers": headers,
        }
        scope |= {
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "asgi": {"spec_version": "2.3"},
            "http_version": "1.1",
            "scheme": "http",
        }
        await asyncio.wait_for(call.app(scope, receive, send), 3)

    asyncio.run(disconnect())
    assert call.service.reservations[0].is_cancelled
    assert call.service.reservations[0].is_released
