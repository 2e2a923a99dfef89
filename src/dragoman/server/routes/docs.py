"""Routes `/openapi.json`, LibreTranslate's `/spec`, and `/docs`, an API page without scripts whose examples work."""

import asyncio
import base64
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from dragoman.language_codes import equivalent_languages, primary_language
from dragoman.server.http.headers import CachedJson
from dragoman.server.http.route_policy import route_policy
from dragoman.server.models.routing import Languages
from dragoman.server.routes.libretranslate import LIBRETRANSLATE
from dragoman.server.routes.openapi import JSON

_STYLE = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
h2 { border-top: 1px solid; margin-top: 2rem; padding-top: 1rem; }
h3 { font-family: ui-monospace, monospace; margin: 2rem 0 0; overflow-wrap: anywhere; }
pre { border: 1px solid; border-radius: .3rem; overflow-wrap: anywhere; padding: .5rem; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid; padding: .2rem .5rem .2rem 0; text-align: left; vertical-align: top; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"


@dataclass(frozen=True)
class _Sentences:
    """The sentences of the examples in one language; `dogs` is a word of the first two."""

    snow: str
    play: str
    sleep: str
    dogs: str

    @property
    def marked_up(self) -> str:
        """The second sentence with one word in bold."""
        return self.play.replace(self.dogs, f"<b>{self.dogs}</b>", 1)


_ENGLISH = _Sentences("Two dogs play in the snow.", "Two dogs play.", "A man sleeps.", "dogs")
_PLACEHOLDERS = _Sentences("TEXT", "TEXT", "TEXT", "TERM")
_SENTENCES = {
    "de": _Sentences("Zwei Hunde spielen im Schnee.", "Zwei Hunde spielen.", "Ein Mann schläft.", "Hunde"),
    "en": _ENGLISH,
    "es": _Sentences("Dos perros juegan en el parque.", "Dos perros juegan.", "Un hombre duerme.", "perros"),
    "fr": _Sentences("Deux chiens jouent dans la neige.", "Deux chiens jouent.", "Un homme dort.", "chiens"),
    "it": _Sentences("Due cani giocano nella neve.", "Due cani giocano.", "Un uomo dorme.", "cani"),
    "ja": _Sentences("二匹の犬が雪の中で遊んでいます。", "二匹の犬が遊んでいます。", "男の人が眠っています。", "犬"),
    "pt": _Sentences("Dois cães brincam na neve.", "Dois cães brincam.", "Um homem dorme.", "cães"),
    "ru": _Sentences("Две собаки играют в снегу.", "Две собаки играют.", "Мужчина спит.", "собаки"),
    "zh": _Sentences("两只狗在雪地里玩耍。", "两只狗在玩耍。", "一个男人在睡觉。", "狗"),
    "zh-Hant": _Sentences("兩隻狗在雪地裡玩耍。", "兩隻狗在玩耍。", "一個男人在睡覺。", "狗"),
}


def example_for(value: Any, source: str, target: str) -> Any:
    """Return the body of an example, which translates from English to German, for another language pair.

    Languages without example sentences get a placeholder.
    """
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
        "glossary": {_sentences(source).dogs: _sentences(target).dogs, "Anna": None},
    }
    return {
        name: codes[name] if name in codes and each != "auto" else example_for(each, source, target)
        for name, each in value.items()
    }


def _sentences(code: str) -> _Sentences:
    codes = (*equivalent_languages(code), primary_language(code))
    return next((_SENTENCES[each] for each in codes if each in _SENTENCES), _PLACEHOLDERS)


def _translated(text: str, sentences: _Sentences) -> str:
    for each in ("snow", "marked_up", "play", "sleep"):
        text = text.replace(getattr(_ENGLISH, each), getattr(sentences, each))
    return text


def router(describe: Callable[[], Mapping[str, Any]], languages: Callable[[], Languages]) -> APIRouter:
    """Return the routes that describe all other routes. The examples on the page use a served pair."""
    routes = APIRouter(include_in_schema=False)

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
        page = "".join(_page(await asyncio.to_thread(describe), address, pair))
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


def _page(description: Mapping[str, Any], address: str, pair: tuple[str, str] | None) -> Iterator[str]:
    title = f"{description['info']['title']} {description['info']['version']}: the API"
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
    yield '<p>For programs: <a href="openapi.json">openapi.json</a>. Errors are JSON with <code>error</code>, '
    yield "<code>status</code> and <code>detail</code>.</p>"
    groups: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            shown = "".join(_operation(method.upper(), path, operation, address, pair))
            groups.setdefault(operation.get("tags", ["others"])[0], []).append(shown)
    for name, operations in groups.items():
        yield f"<h2>{escape(name)}</h2>{''.join(operations)}"
    yield "</main></body></html>"


def _operation(
    method: str, path: str, operation: Mapping[str, Any], address: str, pair: tuple[str, str] | None
) -> Iterator[str]:
    yield f"<h3>{method} {escape(path)}</h3>"
    text = operation.get("description") or operation.get("summary", "")
    yield "".join(f"<p>{_prose(part)}</p>" for part in text.split("\n\n"))
    for parameter in operation.get("parameters", ()):
        yield f"<p><code>{escape(parameter['name'])}</code>: {_prose(parameter.get('description', ''))}</p>"
    content = operation.get("requestBody", {}).get("content", {})
    if content:
        media_type, first = next(iter(content.items()))
        yield f"<p>Media types: {escape(', '.join(content))}.</p>"
        yield from _fields(first["schema"])
        for example in first.get("examples", {}).values() if media_type == JSON else ():
            value = example["value"] if pair is None else example_for(example["value"], *pair)
            yield f"<pre>{escape(_curl(address + path, value))}</pre>"
    yield "<table><tr><th>Status</th><th>Description</th></tr>"
    for status, response in operation["responses"].items():
        yield f"<tr><td>{escape(status)}</td><td>{_prose(response['description'])}</td></tr>"
    yield "</table>"


def _fields(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", ())
    yield "<table><tr><th>Field</th><th>Type</th><th>Description</th></tr>"
    for name, field in schema["properties"].items():
        text = field.get("description", "") + (" Required." if name in required else "")
        if field.get("default") is not None:
            text += f" Default: {json.dumps(field['default'])}."
        yield f"<tr><td><code>{escape(name)}</code></td><td>{escape(_type(field))}</td><td>{_prose(text)}</td></tr>"
    yield "</table>"


def _type(field: Mapping[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_type(each) for each in field["anyOf"]))
    if "enum" in field:
        return ", ".join(json.dumps(each) for each in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("type", "anything"))


def _prose(text: str) -> str:
    """Return text as HTML; text between backticks is code."""
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", escape(text))


def _curl(url: str, value: Any) -> str:
    data = shlex.quote(json.dumps(value, ensure_ascii=False))
    return f"curl {shlex.quote(url)} \\\n  -H 'Content-Type: {JSON}' \\\n  -d {data}"
