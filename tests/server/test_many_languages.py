"""A server with a model of 202 languages, as NLLB has: lists of 40,602 directions are quick and small enough."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from babel import Locale

from dragoman.api.translation.multi_model.routing import RoutingTable
from dragoman.bundle import Bundle, write_bundle
from dragoman.config import load_config, parse_config
from dragoman.language_codes import is_known_language, language_key
from dragoman.models import build_model
from dragoman.server.models.routing import Languages, find_route, routes_of_model
from dragoman.server.models.served_model import ServedModel
from dragoman.text import train_sentencepiece
from testkit.random_bundle import TRANSFORMER, words
from tests.server.running_server import running_server

LANGUAGES = 202
DIRECTIONS = LANGUAGES * (LANGUAGES - 1)
SECONDS = 1.0


def codes() -> list[str]:
    """Languages that differ, the usual ones first."""
    found = {language_key(code): code for code in ("en", "de", "fr")}
    for code in sorted(Locale("en").languages):
        if code.isalpha() and is_known_language(code):
            found.setdefault(language_key(code), code)
    return list(found.values())[:LANGUAGES]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    languages = codes()
    assert len(languages) == LANGUAGES
    tokenizer = train_sentencepiece(
        [" ".join(words(seed, 8)) for seed in range(200)],
        size=600,
        control_tokens=[f"<2{code}>" for code in languages],
    )
    data = {"source": "en", "target": "de", "languages": languages, "language_tokens": "both"}
    base = load_config("vaswani2017-desk", [*TRANSFORMER, "tokenizer.size=600", "tokenizer.joint=true"])
    config = parse_config(base.model_dump(exclude_none=True) | {"data": data})
    model = build_model(config.model, tokenizer.size, tokenizer.size, seed=1)
    weights = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}
    both = {"source": tokenizer, "target": tokenizer}
    return write_bundle(tmp_path_factory.mktemp("many") / "bundle", config, weights, both, "# Never trained\n")


@pytest.fixture(scope="module")
def server(bundle: Bundle) -> Iterator[str]:
    with running_server(bundle.folder) as address:
        yield address


def fetch(server: str, path: str) -> tuple[float, httpx.Response]:
    """The response, and the seconds of the fastest of four requests."""
    found: list[tuple[float, httpx.Response]] = []
    with httpx.Client(timeout=60) as client:
        for _ in range(4):
            start = time.perf_counter()
            answer = client.get(f"{server}{path}")
            found.append((time.perf_counter() - start, answer))
    assert {answer.status_code for _, answer in found} == {200}
    return min(found, key=lambda each: each[0])


@pytest.mark.parametrize(
    ("path", "kilobytes"), [("/languages", 500), ("/v2/languages?type=source", 50), ("/v1/models", 6000)]
)
def test_lists_are_quick_and_small(server: str, path: str, kilobytes: int):
    seconds, answer = fetch(server, path)
    print(path, f"{seconds:.3f} s, {len(answer.content):,} bytes")
    assert seconds < SECONDS
    assert len(answer.content) < kilobytes * 1000


def test_a_long_list_is_compressed_for_clients_that_accept_it(server: str):
    with httpx.Client(timeout=60) as client:
        sent = {}
        for encoding in ("gzip", "identity", "gzip;q=0"):
            with client.stream("GET", f"{server}/v1/models", headers={"accept-encoding": encoding}) as answer:
                size = sum(map(len, answer.iter_raw()))
            assert answer.headers["vary"] == "Accept-Encoding"
            sent[encoding] = (answer.headers.get("content-encoding"), size)
    print(sent)
    assert sent["gzip"][0] == "gzip"
    assert sent["gzip"][1] < 0.1 * sent["identity"][1]
    assert sent["identity"] == sent["gzip;q=0"]
    assert sent["identity"][0] is None


def test_requests_are_answered_in_every_form(server: str):
    for body in (
        {"source": "en", "target": "de"},
        {"source": "auto", "target": "de"},
        {"source": "fr", "target": "EN"},
    ):
        answer = httpx.post(f"{server}/translate", json={"q": "abc def", **body}, timeout=60)
        assert answer.status_code == 200, answer.text


def test_routes_are_found_without_comparing_all(bundle: Bundle):
    """Comparing each direction with each takes minutes; other threads, such as those of the server, do not count."""
    start = time.thread_time()
    model = ServedModel("m", bundle.folder, bundle, "")
    assert len(model.info().directions) == DIRECTIONS
    table = RoutingTable.build({"m": model.directions})
    languages = Languages(table.all)
    assert len(table.all) == DIRECTIONS
    print(f"routes of {DIRECTIONS:,} directions: {time.thread_time() - start:.2f} s")
    assert time.thread_time() - start < 5 * SECONDS, "once, at the start"
    start = time.thread_time()
    assert languages.match_pair("en", "de-AT") == ("en", "de")
    assert len(languages.to_target("deu")) == LANGUAGES
    assert len([languages.listed_code(code) for _ in range(LANGUAGES) for code in languages.codes]) == LANGUAGES**2
    assert find_route(table, "eng", "de-AT").target == "de"
    print(f"languages of a request: {time.thread_time() - start:.2f} s")
    assert time.thread_time() - start < 5 * SECONDS
    start = time.thread_time()
    assert len(routes_of_model("m", table.directions, None, "de")) == LANGUAGES - 1
    print(f"routes of a named model: {time.thread_time() - start:.2f} s")
    assert time.thread_time() - start < 5 * SECONDS
