"""Routes that serve the built web page from memory."""

import hashlib
import mimetypes
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from dragoman.server.errors import NO_SUCH_PATH, NotFound
from dragoman.server.http.headers import PAGE_POLICY, accepted_encodings
from dragoman.server.http.route_policy import Router, route_policy

STATIC = Path(__file__).parents[1] / "static"

_COMPRESSED = {".br": "br", ".gz": "gzip"}
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_HASHED = re.compile(r"[.-][A-Za-z0-9_-]{8,}\.\w+$")
_IMMUTABLE = "public, max-age=31536000, immutable"
_REVALIDATE = "no-cache"
_NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Dragoman</title>
<h1>Dragoman runs</h1>
<p>The web page is not part of this installation. The API works: see <a href="docs">/docs</a>.</p>
<p>A wheel of Dragoman includes the page. From a clone, build it with <code>npm ci</code> and
<code>npm run build</code> in <code>web</code>, install the clone again with pip, and restart the server.</p>
"""


@dataclass(frozen=True)
class _Asset:
    """A file in memory; `compressed` has its content by encoding."""

    data: bytes
    compressed: dict[str, bytes]
    tag: str
    media_type: str
    cache: str

    def response(self, request: Request) -> Response:
        accepted = accepted_encodings(request)
        encoding = next((name for name in self.compressed if name in accepted), None)
        headers = {
            "cache-control": self.cache,
            "content-security-policy": PAGE_POLICY.decode(),
            "content-type": self.media_type,
            "etag": f'"{self.tag}"' if encoding is None else f'"{self.tag}-{encoding}"',
            "vary": "Accept-Encoding",
        }
        if headers["etag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if encoding is None:
            return Response(self.data, headers=headers)
        return Response(self.compressed[encoding], headers=headers | {"content-encoding": encoding})


def has_page(folder: Path = STATIC) -> bool:
    """Whether the web page is part of the installation."""
    return (folder / "index.html").is_file()


def router(folder: Path = STATIC) -> Router:
    """Return the routes of the web page; if it is not built, ``/`` explains how to build it."""
    routes = Router(include_in_schema=False)
    assets = _assets(folder)
    index = assets.get("index.html") or _asset(_NOT_BUILT.encode(), "index.html", {})

    @routes.get("/")
    @route_policy("public")
    async def page(request: Request) -> Response:
        return index.response(request)

    @routes.get("/assets/{name:path}")
    @route_policy("public")
    async def asset(request: Request) -> Response:
        found = assets.get(f"assets/{request.path_params['name']}")
        if found is None:
            raise NotFound(NO_SUCH_PATH)
        return found.response(request)

    for name in assets:
        if not name.startswith("assets/"):
            routes.get(f"/{name}")(_endpoint(assets[name]))
    return routes


def _endpoint(found: _Asset) -> Callable[[Request], Awaitable[Response]]:
    @route_policy("public")
    async def serve(request: Request) -> Response:
        return found.response(request)

    return serve


def _assets(folder: Path) -> dict[str, _Asset]:
    """Read all files of the folder, by path; no requested path ever reaches the disk."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    plain = {name: path for name, path in files.items() if path.suffix not in _COMPRESSED}
    return {
        name: _asset(
            path.read_bytes(),
            name,
            {code: files[name + end].read_bytes() for end, code in _COMPRESSED.items() if name + end in files},
        )
        for name, path in plain.items()
    }


def _asset(data: bytes, name: str, compressed: dict[str, bytes]) -> _Asset:
    suffix = Path(name).suffix
    media_type = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    is_hashed = name.startswith("assets/") and _HASHED.search(name) is not None
    tag = hashlib.sha256(data).hexdigest()[:16]
    return _Asset(data, compressed, tag, media_type, _IMMUTABLE if is_hashed else _REVALIDATE)
