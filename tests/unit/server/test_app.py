"""The application: who may use each route, and which routes reserve capacity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI
from starlette.responses import Response
from starlette.routing import Route

from dragoman.server.access.api_keys import create_key
from dragoman.server.app import create_app
from dragoman.server.http.route_policy import PolicyTable, RouteAccess, route_policy
from dragoman.server.settings import ServerSettings
from tests.server.asgi_calls import Caller
from tests.server.fake_service import FakeService

WITHOUT_TRANSLATION = {"/detect", "/suggest", "/v1/models/reload"}
"""POST routes that translate nothing."""

HEALTH = {"/health", "/livez", "/readyz"}
PUBLIC = {
    *("/", "/assets/{name:path}", "/docs", "/openapi.json", *HEALTH),
    *("/download_file/{name}", "/frontend/settings", "/languages", "/suggest", "/v1/models"),
}
ACCESS: dict[str, RouteAccess] = {
    **dict.fromkeys(PUBLIC, "public"),
    **dict.fromkeys(("/translate", "/detect", "/translate_file"), "body_key"),
    **dict.fromkeys(("/v1/translate", "/v1/inspect", "/v2/translate", "/v2/languages", "/v2/usage"), "key"),
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
    "/v2/translate": {"json": {"text": ["Two dogs"], "target_lang": "DE"}},
}


def paths(**settings: Any) -> dict[str, dict[str, Any]]:
    app = create_app(FakeService(), ServerSettings(**settings)).app
    assert isinstance(app, FastAPI)
    found: dict[str, dict[str, Any]] = app.openapi()["paths"]
    return found


def routes() -> list[tuple[str, str]]:
    """Method and path template of every route."""
    policies = create_app(FakeService(), ServerSettings()).policies
    found = {path: policies.methods(path) - {"HEAD"} for path in policies.templates}
    return sorted((method, path) for path, methods in found.items() for method in methods)


def test_every_route_that_translates_reserves_capacity():
    policies = create_app(FakeService(), ServerSettings()).policies
    posted = {path for path, methods in paths().items() if "post" in methods}
    declared = {(path, policies.find(method, path)) for method, path in routes()}
    assert posted - WITHOUT_TRANSLATION == {path for path, policy in declared if policy and policy.translates}
    assert {path for path, policy in declared if policy and policy.is_upload} == {"/translate_file"}


def test_every_route_declares_who_may_use_it():
    policies = create_app(FakeService(), ServerSettings()).policies
    assert policies.health_paths == HEALTH
    built = {path for path in policies.templates if path not in ACCESS}  # files of the page, if it is built
    assert all("." in path for path in built)
    declared = {path: policies.find(method, path) for method, path in routes()}
    assert {path: policy and policy.access for path, policy in declared.items()} == ACCESS | dict.fromkeys(
        built, "public"
    )


def test_a_route_without_a_declaration_is_refused_at_start_up():
    router = APIRouter()

    @router.get("/new")
    async def new() -> Response:
        return Response("open")

    with pytest.raises(TypeError, match=r"every route must declare who may use it, got '/new'.*@route_policy"):
        PolicyTable(router.routes)
    with pytest.raises(TypeError, match="every route must declare"):
        PolicyTable([Route("/plain", new)])


def test_a_route_that_the_table_does_not_have_does_not_run():
    call = Caller()
    app = call.app.app
    assert isinstance(app, FastAPI)

    @app.get("/late")
    @route_policy("public")
    async def late() -> Response:
        raise AssertionError

    assert call.get("/late").status_code == 404


def test_a_route_that_does_not_check_the_key_of_its_body_gives_no_answer(tmp_path: Path):
    create_key(tmp_path / "keys", "anna")
    call = Caller(settings=ServerSettings(keys=str(tmp_path / "keys")))
    app, router = call.app.app, APIRouter()
    assert isinstance(app, FastAPI)

    @router.post("/careless")
    @route_policy("body_key")
    async def careless() -> Response:
        return Response("secret")

    app.include_router(router)
    call.app.policies = PolicyTable(router.routes)
    answer = call.post("/careless")
    assert answer.status_code == 500
    assert "secret" not in answer.text


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
            assert answer.json()["code"] == ("missing_key" if name == "none" and access != "metrics" else "forbidden")
        assert answer.status_code < 500
    wrong = call(method, address, headers={"authorization": "Bearer guess"}, **BODIES.get(path, {}))
    if path in HEALTH:
        assert wrong.status_code == 200
    else:
        assert (wrong.status_code, wrong.json()["code"]) == (403, "invalid_key")


def test_there_are_no_other_methods():
    assert {method for methods in paths().values() for method in methods} == {"get", "post"}


def test_every_path_has_a_policy():
    policies = create_app(FakeService(), ServerSettings()).policies
    assert {"/", "/docs", "/livez", "/metrics", "/translate", "/v1/translate"} <= policies.templates
    bare = create_app(FakeService(), ServerSettings(page=False, docs=False, metrics=False)).policies
    assert not {"/", "/docs", "/openapi.json", "/metrics"} & bare.templates
