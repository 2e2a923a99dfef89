"""The application: who may use each route, and which routes reserve capacity."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from dragoman.server.access.api_keys import create_key
from dragoman.server.app import create_app
from dragoman.server.http.request_body import BodyBuffer
from dragoman.server.http.route_policy import RouteAccess, Router, RouteTable, route_policy
from dragoman.server.request_types import NATIVE
from dragoman.server.settings import Limits, ServerSettings
from tests.server.asgi_calls import Caller
from tests.server.fake_service import FakeService

_DOCUMENT, _GLOSSARY = "/v2/document/{document_id}", "glossaries/{glossary_id}"
_MEMORIES, _UNIT = "/v3/translation_memories", "/v1/memories/{name}/units/{unit}"
_GOOGLE, _MICROSOFT = "/language/translate/v2", "/translator/text/v3.0"
_PROJECTS = ("/v3/projects/{project}", "/v3/projects/{project}/locations/{location}")
WITHOUT_TRANSLATION = {
    *("/detect", "/suggest", "/v1/models/reload", "/v2/glossaries", "/v3/glossaries", _DOCUMENT, f"{_DOCUMENT}/result"),
    *("/v1/corrections", f"{_MEMORIES}/import", f"{_MEMORIES}/{{memory}}/export"),
    *(f"{_GOOGLE}/detect", *(f"{path}:detectLanguage" for path in _PROJECTS), f"{_MICROSOFT}/detect"),
}
"""POST routes that translate nothing."""

HEALTH = {"/health", "/livez", "/readyz"}
PUBLIC = {
    *("/", "/assets/{name:path}", "/docs", "/openapi.json", "/spec", *HEALTH),
    *("/download_file/{name}", "/frontend/settings", "/languages", "/v1/models"),
    *(f"{_MICROSOFT}/languages", f"{_MEMORIES}/jobs/{{job}}/file"),
}
ACCESS: dict[str, RouteAccess] = {
    **dict.fromkeys(PUBLIC, "public"),
    **dict.fromkeys(("/translate", "/detect", "/translate_file"), "body_key"),
    **dict.fromkeys(("/v2/translate", "/v2/languages", "/v2/usage", "/v2/document"), "body_key"),
    **dict.fromkeys((_DOCUMENT, f"{_DOCUMENT}/result"), "body_key"),
    **dict.fromkeys((_GOOGLE, f"{_GOOGLE}/detect", f"{_GOOGLE}/languages"), "body_key"),
    **{path + end: "body_key" for path in _PROJECTS for end in (":translateText", ":detectLanguage")},
    **{f"{path}/supportedLanguages": "body_key" for path in _PROJECTS},
    **dict.fromkeys((f"{_MICROSOFT}/translate", f"{_MICROSOFT}/detect"), "body_key"),
    **dict.fromkeys(("/deeplx/translate", "/immersive", "/kiss"), "body_key"),
    **dict.fromkeys(("/v1/translate", "/v1/inspect", "/v1/chat/completions"), "key"),
    **dict.fromkeys(("/v2/glossary-language-pairs", "/v2/glossaries", "/v3/glossaries"), "key"),
    **dict.fromkeys((f"/v2/{_GLOSSARY}", f"/v2/{_GLOSSARY}/entries", f"/v3/{_GLOSSARY}"), "key"),
    **dict.fromkeys((f"/v3/{_GLOSSARY}/entries", f"/v3/{_GLOSSARY}/dictionaries"), "key"),
    **dict.fromkeys(
        (
            "/v1/effort",
            "/v1/data",
            "/v1/corrections",
            "/v1/memories",
            "/v1/memories/{name}",
            "/v1/memories/{name}/units",
            _UNIT,
        ),
        "key",
    ),
    **dict.fromkeys(("/tmserver/languages/", "/tmserver/{source}/{target}/unit/{text:lines}"), "key"),
    **{f"{_MEMORIES}{end}": "key" for end in ("", "/import", "/jobs/{job}", "/{memory}", "/{memory}/export")},
    f"{_MEMORIES}/{{memory}}/segments": "key",
    "/suggest": "body_key",
    "/v1/models/reload": "admin",
    "/metrics": "metrics",
}
"""Who may use each route; a new route needs an entry here."""
BODIES: dict[str, dict[str, Any]] = {
    "/translate": {"json": {"q": "Two dogs", "source": "en", "target": "de"}},
    "/detect": {"json": {"q": "Two dogs"}},
    "/translate_file": {"files": {"file": ("a.txt", b"Two dogs")}, "data": {"source": "en", "target": "de"}},
    "/v1/translate": {"json": {"text": "Two dogs", "source": "en", "target": "de"}},
    "/v1/inspect": {"json": {"text": "Two dogs", "source": "en", "target": "de"}},
    "/v1/chat/completions": {"json": {"model": "en:de", "messages": [{"role": "user", "content": "Two dogs"}]}},
    "/v2/translate": {"json": {"text": ["Two dogs"], "target_lang": "DE"}},
    **{key: {"json": {"document_key": "x"}} for key in (_DOCUMENT, f"{_DOCUMENT}/result")},
    "/v2/document": {"files": {"file": ("a.txt", b"Two dogs")}, "data": {"target_lang": "DE"}},
    _GOOGLE: {"json": {"q": "Two dogs", "target": "de"}},
    f"{_GOOGLE}/detect": {"json": {"q": "Two dogs"}},
    **{f"{path}:translateText": {"json": {"contents": ["Two"], "targetLanguageCode": "de"}} for path in _PROJECTS},
    **{f"{path}:detectLanguage": {"json": {"content": "Two dogs"}} for path in _PROJECTS},
    f"{_MICROSOFT}/translate": {"json": [{"Text": "Two dogs"}], "params": {"to": "de"}},
    f"{_MICROSOFT}/detect": {"json": [{"Text": "Two dogs"}]},
    "/deeplx/translate": {"json": {"text": "Two dogs", "target_lang": "DE"}},
    "/immersive": {"json": {"text_list": ["Two dogs"], "target_lang": "de"}},
    "/kiss": {"json": {"text": "Two dogs", "to": "de"}},
}
TRANSLATING = sorted(set(BODIES) - WITHOUT_TRANSLATION - {"/detect"})
JSON_ONLY = {path for path in BODIES if path.startswith(("/v3/", _MICROSOFT, "/deeplx", "/immersive", "/kiss"))}


def paths(**settings: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = create_app(FakeService(), ServerSettings(**settings)).openapi()["paths"]
    return found


def routes() -> list[tuple[str, str]]:
    """Method and path template of every route."""
    policies = create_app(FakeService(), ServerSettings()).routes
    found = {path: policies.methods(path) - {"HEAD"} for path in policies.templates}
    return sorted((method, path) for path, methods in found.items() for method in methods)


def test_a_start_imports_neither_fastapi_nor_sqlalchemy() -> None:
    """They take a third of its time; the description of the API and the database need them later."""
    code = """
