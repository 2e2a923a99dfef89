"""A real server behaves as `/openapi.json` describes, for every input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tests.server.asgi_calls import Caller
from tests.server.fake_server import running

DESCRIPTION: dict[str, Any] = Caller().get("/openapi.json").json()
schema = schemathesis.openapi.from_dict(DESCRIPTION)
OPERATIONS = [
    pytest.param(method, path, id=f"{method} {path}")
    for path, methods in DESCRIPTION["paths"].items()
    for method in methods
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:  # it is killed, and cannot delete the documents it keeps
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("documents")))
        with running() as started:
            yield started.url


@schema.parametrize()
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_response_is_described(case: schemathesis.Case, server: str) -> None:
    # The document does not list languages and models: a valid request may still name one that is not served.
    case.call_and_validate(base_url=server, excluded_checks=[positive_data_acceptance])


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_operation_has_a_description(method: str, path: str) -> None:
    operation = DESCRIPTION["paths"][path][method]

    assert operation.get("description") or operation.get("summary")
    assert operation["tags"]
    assert "422" not in operation["responses"]  # invalid requests have status 400
    assert "403" in operation["responses"] or path in {"/health", "/livez", "/readyz"}


def test_every_reference_leads_somewhere() -> None:
    found = set(re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(DESCRIPTION)))

    assert "Problem" in found
    assert found <= DESCRIPTION["components"]["schemas"].keys()


EXAMPLES = [
    pytest.param(path, example["value"], id=f"{path} {name}")
    for path, methods in DESCRIPTION["paths"].items()
    for name, example in methods.get("post", {})
    .get("requestBody", {})
    .get("content", {})
    .get("application/json", {})
    .get("examples", {})
    .items()
]


@pytest.mark.parametrize(("path", "body"), EXAMPLES)
def test_every_example_works(server: str, path: str, body: dict[str, Any]) -> None:
    assert httpx.post(f"{server}{path}", json=body).status_code == 200


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 8
