"""The page of all HTTP routes, from the server's OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]


def openapi_page(path: Path) -> str:
    """Return the routes as Markdown, by API."""
    document = json.loads(path.read_text(encoding="utf-8"))
    schemas = document.get("components", {}).get("schemas", {})
    groups: dict[str, list[str]] = {}
    for route, methods in document["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append(_operation(method, route, operation, schemas))
    return "\n".join(f"## {name}\n\n" + "\n".join(found) for name, found in groups.items())


def _operation(method: str, route: str, operation: Schema, schemas: Schema) -> str:
    lines = [f"### `{method.upper()} {route}`", "", operation.get("description") or f"{operation['summary']}.", ""]
    rows = [
        (parameter["name"], parameter["in"], _type(parameter["schema"], schemas), parameter.get("description", ""))
        for parameter in operation.get("parameters", ())
    ]
    bodies = operation.get("requestBody", {}).get("content", {})
    for schema in list(bodies.values())[:1]:
        rows += [(*row[:1], "body", *row[1:]) for row in _fields(schema.get("schema", {}), schemas)]
    if rows:
        lines += ["| name | in | type | meaning |", "|---|---|---|---|"]
        lines += [f"| `{name}` | {where} | {kind} | {_cell(text)} |" for name, where, kind, text in rows]
        lines.append("")
    if bodies:
        lines += [f"Body: {', '.join(f'`{kind}`' for kind in bodies)}.", ""]
    answers = [
        f"| {status} | {_cell(answer.get('description', ''))} |"
        for status, answer in sorted(operation["responses"].items())
    ]
    return "\n".join([*lines, "| status | meaning |", "|---|---|", *answers, ""])


def _fields(schema: Schema, schemas: Schema) -> Iterator[tuple[str, str, str]]:
    schema = _resolved(schema, schemas)
    for name, field in schema.get("properties", {}).items():
        required = "" if name in schema.get("required", ()) else ", optional"
        yield name, _type(field, schemas) + required, field.get("description", "")


def _resolved(schema: Schema, schemas: Schema) -> Schema:
    reference = schema.get("$ref", "").rpartition("/")[2]
    return schemas[reference] if reference else schema


def _type(schema: Schema, schemas: Schema) -> str:
    schema = _resolved(schema, schemas)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(each, schemas) for each in options if each.get("type") != "null"))
    if values := schema.get("enum"):
        return " or ".join(f"`{value}`" for value in values if value != "") or "string"
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "any")
    return f"list of {_type(schema['items'], schemas)}" if kind == "array" and "items" in schema else str(kind)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