import sys
import dragoman.server.run
from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
app = create_app(None, ServerSettings())
print([name for name in ("fastapi", "sqlalchemy", "rapidfuzz") if name in sys.modules], len(app.routes.templates) > 50)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"


def test_every_route_that_translates_reserves_capacity():
    policies = create_app(FakeService(), ServerSettings()).routes
    posted = {path for path, methods in paths().items() if "post" in methods}
    declared = {(path, policies.find(method, path)) for method, path in routes()}
    assert posted - WITHOUT_TRANSLATION == {path for path, policy in declared if policy and policy.translates}
    assert posted - WITHOUT_TRANSLATION == set(TRANSLATING)
    assert {path for path, policy in declared if policy and policy.is_upload} == {
        *("/translate_file", "/v2/document", "/v1/memories/{name}", f"{_MEMORIES}/jobs/{{job}}/file")
    }


def test_every_route_declares_who_may_use_it():
    policies = create_app(FakeService(), ServerSettings()).routes
    assert policies.health_paths == HEALTH
    built = {path for path in policies.templates if path not in ACCESS}  # files of the page, if it is built
    assert all("." in path for path in built)
    declared = {path: policies.find(method, path) for method, path in routes()}
    assert {path: policy and policy.access for path, policy in declared.items()} == ACCESS | dict.fromkeys(
        built, "public"
    )


