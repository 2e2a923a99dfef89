"""Error responses of routes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import httpx
import pytest
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from dragoman.errors import ConfigError, MissingExtraError
from dragoman.server.errors import Overloaded, RequestError, TooLarge
from dragoman.server.http.request_body import json_body
from dragoman.server.http.route_policy import Depends, Router, RouteTable, route_policy
from dragoman.server.request_types import NATIVE
from tests.server.asgi_calls import Caller


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=5)
    form: Literal["text", "html"] = "text"
    count: int = Field(default=0, ge=0)
    many: list[str] = Field(default_factory=list)


Body = Annotated[Asked, Depends(json_body(Asked))]

FAULTS = {
    "refused": RequestError("text must be short, got a lone \ud800; cut it"),
    "large": TooLarge("too large"),
    "busy": Overloaded("busy", retry_after=1.2),
    "config": ConfigError("beam must be at least 1, got 0; take 1"),
    "extra": MissingExtraError("torch must be installed"),
    "ours": RuntimeError("secret"),
}


def ask(path: str, **options: Any) -> httpx.Response:
    routes = Router()

    @routes.post("/ask")
    @route_policy("public")
    async def route(body: Body) -> Response:
        return Response(body.text)

    @routes.post("/fault/{name}")
    @route_policy("public")
    async def fault(request: Request) -> Response:
        raise FAULTS[request.path_params["name"]]

    call = Caller()
    call.app.routes = RouteTable((NATIVE, each) for each in routes.routes)
    return call.post(path, **options)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "text is missing; add it"),
        ({"text": "secret words"}, "text must have at most 5 characters, got text"),
        ({"text": 7}, "text must be text, got 7"),
        ({"text": "a", "form": "xml"}, "form must be one of text, html, got text"),
        ({"text": "a", "form": "tex"}, "form must be one of text, html, got text; did you mean text?"),
        ({"text": "a", "count": -1}, "count must be greater than or equal to 0, got -1"),
        ({"text": "a", "many": ["a", None]}, "many.1 must be text, got null"),
        ({"text": "a", "txet": "b"}, "txet is no known setting"),
        ([], "the body must be"),
    ],
)
def test_a_field_that_is_wrong_is_named_and_no_text_is_quoted(body: Any, told: str):
    response = ask("/ask", json=body)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["error"].startswith(told)
    assert "secret" not in response.text


def test_what_is_no_json():
    sent = {"content-type": "application/json"}
    assert "must be JSON" in ask("/ask", content=b'{"text": ', headers=sent).json()["error"]
    assert ask("/ask", content=b'{"text": "\xff"}', headers=sent).status_code == 400
    assert ask("/ask", content=b"[" * 100_000, headers=sent).status_code == 400
    other = ask("/ask", content=b"text=a", headers={"content-type": "text/plain"})
    assert (other.status_code, "application/json" in other.json()["error"]) == (415, True)


@pytest.mark.parametrize(
    ("name", "status"),
    [("refused", 400), ("large", 413), ("busy", 503), ("config", 400), ("extra", 501), ("ours", 500)],
)
def test_each_kind_has_its_status(name: str, status: int):
    response = ask(f"/fault/{name}")
    body = response.json()
    assert (response.status_code, body["status"]) == (status, status)
    assert response.headers.get("retry-after") == ("2" if name == "busy" else None)
    assert ("secret" in response.text, "request_id" in body) == (False, name == "ours")
