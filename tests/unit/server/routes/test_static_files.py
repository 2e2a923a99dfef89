"""Files of the web page."""

from __future__ import annotations

import gzip
from pathlib import Path

import httpx
import pytest

from dragoman.server.http.route_policy import RouteTable
from dragoman.server.request_types import NATIVE
from dragoman.server.routes import static_files as page
from tests.server.asgi_calls import Caller


def get(folder: Path, path: str, **headers: str) -> httpx.Response:
    call = Caller()
    call.app.routes = RouteTable((NATIVE, each) for each in page.router(folder).routes)
    return call.get(path, headers={"accept-encoding": "identity"} | headers)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>x</title>")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "index-D4xY_9kQ.js").write_text("let x")
    (folder / "assets" / "index-D4xY_9kQ.js.gz").write_bytes(gzip.compress(b"let x"))
    (folder / "assets" / "plain.css").write_text("a{}")
    (tmp_path / "secret.txt").write_text("no")
    return folder


def test_the_page_and_its_files(built: Path):
    index = get(built, "/")
    assert index.text.startswith("<!doctype html>")
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert index.headers["cache-control"] == "no-cache"
    policy = index.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    script = get(built, "/assets/index-D4xY_9kQ.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in script.headers["cache-control"]
    assert get(built, "/assets/plain.css").headers["cache-control"] == "no-cache"
    assert get(built, "/favicon.svg").headers["content-type"] == "image/svg+xml"


def test_what_a_browser_has_is_not_sent_again(built: Path):
    tag = get(built, "/").headers["etag"]
    again = get(built, "/", **{"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert get(built, "/", **{"if-none-match": '"other"'}).status_code == 200


def test_packed_files_are_sent_to_those_who_can_unpack(built: Path):
    packed = get(built, "/assets/index-D4xY_9kQ.js", **{"accept-encoding": "br, gzip;q=0.8"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == "let x"
    assert packed.headers["vary"] == "Accept-Encoding"
    assert "content-encoding" not in get(built, "/assets/plain.css", **{"accept-encoding": "gzip"}).headers
    refused = get(built, "/assets/index-D4xY_9kQ.js", **{"accept-encoding": "br;q=0, gzip; q=0.0"})
    assert "content-encoding" not in refused.headers


@pytest.mark.parametrize(
    "path", ["/assets/none.js", "/assets/../index.html", "/assets/%2e%2e/%2e%2e/secret.txt", "/secret.txt", "/static/"]
)
def test_nothing_else_is_served(built: Path, path: str):
    response = get(built, path)
    assert response.status_code == 404 or response.text.startswith("<!doctype html>")
    assert response.text != "no"


def test_where_it_was_not_built_it_says_how_to(tmp_path: Path):
    response = get(tmp_path / "none", "/")
    assert response.status_code == 200
    assert "npm run build" in response.text
    assert "<script" not in response.text


def test_an_installation_without_the_page_is_recognized(built: Path, tmp_path: Path):
    assert page.has_page(built)
    assert not page.has_page(tmp_path)
    assert "not part of this installation" in get(tmp_path, "/").text