STORED = {
    *(("POST", path) for path in ("/v2/document", _DOCUMENT, f"{_DOCUMENT}/result", "/v1/models/reload")),
    *(("POST", "/v2/glossaries"), ("POST", "/v3/glossaries"), ("PATCH", f"/v3/{_GLOSSARY}")),
    *(("DELETE", f"/v2/{_GLOSSARY}"), ("DELETE", f"/v3/{_GLOSSARY}")),
    *(("PUT", f"/v3/{_GLOSSARY}/dictionaries"), ("DELETE", f"/v3/{_GLOSSARY}/dictionaries")),
}
"""Routes that change what the server stores."""


def test_a_request_takes_capacity_when_its_body_has_arrived():
    call = Caller()
    seen: list[bool] = []

    async def body() -> AsyncIterator[bytes]:
        seen.extend(each.is_expected for each in call.service.reservations)
        yield b'{"q": "Two dogs", "source": "en", "target": "de"}'

    answer = call.post("/translate", content=body(), headers={"content-type": "application/json"})
    assert (answer.status_code, seen) == (200, [False])
    assert [each.is_expected for each in call.service.reservations] == [True]


EVIL: dict[str, str] = {"origin": "https://evil.example"}
"""Headers of a page of another origin."""
GLOSSARY = {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "dogs\tHunde", "entries_format": "tsv"}


