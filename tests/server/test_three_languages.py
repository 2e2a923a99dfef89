"""A server with one model of several directions: what clients see, and what they get."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.api.translation.translator import Translator
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config, parse_config
from dragoman.config.search import SearchSettings
from testkit.three_languages import LANGUAGES, make_three_languages
from tests.server.running_server import running_server

deepl: Any = pytest.importorskip("deepl")

SIX = [(one, other) for one in LANGUAGES for other in LANGUAGES if one != other]
TEXT = "ba ce di"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained for seconds: it writes words of the target language, which mean nothing."""
    config = make_three_languages(tmp_path_factory.mktemp("three"))
    settings: dict[str, float] = {"max_updates": 120, "validate_every": 60, "checkpoint_every": 60}
    settings |= {"learning_rate": 0.01, "warmup_updates": 10}
    overrides = [f"training.{name}={value}" for name, value in settings.items()]
    trained = train_model(check_training(load_config(config, overrides), config.parent, config.parent / "many"))
    assert trained.bundle is not None
    return trained.bundle.folder


@pytest.fixture(scope="module")
def server(bundle: Path) -> Iterator[str]:
    with running_server(bundle) as address:
        yield address


@pytest.fixture(scope="module")
def translator(bundle: Path) -> Translator:
    return Translator.open(bundle, threads=1, search=SearchSettings(beam=2))


def post(server: str, path: str, **body: Any) -> Any:
    answer = httpx.post(f"{server}{path}", json=body, timeout=300)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_libretranslate_s_client_sees_all_directions(server: str, translator: Translator):
    client = LibreTranslateAPI(server)
    assert {each["code"]: each["targets"] for each in client.languages()} == {
        code: sorted(LANGUAGES) for code in LANGUAGES
    }
    found = {pair: client.translate(TEXT, *pair) for pair in SIX}
    assert found == {pair: translator.translate(TEXT, source=pair[0], target=pair[1]).text for pair in SIX}
    endings = {target: {word[2:] for word in text.split()} for (_, target), text in found.items()}
    assert endings == {"en": {""}, "de": {"en"}, "fr": {"eau"}}


def test_deepl_s_client_sees_all_directions(server: str, translator: Translator):
    client = deepl.DeepLClient("any", server_url=server, send_platform_info=False)
    assert {each.code for each in client.get_source_languages()} == {"DE", "EN", "FR"}
    for source, target in (("fr", "de"), ("de", "fr")):
        answer = client.translate_text(TEXT, source_lang=source, target_lang=target)
        assert answer.text == translator.translate(TEXT, source=source, target=target).text


def test_the_list_of_models(server: str):
    listed = httpx.get(f"{server}/v1/models").json()
    (model,) = listed["models"]
    assert {tuple(each) for each in model["directions"]} == set(SIX)
    assert {(each["source"], each["target"]) for each in listed["routes"]} == set(SIX)
    assert all(each["via"] is None and each["models"] == [[model["name"]]] for each in listed["routes"])
    named = post(server, "/v1/translate", text=TEXT, source="fr", target="en", model=model["name"])
    assert named["translations"][0]["models"] == [model["name"]]


def test_every_direction_shows_its_attention(server: str):
    for source, target in SIX:
        shown = post(server, "/v1/inspect", text=TEXT, source=source, target=target)
        assert shown["predicted"], (source, target)


def test_streamed_as_whole(server: str):
    asked = {"text": TEXT, "source": "de", "target": "fr"}
    (whole,) = post(server, "/v1/translate", **asked)["translations"]
    with httpx.stream("POST", f"{server}/v1/translate", json=asked | {"stream": True}, timeout=300) as answer:
        assert whole["text"] in answer.read().decode()


def test_a_direction_that_was_not_trained_goes_through_a_third_language(bundle: Path, tmp_path: Path):
    """The same model translates twice, and the answer names the language between."""
    made = Bundle.open(bundle)
    values = made.config.model_dump(exclude_none=True)
    values["data"] |= {"directions": ["en:de", "de:en", "en:fr", "fr:en"]}
    write_bundle(tmp_path / "around", parse_config(values), made.weights(), made.tokenizers(), "# Test\n")
    with running_server(tmp_path / "around") as server:
        (found,) = post(server, "/v1/translate", text=TEXT, source="de", target="fr")["translations"]
        assert (found["via"], len(found["models"])) == ("en", 2)
        around = Translator.open(tmp_path / "around", threads=1, search=SearchSettings(beam=2))
        between = around.translate(TEXT, source="de", target="en").text
        assert found["text"] == around.translate(between, source="en", target="fr").text
