"""LibreTranslate's clients against a real server, unchanged."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from dragoman.server.access.api_keys import create_key
from tests.server.fake_server import running

DETECTED = {"language": str, "confidence": float}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:  # it is killed, and cannot delete the documents it keeps
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("documents")))
        with running() as started:
            yield started.url


def has_shape(value: Any, shape: Any) -> bool:
    """Whether a value has a shape: values, types, or dictionaries and lists of them."""
    if isinstance(shape, dict):
        return (
            isinstance(value, dict)
            and value.keys() == shape.keys()
            and all(has_shape(value[k], shape[k]) for k in shape)
        )
    if isinstance(shape, list):
        return isinstance(value, list) and len(value) == len(shape) and all(map(has_shape, value, shape))
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, shape) if isinstance(shape, type) else bool(value == shape)


EN_DE = {"source": "en", "target": "de"}
AUTO = {"source": "auto", "target": "de"}
GOOD: list[tuple[str, dict[str, Any], Any]] = [
    ("a text", {"q": "Two dogs", **EN_DE}, {"translatedText": "Two-de dogs-de"}),
    ("a list", {"q": ["Two dogs", "A man"], **EN_DE}, {"translatedText": ["Two-de dogs-de", "A-de man-de"]}),
    ("a list of one", {"q": ["Two dogs"], **EN_DE}, {"translatedText": ["Two-de dogs-de"]}),
    ("an empty text in a list", {"q": ["", "A man"], **EN_DE}, {"translatedText": ["", "A-de man-de"]}),
    ("white space", {"q": "  \n ", **EN_DE}, {"translatedText": "  \n "}),
    ("emoji alone", {"q": "😀", **EN_DE}, {"translatedText": "😀"}),
    ("unicode", {"q": "Größe 你好 🎉 e\u0301", **EN_DE}, {"translatedText": "Größe-de 你好-de 🎉 e\u0301-de"}),
    ("to itself", {"q": "Two dogs", "source": "en", "target": "en"}, {"translatedText": "Two dogs"}),
    ("through a third language", {"q": "Deux", "source": "fr", "target": "de"}, {"translatedText": "Deux-de"}),
    ("codes in capitals", {"q": "Two", "source": "EN", "target": "DE"}, {"translatedText": "Two-de"}),
    ("an alias", {"q": "你好", "source": "zh-Hans", "target": "en"}, {"translatedText": "你好-en"}),
    ("format text", {"q": "a <b>", **EN_DE, "format": "text"}, {"translatedText": "a-de <b>"}),
    ("an empty format", {"q": "Two", **EN_DE, "format": ""}, {"translatedText": "Two-de"}),
    ("fewer alternatives than none", {"q": "Two", **EN_DE, "alternatives": -1}, {"translatedText": "Two-de"}),
    ("an empty key", {"q": "Two", **EN_DE, "api_key": ""}, {"translatedText": "Two-de"}),
    ("an unknown field", {"q": "Two", **EN_DE, "secret": "x"}, {"translatedText": "Two-de"}),
    (
        "auto",
        {"q": "Two dogs play in the snow", **AUTO},
        {"translatedText": str, "detectedLanguage": {"language": "en", "confidence": float}},
    ),
    (
        "auto, what is in the target's language already",
        {"q": "Zwei Hunde spielen im Schnee", **AUTO},
        {"translatedText": "Zwei Hunde spielen im Schnee", "detectedLanguage": {"language": "de", "confidence": float}},
    ),
    (
        "auto without letters",
        {"q": "12 34", **AUTO},
        {"translatedText": "12 34", "detectedLanguage": {"language": "en", "confidence": 0.0}},
    ),
    (
        "auto and a list",
        {"q": ["Two dogs play in the snow", "Deux chiens jouent dans la neige"], **AUTO},
        {
            "translatedText": [str, str],
            "detectedLanguage": [{"language": "en", "confidence": float}, {"language": "fr", "confidence": float}],
        },
    ),
    (
        "alternatives",
        {"q": "Two dogs", **EN_DE, "alternatives": 2},
        {"translatedText": "Two-de dogs-de", "alternatives": ["Two-de dogs-de !", "Two-de dogs-de !!"]},
    ),
    (
        "alternatives of a list",
        {"q": ["Two", "1"], **EN_DE, "alternatives": 1},
        {"translatedText": ["Two-de", "1"], "alternatives": [["Two-de !"], []]},
    ),
    (
        "more alternatives than the beam is wide",
        {"q": "Two", **EN_DE, "alternatives": 5},
        {"translatedText": "Two-de", "alternatives": [str] * 5},
    ),
    (
        "all at once",
        {"q": ["Two dogs play in the snow"], **AUTO, "alternatives": 1, "format": "text"},
        {"translatedText": [str], "detectedLanguage": [DETECTED], "alternatives": [[str]]},
    ),
]
MISSING = "Invalid request: missing {} parameter"
EMPTY = MISSING.format("q") + "; it is empty"
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("nothing", {}, MISSING.format("q")),
    ("an empty text", {"q": "", **EN_DE}, EMPTY),
    ("an empty list", {"q": [], **EN_DE}, EMPTY),
    ("no source", {"q": "Two", "target": "de"}, MISSING.format("source")),
    ("no target", {"q": "Two", "source": "en"}, MISSING.format("target")),
    (
        "an unknown source",
        {"q": "Two", "source": "zz", "target": "de"},
        "zz is not supported; supported: de, en, fr, zh-Hans",
    ),
    (
        "an unknown target",
        {"q": "Two", "source": "en", "target": "zz"},
        "zz is not supported; supported: de, en",
    ),
    (
        "auto as target",
        {"q": "Two", "source": "en", "target": "auto"},
        "auto is not supported; supported: de, en",
    ),
    (
        "no such pair",
        {"q": "Two", "source": "en", "target": "fr"},
        "French (fr) is not available as a target language from English (en)",
    ),
    ("another format", {"q": "Two", **EN_DE, "format": "md"}, "md format is not supported"),
    (
        "too many alternatives",
        {"q": "Two", **EN_DE, "alternatives": 6},
        "Invalid request: alternatives parameter must be <= 5",
    ),
    (
        "no number",
        {"q": "Two", **EN_DE, "alternatives": "x"},
        "Invalid request: alternatives parameter is not a number",
    ),
    ("a text too long", {"q": "x" * 5001, **EN_DE}, "Invalid request: request (5001) exceeds text limit (5000)"),
    ("too many texts", {"q": ["x"] * 65, **EN_DE}, "Invalid request: request (65) exceeds text limit (64)"),
]


@pytest.mark.parametrize(("body", "shape"), [pytest.param(*case[1:], id=case[0]) for case in GOOD])
def test_json(server: str, body: dict[str, Any], shape: Any) -> None:
    answer = httpx.post(f"{server}/translate", json=body)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert has_shape(answer.json(), shape), answer.text


@pytest.mark.parametrize(
    ("body", "shape"), [pytest.param(*case[1:], id=case[0]) for case in GOOD if isinstance(case[1]["q"], str)]
)
@pytest.mark.parametrize("kind", ["urlencoded", "multipart", "address"])
def test_forms(server: str, body: dict[str, Any], shape: Any, kind: str) -> None:
    fields = {name: str(value) for name, value in body.items()}
    kinds: dict[str, dict[str, Any]] = {
        "urlencoded": {"data": fields},
        "multipart": {"files": {name: (None, value) for name, value in fields.items()}},
        "address": {"params": fields},
    }

    answer = httpx.post(f"{server}/translate", **kinds[kind])

    assert answer.status_code == 200
    assert has_shape(answer.json(), shape), answer.text


@pytest.mark.parametrize(("body", "error"), [pytest.param(*case[1:], id=case[0]) for case in BAD])
def test_errors(server: str, body: dict[str, Any], error: str) -> None:
    answer = httpx.post(f"{server}/translate", json=body)

    assert answer.status_code == 400
    assert answer.json()["error"] == error


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'"x"', b'{"q": "\\ud800", "source": "en", "target": "de"}', b"\xff"]
)
def test_what_is_no_json(server: str, content: bytes) -> None:
    answer = httpx.post(f"{server}/translate", content=content, headers={"content-type": "application/json"})

    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize("content", [b"q=%ff&source=en&target=de", b"q=\xff&source=en&target=de", b"a&" * 2000])
def test_what_is_no_form(server: str, content: bytes) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}

    assert httpx.post(f"{server}/translate", content=content, headers=headers).status_code == 400


def test_html(server: str) -> None:
    body = {"q": '<p class="x">Two <b>dogs</b> &amp; a&nbsp;man</p>', **EN_DE, "format": "html"}

    text = httpx.post(f"{server}/translate", json=body).json()["translatedText"]

    assert text.startswith('<p class="x">')
    assert "<b>dogs-de</b>" in text
    assert "&amp;" in text


@pytest.mark.parametrize("path", ["/translate", "/detect"])
def test_methods(server: str, path: str) -> None:
    assert httpx.get(f"{server}{path}").status_code == 405


def test_the_client_of_pypi(server: str) -> None:
    client = LibreTranslateAPI(server)

    assert client.translate("Two dogs", "en", "de") == "Two-de dogs-de"
    assert client.detect("Deux chiens jouent dans la neige")[0]["language"] == "fr"
    assert {"code": "fr", "name": "French", "targets": ["de", "en", "fr"]} in client.languages()
    with pytest.raises(HTTPError, match="400") as caught:
        client.translate("Two dogs", "en", "zz")
    assert json.loads(caught.value.read())["error"].startswith("zz is not supported; supported: ")


def test_the_client_of_pypi_with_a_key(tmp_path: Path) -> None:
    key = create_key(tmp_path / "keys", "anna")
    with running({"keys": str(tmp_path / "keys")}) as started:
        address = started.url
        assert LibreTranslateAPI(address, key).translate("Two dogs", "en", "de") == "Two-de dogs-de"
        assert LibreTranslateAPI(address, key).detect("Two dogs")
        assert LibreTranslateAPI(address, key).languages()
        for wrong in (None, "guess"):
            with pytest.raises(HTTPError, match="403") as caught:
                LibreTranslateAPI(address, wrong).translate("Two dogs", "en", "de")
            assert "API key" in json.loads(caught.value.read())["error"]


CURL = shutil.which("curl")


@pytest.mark.skipif(CURL is None, reason="curl is not installed")
@pytest.mark.parametrize(
    "arguments",
    [
        ["-F", "q=Two dogs", "-F", "source=en", "-F", "target=de"],
        ["-d", "q=Two%20dogs&source=en&target=de"],
        ["--data-urlencode", "q=Two dogs", "-d", "source=en", "-d", "target=de"],
        ["-H", "Content-Type: application/json", "-d", '{"q": "Two dogs", "source": "en", "target": "de"}'],
    ],
)
def test_curl(server: str, arguments: list[str]) -> None:
    done = subprocess.run([CURL or "", "-sS", f"{server}/translate", *arguments], capture_output=True, check=True)

    assert json.loads(done.stdout) == {"translatedText": "Two-de dogs-de"}


def test_documents(server: str) -> None:
    files = {"file": ("a letter.txt", b"Two dogs\n\nA man\n", "text/plain")}

    answer = httpx.post(f"{server}/translate_file", files=files, data=EN_DE)
    address = answer.json()["translatedFileUrl"]
    fetched = httpx.get(address)

    assert answer.status_code == 200
    assert address.startswith(f"{server}/download_file/")
    assert fetched.content == b"Two-de dogs-de\n\nA-de man-de\n"
    assert "a_letter_de.txt" in fetched.headers["content-disposition"]
    assert fetched.headers["content-disposition"].startswith("attachment")


def test_what_a_page_asks_first(server: str) -> None:
    settings = httpx.get(f"{server}/frontend/settings").json()

    assert settings["charLimit"] == 5000
    assert settings["suggestions"] is False
    assert settings["filesTranslation"] is True
    assert {".txt", ".docx", ".html"} <= set(settings["supportedFilesFormat"])
    assert settings["language"]["source"]["code"] == "auto"
    assert httpx.post(f"{server}/suggest", data={"q": "a", "s": "b", **EN_DE}).status_code == 404


@pytest.mark.parametrize("how", [{"json": {"q": "Two dogs play"}}, {"data": {"q": "Two dogs play"}}])
def test_detect(server: str, how: dict[str, Any]) -> None:
    found = httpx.post(f"{server}/detect", **how).json()

    assert found[0]["language"] == "en"
    assert 0 < found[0]["confidence"] <= 100
    assert httpx.post(f"{server}/detect", json={}).json()["error"] == MISSING.format("q")
