"""Catalogs are cached for an hour, read without a network from the cache, and limited in size."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path

import pytest

from dragoman import environment
from dragoman.catalogs import http_client
from dragoman.catalogs.catalog_model import search
from dragoman.catalogs.find_catalog import default_catalog, read_catalog
from dragoman.catalogs.http_client import Access
from dragoman.errors import ConfigError, DataError, DragomanError, MissingExtraError
from testkit.model_server import PAGE, ModelServer

HTTP = Access(allow_http=True)
INDEX = "/index.json"


@pytest.fixture(autouse=True)
def package(server: ModelServer) -> None:
    server.add_argos("en", "pt", b"x")


def test_a_catalog_is_requested_once_while_it_is_valid(server: ModelServer):
    first = default_catalog("argos", HTTP)
    assert default_catalog("argos", HTTP) == first
    assert abs(first.checked - time.time()) < 600
    assert len(server.requests) == 1


def test_an_old_catalog_is_requested_again(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    first = default_catalog("argos", HTTP)
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    second = default_catalog("argos", HTTP)
    assert (second.models, second.checked) == (first.models, later)
    server.add_argos("en", "de", b"y")
    later += 3601
    assert len(default_catalog("argos", HTTP).models) == 2


def test_without_a_network_the_cache_is_read(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigError, match="is not in the cache, and --offline forbids the network"):
        default_catalog("argos", Access(offline=True))
    first = default_catalog("argos", HTTP)
    server.stop()
    monkeypatch.setattr(time, "time", lambda: first.checked + 1e7)
    assert default_catalog("argos", Access(offline=True)) == first
    monkeypatch.setenv("DRAGOMAN_OFFLINE", "1")
    assert default_catalog("argos") == first
    with pytest.raises(ConfigError, match="DRAGOMAN_OFFLINE forbids the network"):
        default_catalog("firefox")


def test_a_damaged_cache_is_not_used(server: ModelServer, own_cache: Path):
    default_catalog("argos", HTTP)
    (entry,) = (own_cache / "catalogs").iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])
    assert default_catalog("argos", HTTP).models
    assert len(server.requests) == 2


def test_a_cache_that_cannot_be_written_is_not_needed(server: ModelServer, own_cache: Path):
    own_cache.write_bytes(b"a file")
    assert default_catalog("argos", HTTP).models


@pytest.mark.parametrize(
    ("fault", "option", "expected"),
    [
        ("html", None, "returned a web page"),
        ("redirect-loop", None, "more than 5 redirects"),
        ("redirect", "file:///etc/passwd", "redirects to file://"),
        ("cut", None, "was lost"),
        ("slow", 0.05, "bytes per second"),
        ("status", 503, "returned status 503"),
        ("status-long", 429, "requests to wait 9,000 seconds"),
    ],
)
def test_faults_of_a_host(
    fault: str, option: object, expected: str, server: ModelServer, own_cache: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_client, "TIMEOUT", 0.3)
    server.plant(INDEX, fault, option=option)
    with pytest.raises(DragomanError, match=expected) as caught:
        default_catalog("argos", HTTP)
    assert "\n" not in str(caught.value)
    assert not own_cache.exists()


@pytest.mark.parametrize("how", ["stated", "endless"])
def test_a_catalog_of_100_megabytes(how: str, server: ModelServer):
    server.files["/big.json"] = b"0" * 100_000_000
    if how == "endless":
        server.plant("/big", "endless")
    tracemalloc.start()
    with pytest.raises(DataError, match="must have at most 33,554,432 bytes"):
        read_catalog(f"{server.url}/big.json", HTTP)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80_000_000


def test_a_login_page_without_its_type(server: ModelServer):
    server.files["/x.json"] = PAGE
    with pytest.raises(DataError, match="returned a web page"):
        read_catalog(f"{server.url}/x.json", HTTP)


def test_a_search_in_catalogs_of_real_size_takes_less_than_a_second(server: ModelServer):
    languages = [f"{first}{second}" for first in "bcdfghjk" for second in "aeiou"] + [f"q{i}" for i in "abcdefghijklm"]
    for number, language in enumerate(languages[:52]):
        for source, target in ((language, "en"), ("en", language))[: 1 if number == 51 else 2]:
            files = {"model": f"{source}{target}".encode(), "vocab": b"v", "lex": language.encode()}
            server.add_firefox(source, target, files, scores={"bleu": 1.0}, records=number < 48)
    for number in range(1400):
        name = f"Helsinki-NLP/opus-mt-{languages[number % 53]}-{languages[number // 53]}"
        server.add_hub(name, {})
    assert (len(server.registry), len(server.records), len(server.repositories)) == (103, 288, 1400)
    for kind in ("firefox", "opus-mt"):
        default_catalog(kind, HTTP)
    requests, best, models = len(server.requests), 99.0, []
    for _ in range(3):
        began = time.perf_counter()
        models = [model for kind in ("firefox", "opus-mt") for model in default_catalog(kind).models]
        assert search(models, "qa")
        best = min(best, time.perf_counter() - began)
    assert (len(server.requests), len(search(models))) == (requests, 1503)
    assert best < 1, json.dumps(best)


def test_without_the_extra_the_command_that_installs_it_is_named(server: ModelServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment, "is_installed", lambda module: module != "httpx")
    with pytest.raises(MissingExtraError, match=r"needs the package httpx; install it with pip install .*\[get\]"):
        default_catalog("argos", HTTP)