@pytest.mark.parametrize("origins", ["*", "https://good.example"])
def test_a_form_of_another_site_changes_nothing(origins: str):
    call = Caller(settings=ServerSettings(origins=(origins,)))
    posts = {path for method, path in STORED if method == "POST"} - {"/v1/models/reload"}  # needs a key
    kinds = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain;charset=utf-8")
    for path in (*posts, "/translate_file"):
        for kind in kinds:
            for more in ({}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}):
                headers = EVIL | {"content-type": kind} | more
                answer = call.post(path.replace("{", "").replace("}", ""), content=b"a=b", headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (403, "cross_site"), (path, kind)
    assert call.post("/v2/glossaries", data=GLOSSARY, headers=EVIL).status_code == 403
    assert call.post("/v2/glossaries", data=GLOSSARY, headers={"origin": "null"}).status_code == 403
    basic = EVIL | {"authorization": "Basic eDp5"}  # browsers add it where a proxy requires it
    assert call.post("/v2/glossaries", data=GLOSSARY, headers=basic).status_code == 403
    assert call.get("/v3/glossaries", headers=EVIL).json() == {"glossaries": []}
    assert not call.service.reservations


@pytest.mark.parametrize(
    "headers",
    [
        {},  # a program, such as the package deepl
        {"sec-fetch-mode": "cors"},  # Node
        {"origin": "http://127.0.0.1:5000"},
        {"origin": "https://translate.example.org", "host": "translate.example.org"},  # behind a proxy with TLS
        {"origin": "http://localhost:8080", "host": "localhost"},  # nginx's $host has no port
        {"origin": "https://translate.example.org", "sec-fetch-site": "same-origin"},
        {"origin": "http://lan.example", "x-forwarded-host": "lan.example"},
        {"sec-fetch-site": "none", "origin": "moz-extension://1"},
        {"origin": "https://good.example", "sec-fetch-site": "cross-site"},
    ],
)
def test_programs_the_own_page_and_allowed_origins_send_forms(headers: dict[str, str]):
    settings = ServerSettings(origins=("https://good.example",), hosts=("translate.example.org",), trust_proxy=True)
    assert Caller(settings=settings).post("/v2/glossaries", data=GLOSSARY, headers=headers).status_code == 201


def test_pages_of_other_origins_are_limited_to_allowed_ones(tmp_path: Path):
    key = create_key(tmp_path / "keys", "anna")
    everyone, named = Caller(), Caller(settings=ServerSettings(origins=("https://good.example",)))
    signed = Caller(settings=ServerSettings(keys=str(tmp_path / "keys"), origins=("https://good.example",)))

    made = everyone.post("/v2/glossaries", json=GLOSSARY).json()["glossary_id"]
    for method, path in STORED - {("POST", "/v1/models/reload")}:  # also after a preflight, which allows every origin
        path = path.replace("{glossary_id}", made).replace("{document_id}", "x")
        refused = everyone(method, path, json=GLOSSARY, headers=EVIL)
        assert (refused.status_code, refused.json()["code"]) == (403, "cross_site"), (method, path)
    assert [each["glossary_id"] for each in everyone.get("/v3/glossaries").json()["glossaries"]] == [made]
    assert everyone.post("/translate", **BODIES["/translate"], headers=EVIL).status_code == 200
    short = ("/translate?api-version=3.0&to=de", {"json": [{"Text": "Two dogs"}]})
    for path, body in (*((path, BODIES[path]) for path in TRANSLATING), short):
        refused = named.post(path, **body, headers=EVIL)
        assert (refused.status_code, code_of(refused)) == (403, "cross_site"), path
    by_address = f"{_GOOGLE}?q=Two&target=de"  # a page can request it as an image, without a preflight
    refused = named.get(by_address, headers={"sec-fetch-site": "cross-site"})
    assert (refused.status_code, code_of(refused)) == (403, "cross_site")
    assert not named.service.reservations
    assert everyone.get(by_address, headers=EVIL).status_code == named.get(by_address).status_code == 200
    assert named("DELETE", "/v3/glossaries/x", headers=EVIL).status_code == 403
    assert named.get("/languages", headers=EVIL).status_code == 200
    bearer = EVIL | {"authorization": f"Bearer {key}"}
    assert signed.post("/v2/glossaries", data=GLOSSARY, headers=bearer).status_code == 201
    in_body = {"data": {"q": "Two dogs", "source": "en", "target": "de", "api_key": key}}
    assert signed.post("/translate", **in_body, headers=EVIL).status_code == 200


def test_a_replica_rejects_what_is_about_one_process():
    policies = create_app(FakeService(), ServerSettings()).routes
    declared = {each for each in routes() if (policy := policies.find(*each)) and policy.is_of_one_process}
    assert declared == {("GET", "/metrics"), ("POST", "/v1/models/reload")}  # the latter needs a key
    call = Caller(is_replica=True)
    answer = call.get("/metrics")
    assert (answer.status_code, answer.json()["code"]) == (501, "single_process_only")
    assert call.get("/v2/usage").status_code == 200
    assert call.post("/translate", **BODIES["/translate"]).status_code == 200
    assert "translatedFileUrl" in call.post("/translate_file", **BODIES["/translate_file"]).json()


def test_changes_are_declared():
    policies = create_app(FakeService(), ServerSettings()).routes
    assert {each for each in STORED if (policy := policies.find(*each)) and policy.changes_state} == STORED


def test_a_route_without_a_declaration_is_refused_at_start_up():
    router = Router()

    @router.get("/new")
    async def new() -> Response:
        return Response("open")

    with pytest.raises(TypeError, match=r"every route must declare who may use it, got '/new'.*@route_policy"):
        RouteTable((NATIVE, each) for each in router.routes)


GARBAGE = {
    "application/json": b'{"q": [',
    "application/x-www-form-urlencoded": b"q=%ff&" * 2000,
    "multipart/form-data; boundary=x": b"--x\r\nnonsense",
    "text/plain": b"?",
}
PROTECTED = sorted(path for path, access in ACCESS.items() if access in ("key", "body_key") and path in BODIES)


def code_of(answer: httpx.Response) -> str:
    """Return the code of an error; some dialects have an object, and a code of their own."""
    body = answer.json()
    error = body["error"] if isinstance(body.get("error"), dict) else body
    return str(error["errors"][0]["reason"] if "errors" in error else error.get("reason", error["code"]))


def key_fields(path: str) -> tuple[bytes, ...]:
    """Return the fields of the query or the body that may have the key."""
    policy = create_app(FakeService(), ServerSettings()).routes.find("POST", path)
    assert policy is not None
    return policy.dialect.key_fields


@pytest.mark.parametrize("path", PROTECTED)
def test_without_a_valid_key_no_place_is_taken_and_no_body_is_parsed(path: str, tmp_path: Path):
    create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    for kind, content in GARBAGE.items():
        for headers in ({}, {"authorization": "Bearer guess"}):
            answer = call.post(path, content=content, headers={"content-type": kind} | headers)
            assert answer.status_code == 403, (kind, answer.text)
    name = key_fields(path)[0]
    wrong = call.post(path, content=b'{"%s": "guess", "q": 7' % name, headers={"content-type": "application/json"})
    assert code_of(wrong) == ("invalid_key" if ACCESS[path] == "body_key" else "missing_key")
    assert not call.service.reservations
    assert call.app.bodies.held == call.app.keyless_bodies.held == 0


@pytest.mark.parametrize("path", [path for path in PROTECTED if ACCESS[path] == "body_key"])
def test_a_key_in_the_body_or_the_query_is_accepted(path: str, tmp_path: Path):
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    accepted = 404 if path.startswith(_DOCUMENT) else 200  # there is no document
    for name in map(bytes.decode, key_fields(path)):
        for given, status in ((key, accepted), ("guess", 403)):
            query = {"params": BODIES[path].get("params", {}) | {name: given}}
            assert call.post(path, **BODIES[path] | query).status_code == status
        form = BODIES[path].get("data") or BODIES[path]["json"]
        if path in JSON_ONLY:
            assert isinstance(form, list) or call.post(path, json=form | {name: key}).status_code == 200, name
            continue
        files = {"files": BODIES[path]["files"]} if "files" in BODIES[path] else {}
        assert call.post(path, data=form | {name: key}, **files).status_code == accepted
        if not files:
            assert call.post(path, json=form | {name: key}).status_code == accepted
    assert call.post(path, **BODIES[path]).status_code == 403


@pytest.mark.parametrize(
    ("path", "header"),
    [
        (_GOOGLE, "X-Goog-Api-Key"),
        (f"{_PROJECTS[0]}:translateText", "x-goog-api-key"),
        (f"{_MICROSOFT}/translate", "Ocp-Apim-Subscription-Key"),
    ],
)
def test_a_key_in_the_header_of_a_dialect_is_accepted_there_only(path: str, header: str, tmp_path: Path):
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys"), origins=("https://good.example",)))
    assert call.post(path, **BODIES[path], headers={header: key}).status_code == 200
    assert call.post(path, **BODIES[path], headers={header: key} | EVIL).status_code == 200
    assert code_of(call.post(path, **BODIES[path], headers={header: "guess"})) == "invalid_key"
    assert call.post("/v1/translate", **BODIES["/v1/translate"], headers={header: key}).status_code == 403
    assert len(call.service.reservations) == 2


def test_bodies_without_a_known_key_have_a_memory_of_their_own(tmp_path: Path):
    key = create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    call.app.keyless_bodies = BodyBuffer(10)
    body = {"q": "Two dogs", "source": "en", "target": "de"}
    assert call.post("/translate", json=body | {"api_key": key}).status_code == 503
    assert call.post("/translate", json=body, headers={"authorization": f"Bearer {key}"}).status_code == 200


def test_only_a_served_request_is_reported_as_served():
    call = Caller()
    assert call.post("/translate", json={"q": "Two dogs", "source": "en", "target": "de"}).status_code == 200
    assert call.post("/translate", json={"q": "Two dogs", "source": "en", "target": "xx"}).status_code == 400
    call.service.fault = RuntimeError("an engine")
    assert call.post("/translate", json={"q": "Two dogs", "source": "en", "target": "de"}).status_code == 500
    assert [each.is_served for each in call.service.reservations] == [True, False, False]
    assert all(each.is_released for each in call.service.reservations)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/detect", {"q": "hello " * 9}),
        ("/translate", {"q": "hello", "source": "en", "target": "en"}),  # returned unchanged
        ("/translate", {"q": "12345678", "source": "en", "target": "de"}),
        ("/translate", {"q": "hello", "source": "en", "target": "xx"}),  # rejected
        ("/v1/translate", {"text": 7}),
        ("/v2/translate", {"text": ["hello"] * 65, "target_lang": "DE"}),
        (f"{_GOOGLE}/detect", {"q": ["hello " * 9] * 2}),
        (f"{_GOOGLE}?q=hello+there&target=de", {}),
        ("/v3/projects/p:detectLanguage", {"content": "hello " * 9}),
        ("/v3/projects/p:translateText", {"contents": ["hello"] * 65, "targetLanguageCode": "de"}),
        ("/detect?api-version=3.0", [{"Text": "hello " * 9}]),
        ("/translate?api-version=3.0&to=de", [{"Text": "hello there"}]),
        *((path, BODIES[path]["json"]) for path in ("/deeplx/translate", "/immersive", "/kiss")),
    ],
)
def test_every_request_of_a_protected_route_counts(path: str, body: Any):
    call = Caller(settings=ServerSettings(limits=Limits(tokens_per_minute=3)))
    found = [call.post(path, json=body).status_code for _ in range(4)]
    assert found[0] in (200, 400, 413)
    assert found[-1] == 429


