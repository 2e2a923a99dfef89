"""APIs of ``dragoman serve`` with real engines and untrained models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from dragoman.server.routes.v1 import InspectResponse
from tests.server.asgi_calls import events_in
from tests.server.bundles import tiny_bundle
from tests.server.running_server import running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve en → de, a Transformer, and fr → en, an RNN; so fr → de goes through en."""
    folder = tmp_path_factory.mktemp("bundles")
    bundles = [tiny_bundle(folder / "en-de", "en", "de"), tiny_bundle(folder / "fr-en", "fr", "en", "rnn")]
    with running_server(*bundles) as address:
        yield address


def post(server: str, path: str, **body: Any) -> Any:
    answer = httpx.post(f"{server}{path}", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_client_of_pypi(server: str) -> None:
    client = LibreTranslateAPI(server)

    assert client.translate("two small dogs", "en", "de")
    assert client.translate("12 %", "en", "de") == "12 %"
    assert {each["code"]: each["targets"] for each in client.languages()} == {
        "de": ["de"],
        "en": ["de", "en"],
        "fr": ["de", "en", "fr"],
    }


def test_the_same_text_by_every_api(server: str) -> None:
    text = "two small dogs"
    libre = post(server, "/translate", q=text, source="en", target="de")["translatedText"]
    deepl = post(server, "/v2/translate", text=[text], source_lang="EN", target_lang="DE")["translations"][0]["text"]
    (native,) = post(server, "/v1/translate", text=text, source="en", target="de")["translations"]
    page = post(server, "/translate", q=f"<p>{text}</p>", source="en", target="de", format="html")["translatedText"]
    files = {"file": ("a.txt", text.encode())}
    form = {"source": "en", "target": "de"}
    headers = {"accept": "text/plain"}
    document = httpx.post(f"{server}/translate_file", files=files, data=form, headers=headers, timeout=30).text

    assert libre == deepl == native["text"] == document
    assert page.startswith("<p>")
    assert page.endswith("</p>")


def test_alternatives_and_alignments(server: str) -> None:
    asked = {"text": "two small dogs", "source": "en", "target": "de"}
    (found,) = post(server, "/v1/translate", **asked, alternatives=3, alignments=True, weights=True)["translations"]

    assert 1 <= len(found["alternatives"]) <= 3
    assert found["source_words"] == ["two", "small", "dogs"]
    assert len(found["weights"]) == len(found["target_words"])
    assert all(0 <= source < 3 for source, _ in found["alignment"])


def test_through_a_third_language(server: str) -> None:
    (found,) = post(server, "/v1/translate", text="deux chiens", source="fr", target="de")["translations"]

    assert found["via"] == "en"
    assert found["models"] == ["fr-en", "en-de"]


def test_a_stream_is_the_translation(server: str) -> None:
    body = {"text": ["two small dogs", "a man"], "source": "en", "target": "de", "stream": True}
    events = events_in(httpx.post(f"{server}/v1/translate", json=body, timeout=30).text)

    assert [value["index"] for name, value in events if name == "translation"] == [0, 1]
    for index in (0, 1):
        parts = [value["text"] for name, value in events if name == "text" and value["index"] == index]
        (whole,) = [value["text"] for name, value in events if name == "translation" and value["index"] == index]
        assert "".join(parts) == whole
    assert events[-1] == ("done", {})


@pytest.mark.parametrize("kept", ["{name}", "https://example.org/?q=%20x", "%(count)d"])
def test_placeholders(server: str, kept: str) -> None:
    found = post(server, "/translate", q=f"two {kept} dogs", source="en", target="de")["translatedText"]

    assert found.count(kept) == 1


@pytest.mark.slow
def test_inspect(server: str) -> None:
    found = post(server, "/v1/inspect", text="two small dogs", source="en", target="de", counterfactuals=1)

    assert found.keys() == InspectResponse.model_fields.keys()
    InspectResponse.model_validate(found)
    assert found["source_words"] == ["two", "small", "dogs"]
    assert found["models"] == ["en-de"]
    assert found["predicted"]
