"""The application: every route that translates reserves capacity, and no route has another method."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from dragoman.server.app import create_app
from dragoman.server.settings import ServerSettings
from tests.server.fake_service import FakeService

WITHOUT_TRANSLATION = {"/detect", "/suggest", "/v1/models/reload"}
"""POST routes that translate nothing."""


def paths(**settings: Any) -> dict[str, dict[str, Any]]:
    app = create_app(FakeService(), ServerSettings(**settings)).app
    assert isinstance(app, FastAPI)
    found: dict[str, dict[str, Any]] = app.openapi()["paths"]
    return found


def test_every_route_that_translates_reserves_capacity():
    policies = create_app(FakeService(), ServerSettings()).policies
    posted = {path for path, methods in paths().items() if "post" in methods}
    assert posted - WITHOUT_TRANSLATION == {path for path, policy in policies.items() if policy.translates}
    assert {path for path, policy in policies.items() if policy.is_upload} == {"/translate_file"}


def test_there_are_no_other_methods():
    assert {method for methods in paths().values() for method in methods} == {"get", "post"}


def test_every_path_has_a_policy():
    policies = create_app(FakeService(), ServerSettings()).policies
    assert {"/", "/docs", "/livez", "/metrics", "/translate", "/v1/translate"} <= policies.keys()
    bare = create_app(FakeService(), ServerSettings(page=False, docs=False, metrics=False)).policies
    assert not {"/", "/docs", "/openapi.json", "/metrics"} & bare.keys()
