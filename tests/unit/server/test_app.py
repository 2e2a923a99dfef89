"""All routes together: none that translates goes by the guard, and none that only reads changes anything."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from dragoman.server import guard as guard_module
from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
from tests.server.fake_service import FakeService

WITHOUT_A_PLACE = {"/detect", "/suggest", "/v1/models/reload"}
"""What is posted and translates nothing."""


def paths(**settings: Any) -> dict[str, dict[str, Any]]:
    app = create_app(FakeService(), ServerSettings(**settings)).app
    assert isinstance(app, FastAPI)
    found: dict[str, dict[str, Any]] = app.openapi()["paths"]
    return found


def test_every_route_that_translates_takes_a_place_first():
    posted = {path for path, methods in paths().items() if "post" in methods}
    assert posted - WITHOUT_A_PLACE - {"/v2/usage", "/v2/languages"} == guard_module._TRANSLATING
    assert guard_module._WITH_FILES < guard_module._TRANSLATING


def test_there_are_no_other_methods():
    assert {method for methods in paths().values() for method in methods} == {"get", "post"}


def test_templates_are_known():
    guard = create_app(FakeService(), ServerSettings())
    assert {"/", "/docs", "/livez", "/metrics", "/translate", "/v1/translate"} <= guard.templates
    bare = create_app(FakeService(), ServerSettings(page=False, docs=False, metrics=False))
    assert not {"/", "/docs", "/openapi.json", "/metrics"} & bare.templates
