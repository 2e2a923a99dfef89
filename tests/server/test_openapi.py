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
        folder = tmp_path_factory.mktemp("documents")
        patch.setenv("TMPDIR", str(folder))
        with running({"database": f"sqlite:///{folder / 'memories.db'}"}) as started:
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


def test_operations_have_short_names_and_state_their_keys() -> None:
    operations = [operation for methods in DESCRIPTION["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{1,40}", name) for name in names)
    assert DESCRIPTION["components"]["securitySchemes"].keys() == {"bearer", "deepl"}
    signed = {operation["operationId"] for operation in operations if {"bearer": []} in operation.get("security", ())}
    assert {"translate", "v1_translate", "v2_document", "v1_models_reload"} <= signed
    assert not {"languages", "health", "v1_models"} & signed


def test_generators_of_clients_accept_every_schema() -> None:
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name) for name in DESCRIPTION["components"]["schemas"])
    for each in _objects(DESCRIPTION):
        assert "prefixItems" not in each
        assert len({type(value) for value in each["enum"]} if isinstance(each.get("enum"), list) else ()) <= 1
        properties = each.get("properties", {})
        assert all(value.get("type") != "null" and "title" not in value for value in properties.values())


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each)


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
