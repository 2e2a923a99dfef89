"""What stands before every route: hosts, sizes, times, keys, a place in the house, and one line for the log.

It is plain ASGI. The place (`Translating.enter`) is taken before the body is read, and given back in every case; when
the client leaves, the work it asked for is stopped.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.errors import DragomanError
from dragoman.server.access import Access, AdmittedTicket, Gate
from dragoman.server.error_answers import problem_bytes, problem_headers
from dragoman.server.errors import Draining, Expired, Overloaded, Refused, TooLarge
from dragoman.server.heads import SECURITY, HostRule, Origins, client_address, request_id, secret_in
from dragoman.server.jobs import Translating
from dragoman.server.limits import BodyRoom, declared_length
from dragoman.server.metrics import UNKNOWN_ROUTE, Metrics
from dragoman.server.problems import PROBLEM_TYPE, problem_of
from dragoman.server.request_log import Line, RequestLog
from dragoman.server.settings import ServerSettings

__all__ = ["Guard"]

CLIENT_GONE = 499
"""What the log and the metrics call a request whose client did not wait for the answer."""

_TRANSLATING = frozenset({"/translate", "/translate_file", "/v1/inspect", "/v1/translate", "/v2/translate"})
_WITH_FILES = frozenset({"/translate_file"})
_FILE_TIME = 10
_FORM_BYTES = 64 << 10  # what a form adds around a document
_GRACE = 1.0  # seconds after a deadline within which the service itself says that it is over
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_BODY_WITH_GET = frozenset({"/v2/languages"})  # the client of DeepL asks for targets in a form
_LOOKED_AT = frozenset(
    {
        b"access-control-request-method",
        b"authorization",
        b"content-length",
        b"expect",
        b"host",
        b"origin",
        b"transfer-encoding",
        b"x-forwarded-for",
        b"x-forwarded-proto",
        b"x-request-id",
    }
)
_COUNTED_BY_SERVICE = (Draining, Expired, Overloaded, TooLarge)


@dataclass
class Guard:
    """The app that uvicorn runs. `is_draining` has every answer close its connection."""

    app: ASGIApp
    service: Translating
    settings: ServerSettings
    metrics: Metrics
    gate: Gate
    log: RequestLog
    templates: frozenset[str]
    """The routes without parameters: what is refused before it is routed counts for these by their path."""
    is_draining: bool = False

    def __post_init__(self) -> None:
        self.host_rule = HostRule(self.settings.host, self.settings.hosts)
        self.origins = Origins(self.settings.origins)
        self.bodies = BodyRoom()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http":
            await _Exchange(self, scope, receive, send).run()
        elif scope["type"] == "lifespan":
            await self.app(scope, receive, send)


class _Exchange:
    """One request and its answer."""

    def __init__(self, guard: Guard, scope: Scope, receive: Receive, send: Send) -> None:
        self._guard = guard
        self._receive, self._send = receive, send
        self._headers = {name: value for name, value in scope["headers"] if name in _LOOKED_AT}
        self._scope = scope
        self._id = request_id(self._headers.get(b"x-request-id"))
        forwarded = self._headers.get(b"x-forwarded-for") if guard.settings.trust_proxy else None
        self._access = Access(guard.gate, client_address(scope.get("client"), forwarded))
        self._ticket: AdmittedTicket | None = None
        self._gone = asyncio.Event()
        self._body: bytes | None = b""
        self._refusal: DragomanError | None = None
        self._status = 0
        self._is_complete = self._closes = False
        self._received = self._sent = 0

    async def run(self) -> None:
        """Answer it, whatever happens."""
        begun = time.perf_counter()
        self._guard.metrics.begun()
        try:
            await self._answer()
        except DragomanError as error:
            self._refusal = error
            await self._refuse(error)
        except asyncio.CancelledError:
            await self._refuse(Draining("the server ends and cannot wait; ask again", retry_after=1.0))
            raise
        except Exception as error:  # noqa: BLE001 -- a fault of ours must not end the server, nor show a text in a log
            if not self._gone.is_set():  # else work that was stopped ends as it may
                self._guard.log.failure(error, self._id)
            await self._refuse(error)
        finally:
            if self._ticket is not None:
                self._ticket.leave()
            self._guard.bodies.release(self._received)
            self._note(time.perf_counter() - begun)

    async def _answer(self) -> None:
        scope, guard = self._scope, self._guard
        self._check_host()
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in self._headers:
            await self._start(204, guard.origins.preflight())
            return
        self._access.identify(secret_in(self._headers.get(b"authorization")))
        scope = dict(scope) | {"state": {**scope.get("state", {}), "access": self._access, "request_id": self._id}}
        if scope["method"] == "HEAD":  # the server below leaves the body out by itself
            scope["method"] = "GET"
        if guard.settings.trust_proxy and self._headers.get(b"x-forwarded-proto", b"").lower() == b"https":
            scope["scheme"] = "https"  # so that addresses which are told begin with it
        self._scope = scope
        if not await self._take_in():
            return
        if self._ticket is None:
            await guard.app(scope, self._later, self._pass_on)
        else:
            await self._translate(self._ticket)

    def _check_host(self) -> None:
        if sum(name == b"host" for name, _ in self._scope["headers"]) != 1:
            self._closes = True
            raise Refused("a request must have one Host header, got none or several; send one")
        self._guard.host_rule.check(self._headers[b"host"])

    async def _take_in(self) -> bool:
        """Take a place, where it is for a translation, and only then the body; False where the client has gone."""
        limits, path = self._guard.settings.limits, self._scope["path"]
        limit = limits.file_bytes + _FORM_BYTES if path in _WITH_FILES else limits.body_bytes
        self._closes = True  # until the body is read: what follows on this connection might be a part of it
        length = declared_length(self._headers, limit)
        if self._scope["method"] not in _WITH_BODY and path not in _BODY_WITH_GET:
            self._closes = length != 0
            return True
        self._closes = length is None or b"expect" in self._headers
        if path.startswith(("/v1/", "/v2/")) or not self._access.needs_key:
            self._access.admit()
        if path in _TRANSLATING and self._scope["method"] == "POST":
            seconds = limits.seconds * (_FILE_TIME if path in _WITH_FILES else 1)
            self._ticket = AdmittedTicket(self._guard.service.enter(seconds), self._access)
            self._scope["state"]["ticket"] = self._ticket
        if length != 0:
            self._body = await self._read(limit, limits.body_seconds)
        self._closes = False
        return self._body is not None

    async def _read(self, limit: int, seconds: float) -> bytes | None:
        try:
            body = await self._guard.bodies.read(self._receive, limit, seconds)
        except (Refused, asyncio.CancelledError):
            self._closes = True
            raise
        self._received = len(body or b"")
        if body is None:
            self._leave_off()
        return body

    async def _translate(self, ticket: AdmittedTicket) -> None:
        watch = asyncio.create_task(self._watch())
        try:
            async with asyncio.timeout_at(ticket.deadline + _GRACE):
                await self._guard.app(self._scope, self._later, self._pass_on)
        except TimeoutError:
            if asyncio.get_running_loop().time() < ticket.deadline:
                raise  # of something else
            raise Expired("the answer must be ready in time, got none; ask for less, or again later") from None
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        """Wait for the client to leave."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._is_complete:
            self._leave_off()

    def _leave_off(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
        self._gone.set()

    async def _later(self) -> Message:
        """What the app receives: the body at once, and then that the client leaves."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        if self._ticket is None:
            while (message := await self._receive())["type"] != "http.disconnect":
                pass
            return message
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _pass_on(self, message: Message) -> None:
        """What the app sends, with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = {**message, "headers": self._with_headers(list(message.get("headers", ())))}
        else:
            self._sent += len(message.get("body", b""))
            self._is_complete = not message.get("more_body", False)
        await self._send(message)

    def _with_headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        given = {name for name, _ in headers}
        headers += [(name, value) for name, value in SECURITY.items() if name not in given]
        headers += [*self._guard.origins.headers(self._headers.get(b"origin")), (b"x-request-id", self._id.encode())]
        if self._closes or self._guard.is_draining:
            headers.append((b"connection", b"close"))
        return headers

    async def _refuse(self, error: BaseException) -> None:
        if self._status or self._gone.is_set():
            return  # it has begun, or nobody listens: the server below closes the connection
        body = problem_of(error)
        if body["status"] >= 500 and not isinstance(error, DragomanError):
            body["request_id"] = self._id
        extra = [(name.encode(), value.encode()) for name, value in problem_headers(error).items()]
        await self._start(body["status"], [(b"content-type", PROBLEM_TYPE.encode()), *extra], problem_bytes(body))

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"") -> None:
        length = [] if status == 204 else [(b"content-length", str(len(body)).encode())]
        await self._pass_on({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
        await self._pass_on({"type": "http.response.body", "body": body})

    def _note(self, seconds: float) -> None:
        status = CLIENT_GONE if self._gone.is_set() or not self._status else self._status
        method, route = self._scope["method"], self._route()
        self._guard.metrics.ended(route, method, status, seconds, self._received, self._sent)
        refusal = self._refusal or self._scope.get("state", {}).get("refusal")
        if isinstance(refusal, Refused) and not isinstance(refusal, _COUNTED_BY_SERVICE):
            self._guard.metrics.shed(refusal.reason)
        pieces = self._ticket.pieces if self._ticket else 0
        self._guard.log.request(
            Line(
                *(method, route, status, round(seconds * 1000, 1), pieces, self._received, self._sent),
                *(self._id, self._access.name),
            )
        )

    def _route(self) -> str:
        route: Any = self._scope.get("route")
        if route is not None:
            return str(getattr(route, "path", UNKNOWN_ROUTE))
        return self._scope["path"] if self._scope["path"] in self._guard.templates else UNKNOWN_ROUTE
