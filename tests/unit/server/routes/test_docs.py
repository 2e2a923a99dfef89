import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dragoman.api.translation.multi_model.routing import Route
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller
from tests.server.fake_service import FakeService


class Elements(HTMLParser):
    """What a page holds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]


@dataclass
class OnePair(FakeService):
    """Serves one language pair."""

    pair: tuple[str, str] = ("zh", "en")

    def routes(self) -> Sequence[Route]:
        return (Route(*self.pair, (("only",),)),)


def curl_lines(page: str) -> list[list[str]]:
    """The words of the examples, as a shell reads them."""
    found = [shlex.split(unescape(each)) for each in re.findall("<pre>(.*?)</pre>", page, re.DOTALL)]
    return [[word for word in words if word.strip()] for words in found]


@pytest.fixture(scope="module")
def call() -> Caller:
    return Caller()


def test_every_path_is_on_the_page(call: Caller) -> None:
    page = call.get("/docs")

    for path in call.get("/openapi.json").json()["paths"]:
        assert re.search(f"<h3>[A-Z]+ {re.escape(path)}</h3>", page.text)


def test_the_page_needs_nothing_from_elsewhere(call: Caller) -> None:
    page = call.get("/docs")
    found = Elements()
    found.feed(page.text)

    assert page.headers["content-type"].startswith("text/html")
    assert "script" not in found.tags
    assert found.links == ["openapi.json"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")


def test_they_can_be_switched_off() -> None:
    call = Caller(settings=ServerSettings(docs=False))

    assert [call.get(path).status_code for path in ("/docs", "/openapi.json")] == [404, 404]


def test_the_spec_of_libretranslate_has_its_title_and_its_routes() -> None:
    found = Caller().get("/spec").json()

    assert found["info"]["title"] == "LibreTranslate"
    assert {"/translate", "/detect", "/languages"} <= found["paths"].keys()
    assert not any(path.startswith(("/v1", "/v2", "/v3")) for path in found["paths"])


@pytest.mark.parametrize("host", ["127.0.0.1:8123", "[::1]:8123", "localhost:'; $(x)", "[::1"])
def test_examples_call_the_address_of_the_request(host: str) -> None:
    page = Caller(settings=ServerSettings(hosts=("*",))).get("/docs", headers={"Host": host})

    assert page.status_code == 200
    assert len(curl_lines(page.text)) >= 8
    assert {words[1].rpartition("/")[0][: len(host) + 7] for words in curl_lines(page.text)} == {f"http://{host}"}


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [(("zh", "en"), "两只狗在雪地里玩耍。"), (("zh-TW", "ja"), "兩隻狗在雪地裡玩耍。"), (("fi", "sv"), "TEXT")],
)
def test_examples_translate_between_languages_of_the_server(pair: tuple[str, str], sentence: str) -> None:
    page = Caller(OnePair(pair=pair)).get("/docs")
    bodies = [json.loads(words[-1]) for words in curl_lines(page.text)]

    assert {each["source"] for each in bodies if "source" in each} == {pair[0], "auto"}
    assert {each["target"] for each in bodies if "target" in each} == {pair[1]}
    assert {each["target_lang"] for each in bodies if "target_lang" in each} == {pair[1].upper()}
    assert {each["model"] for each in bodies if "messages" in each} == {":".join(pair)}
    assert sentence in [each.get("q") for each in bodies]
    texts = json.dumps([each.get("q") or each.get("text") or each.get("messages") for each in bodies])
    assert not any(word in texts for word in ("dogs", "sleeps", "Two"))


def test_examples_of_another_pair_work(tmp_path: Path) -> None:
    call = Caller(OnePair(), settings=ServerSettings(database=f"sqlite:///{tmp_path / 'memories.db'}"))
    page = call.get("/docs")

    for words in curl_lines(page.text):
        answer = call.post(words[1].removeprefix("http://127.0.0.1"), json=json.loads(words[-1]))
        assert answer.status_code == 200, answer.text


def test_text_between_backticks_is_code(call: Caller) -> None:
    page = call.get("/docs").text

    assert "<code>auto</code>" in page
    assert "`" not in page


def test_long_examples_wrap(call: Caller) -> None:
    page = call.get("/docs").text

    assert re.search(r"pre \{[^}]*white-space: pre-wrap", page)
