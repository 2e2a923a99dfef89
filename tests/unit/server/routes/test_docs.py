import re
from html.parser import HTMLParser

import pytest

from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller


class Elements(HTMLParser):
    """What a page holds."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]


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