@pytest.mark.parametrize(("method", "path"), routes())
def test_every_route_with_and_without_a_key(method: str, path: str, tmp_path: Path):
    file = tmp_path / "keys"
    keys = {"none": "", "plain": create_key(file, "anna"), "admin": create_key(file, "ops", ["admin", "metrics"])}
    call = Caller(settings=ServerSettings(keys=str(file), trust_proxy=True))
    access = ACCESS.get(path, "public")
    allowed = {"public": {"none", "plain", "admin"}, "admin": {"admin"}, "metrics": {"admin"}}.get(
        access, {"plain", "admin"}
    )
    address = path.replace("{name:path}", "x").replace("{name}", "x")
    for name, key in keys.items():
        headers = {"x-forwarded-for": "192.0.2.1"} | ({"authorization": f"Bearer {key}"} if key else {})
        answer = call(method, address, headers=headers, **BODIES.get(path, {}))
        assert (answer.status_code == 403) == (name not in allowed), (name, answer.text)
        if answer.status_code == 403:
            assert not call.service.requests
            assert code_of(answer) == ("missing_key" if name == "none" and access != "metrics" else "forbidden")
        assert answer.status_code < 500
    wrong = call(method, address, headers={"authorization": "Bearer guess"}, **BODIES.get(path, {}))
    if path in HEALTH:
        assert wrong.status_code == 200
    else:
        assert (wrong.status_code, code_of(wrong)) == (403, "invalid_key")


def test_there_are_no_other_methods():
    assert {method for methods in paths().values() for method in methods} == {"delete", "get", "patch", "post", "put"}


def test_every_path_has_a_policy():
    policies = create_app(FakeService(), ServerSettings()).routes
    assert {"/", "/docs", "/livez", "/metrics", "/translate", "/v1/translate"} <= policies.templates
    bare = create_app(FakeService(), ServerSettings(page=False, docs=False, metrics=False)).routes
    assert not {"/", "/docs", "/openapi.json", "/metrics"} & bare.templates


def test_an_endpoint_takes_the_request_and_dependencies_on_it():
    router = Router()

    @router.get("/query")
    @route_policy("public")
    async def query(number: int) -> Response:
        return Response(str(number))

    with pytest.raises(TypeError, match="/query: number must be the request or Annotated"):
        RouteTable((NATIVE, each) for each in router.routes)
