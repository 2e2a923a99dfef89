"""Routes `/openapi.json`, LibreTranslate's `/spec`, and `/docs`, an API page without scripts whose examples work."""

import asyncio
import base64
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup, escape
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from dragoman.language_codes import equivalent_languages, primary_language
from dragoman.reporting.html import read_asset, render
from dragoman.server.http.headers import CachedJson
from dragoman.server.http.route_policy import Router, route_policy
from dragoman.server.models.routing import Languages
from dragoman.server.routes.libretranslate import LIBRETRANSLATE
from dragoman.server.routes.openapi import JSON

_STYLE = read_asset("api.css")
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"


_SENTENCES: dict[str, dict[str, str]] = json.loads(read_asset("api_examples.json"))
"""Three sentences by language, the second also with a word in bold, and that word."""
_PLACEHOLDERS = dict.fromkeys(_SENTENCES["en"], "TEXT") | {"dogs": "TERM"}


def example_for(value: Any, source: str, target: str) -> Any:
    """Return the body of an example, from English to German, for another language pair."""
    if isinstance(value, list):
        return [example_for(each, source, target) for each in value]
    if isinstance(value, str):
        return _translated(value, _sentences(source))
    if not isinstance(value, dict):
        return value
    codes = {
        "source": source,
        "target": target,
        "source_lang": source.upper(),
        "target_lang": target.upper(),
        "model": f"{source}:{target}",
        "glossary": {_sentences(source)["dogs"]: _sentences(target)["dogs"], "Anna": None},
    }
    return {
        name: codes[name] if name in codes and each != "auto" else example_for(each, source, target)
        for name, each in value.items()
    }


def _sentences(code: str) -> dict[str, str]:
    codes = (*equivalent_languages(code), primary_language(code))
    return next((_SENTENCES[each] for each in codes if each in _SENTENCES), _PLACEHOLDERS)


def _translated(text: str, sentences: Mapping[str, str]) -> str:
    for name in ("snow", "bold", "play", "sleep"):
        text = text.replace(_SENTENCES["en"][name], sentences[name])
    return text


def router(describe: Callable[[], Mapping[str, Any]], languages: Callable[[], Languages]) -> Router:
    """Return the routes that describe all other routes. The examples on the page use a served pair."""
    routes = Router(include_in_schema=False)

    made, encoded = asyncio.Lock(), dict[str, CachedJson]()

    def encode() -> None:
        for path, value in (("/spec", _libretranslate_spec(describe())), ("/openapi.json", describe())):
            encoded[path] = CachedJson(to_json(value))

    @routes.get("/openapi.json")
    @routes.get("/spec")
    @route_policy("public")
    async def openapi(request: Request) -> Response:
        async with made:  # once, and in a thread: it takes up to a second, and every client may ask
            if not encoded:
                await asyncio.to_thread(encode)
        return await encoded[request.scope["path"]].response(request)

    @routes.get("/docs")
    @route_policy("public")
    async def docs(request: Request) -> Response:
        # The parsed URL is not used: a Host header may contain what no URL may.
        address = f"{request.scope['scheme']}://{request.headers.get('host', '127.0.0.1')}"
        pair = next(((each.source, each.target) for each in languages().routes), None)
        page = await asyncio.to_thread(lambda: _page(describe(), address, pair))
        return Response(page, headers={"Content-Security-Policy": _POLICY}, media_type="text/html")

    return routes


def _libretranslate_spec(description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the description that LibreTranslate has too. Its clients recognise a server by the title."""
    paths = {
        path: methods
        for path, methods in description["paths"].items()
        if any(LIBRETRANSLATE.name in operation.get("tags", ()) for operation in methods.values())
    }
    return {**description, "info": {**description["info"], "title": LIBRETRANSLATE.name}, "paths": paths}


def _page(description: Mapping[str, Any], address: str, pair: tuple[str, str] | None) -> str:
    groups: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation.get("tags", ["others"])[0], []).append((method.upper(), path, operation))

    def curl(path: str, value: Any) -> str:
        return _curl(address + path, value if pair is None else example_for(value, *pair))

    title = f"{description['info']['title']} {description['info']['version']}: the API"
    return render(
        "api.html",
        title=title,
        style=Markup(_STYLE),  # noqa: S704 -- of this package
        groups=groups,
        prose=_prose,
        type_of=_type,
        encode=json.dumps,
        curl=curl,
    )


def _type(field: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(each) for each in field["anyOf"]))
    if "enum" in field:
        return ", ".join(json.dumps(each) for each in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("type", "anything"))


def _prose(text: str) -> Markup:
    """Return text as HTML; text between backticks is code."""
    return Markup(re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", str(escape(text))))  # noqa: S704 -- it is escaped


def _curl(url: str, value: Any) -> str:
    data = shlex.quote(json.dumps(value, ensure_ascii=False))
    return f"curl {shlex.quote(url)} \\\n  -H 'Content-Type: {JSON}' \\\n  -d {data}"
