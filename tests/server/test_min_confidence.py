"""The confidence in responses, and requests that are rejected because of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from dragoman.bundle import Bundle
from dragoman.bundle.bundle import write_calibration
from tests.server.asgi_calls import events_in
from tests.server.bundles import tiny_bundle
from tests.server.running_server import running_server
from tests.unit.bundle.test_confidence import FITTED


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve en → de, which is sure, en → fr, which is not, and en → pt, which is not calibrated."""
    folder = tmp_path_factory.mktemp("bundles")
    bundles = [tiny_bundle(folder / f"en-{target}", "en", target) for target in ("de", "fr", "pt")]
    for path, bias in zip(bundles, (2.0, -2.0), strict=False):
        fitted = FITTED.model_copy(update={"bias": bias, "weights": (0.0,) * 4})
        write_calibration(Bundle.open(path), path.name, fitted)
    with running_server(*bundles) as address:
        yield address


def post(server: str, path: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{server}{path}", json=body, timeout=300)


def test_translations_have_a_confidence(server: str) -> None:
    found = {
        target: post(server, "/v1/translate", text="a small dog", target=target).json()["translations"][0]
        for target in ("de", "fr", "pt")
    }
    assert (found["de"]["confidence"], found["fr"]["confidence"]) == (0.8808, 0.1192)
    assert "confidence" not in found["pt"]
    libre = post(server, "/translate", q="a small dog", source="en", target="de").json()
    assert set(libre) == {"translatedText"}


def test_an_unsure_translation_is_an_error(server: str) -> None:
    asked = {"text": "a small dog", "source": "en", "min_confidence": 0.5}
    assert post(server, "/v1/translate", **asked, target="de").status_code == 200
    found = post(server, "/v1/translate", **asked, target="fr")
    assert (found.status_code, found.json()["code"]) == (400, "unsure")
    assert found.json()["detail"].startswith("the text is not translated: confidence 0.12, below 0.5")
    streamed = post(server, "/v1/translate", **asked, target="fr", stream=True)
    assert (streamed.status_code, streamed.json()["code"]) == (400, "unsure")
    events = events_in(post(server, "/v1/translate", **asked, target="de", stream=True).text)
    assert [name for name, _ in events] == ["text", "translation", "done"]
    tagged = post(server, "/v1/translate", **asked | {"text": "<b>dogs</b>"}, target="fr", format="html")
    assert tagged.json()["code"] == "unsure"


def test_the_texts_of_a_list_are_left_unless_all_are_unsure(server: str) -> None:
    asked = {"source": "auto", "target": "fr", "min_confidence": 0.5}
    all_ = post(server, "/v1/translate", text=["a small dog", "a red house {x}"], **asked)
    assert all_.json()["detail"].startswith("all 2 texts are not translated")
    few = post(server, "/v1/translate", text=["a small dog", "12 %"], **asked)
    assert few.status_code in {200, 400}


def test_a_model_without_confidence_has_no_minimum(server: str) -> None:
    found = post(server, "/v1/translate", text="a dog", source="en", target="pt", min_confidence=0.5)
    assert (found.status_code, "needs a calibrated model" in found.json()["detail"]) == (400, True)
    assert post(server, "/v1/translate", text="a dog", source="en", target="pt", min_confidence=2).status_code == 400
