"""ASGI middleware: check host and API key, admit requests, limit bodies, apply deadlines, detect disconnects.

The API key is checked first, then capacity is reserved, then the body is read; only a key in the body reverses this
order. Capacity is always released. If the client disconnects, its translation is cancelled. Decision record 0015
explains why this is one plain ASGI class.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from dragoman.errors import DragomanError
from dragoman.server.access.authorization import AccessControl, RequestAccess
from dragoman.server.access_log import AccessLog, AccessRecord
from dragoman.server.errors import (
    NO_SUCH_PATH,
    DeadlineExceeded,
    Draining,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    RequestError,
    SingleProcessOnly,
    TooLarge,
    problem_bytes,
    problem_for,
    problem_headers,
)
from dragoman.server.http.headers import (
    SECURITY,
    CorsPolicy,
    TrustedHosts,
    client_address,
    is_loopback,
    parse_api_key,
    request_id,
)
from dragoman.server.http.request_body import BodyBuffer, declared_length, find_keys
from dragoman.server.http.route_policy import Endpoint, RoutePolicy, RouteTable
from dragoman.server.http.server_sent_events import EVENT_STREAM, error_event
from dragoman.server.metrics import UNKNOWN_ROUTE, ServerMetrics
from dragoman.server.scheduling.admission import Reservation
from dragoman.server.settings import ServerSettings

CLIENT_GONE = 499
"""Status in the log and the metrics of a request whose client disconnected."""

_UPLOAD_TIME = 10  # times the deadline of other requests
_FORM_BYTES = 64 << 10  # of a form around a document
_KEYLESS_BYTES = 64 << 20  # of all bodies whose key is not known before they are read
_INLINE_BYTES = 1 << 20  # that are searched for a key on the event loop, in 3 ms
_GRACE = 1.0  # seconds after a deadline in which the service itself reports it
_DISCARD_SECONDS = 2.0  # for a client to send the rest of a rejected body
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_USED_HEADERS = frozenset(
    {
        b"access-control-request-method",
        b"authorization",
        b"content-length",
        b"content-type",
        b"expect",
        b"host",
        b"ocp-apim-subscription-key",
        b"origin",
        b"sec-fetch-site",
        b"transfer-encoding",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-proto",
        b"x-goog-api-key",
        b"x-request-id",
    }
)
_ON_REPLICA = (
    "this server has several replicas, and this request is about one process; such requests need a server of one "
    "process, dragoman serve without --on"
)
_NO_ROUTE = RoutePolicy("public")
_COUNTED_BY_SERVICE = (DeadlineExceeded, Draining, Overloaded, TooLarge)


@dataclass
class RequestMiddleware:
    """The ASGI application that uvicorn runs: it finds the route of a request and calls its endpoint."""

    admit: Callable[[float, Callable[[int], None]], Reservation]
    """Reserve capacity: seconds until the deadline, and a callback that charges tokens to the rate limit."""
    settings: ServerSettings
    metrics: ServerMetrics
    access: AccessControl
    log: AccessLog
    routes: RouteTable = field(default_factory=RouteTable)
    openapi: Callable[[], dict[str, Any]] = dict
    """Returns the description of all routes, made at the first call."""
    start: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
    """Opens the database, and loads what the first request needs."""
    close: Callable[[], None] = lambda: None
    """Writes what is not in the database yet, and closes it."""
    is_draining: bool = False
    """Every response closes its connection."""
    is_replica: bool = False
    """Other processes respond to requests for the same address: routes about one process are rejected."""

    def needs_key(self, method: str, path: str) -> bool:
        policy = self.routes.find(method, path)
        return policy is not None and policy.access != "public"

    def __post_init__(self) -> None:
        self.trusted_hosts = TrustedHosts(self.settings.host, self.settings.hosts)
        self.cors = CorsPolicy(self.settings.origins)
        self.bodies = BodyBuffer()
        self.keyless_bodies = BodyBuffer(_KEYLESS_BYTES)
        """Apart from `bodies`: clients without a key must not use up the memory of clients with one."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await _Exchange(self, scope, receive, send).run()


class _Exchange:
    """One request and its response."""

    def __init__(self, server: RequestMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self._server = server
        self._receive, self._send = receive, send
        self._headers = {name: value for name, value in scope["headers"] if name in _USED_HEADERS}
        self._scope = scope
        self._path = server.routes.resolve(scope["path"], scope["query_string"])
        self._match = server.routes.match(scope["method"], self._path)
        self._policy = self._match.policy if self._match else _NO_ROUTE
        self._id = request_id(self._headers.get(b"x-request-id"))
        forwarded = self._headers.get(b"x-forwarded-for") if server.settings.trust_proxy else None
        self._access = RequestAccess(server.access, client_address(scope.get("client"), forwarded))
        self._reservation: Reservation | None = None
        self._disconnected = asyncio.Event()
        self._body: bytes | None = b""
        self._buffer = server.bodies
        self._error: DragomanError | None = None
        self._status = 0
        self._is_complete = self._is_event_stream = self._closes = False
        self._received = self._sent = 0

    async def run(self) -> None:
        """Respond in every case, release all resources, and log the request."""
        started = time.perf_counter()
        self._server.metrics.request_started()
        try:
            await self._respond()
        except DragomanError as error:
            self._error = error
            await self._send_error(error)
        except asyncio.CancelledError:
            await self._send_error(Draining())
            raise
        except Exception as error:  # noqa: BLE001 -- an internal error must not end the server, nor log a text
            if not self._disconnected.is_set():  # cancelled work may end with any error
                self._server.log.failure(error, self._id)
            await self._send_error(error)
        finally:
            if self._reservation is not None:
                self._reservation.release(is_served=self._is_complete and self._status < 400)
            self._buffer.release(self._received)
            self._record(time.perf_counter() - started)

    async def _respond(self) -> None:
        scope, server = self._scope, self._server
        self._closes = self._headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in self._headers
        self._check_host()
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in self._headers:
            await self._send_response(204, server.cors.preflight())
            return
        if not self._policy.is_health:
            given = (self._headers.get(name, b"").decode("latin-1") for name in self._policy.dialect.key_headers)
            self._access.identify(parse_api_key(self._headers.get(b"authorization")), *given)
        scope = dict(scope) | {"state": {**scope.get("state", {}), "access": self._access, "request_id": self._id}}
        if scope["method"] == "HEAD":  # uvicorn removes the body
            scope["method"] = "GET"
        if server.settings.trust_proxy and self._headers.get(b"x-forwarded-proto", b"").lower() == b"https":
            scope["scheme"] = "https"  # of the URLs in responses
        self._scope = scope
        if self._match is None:
            self._reject_path()
        elif await self._receive_request():
            request = Request({**scope, "path_params": self._match.params}, self._receive_message)
            if self._reservation is None:
                await self._run(self._match.respond, request)
            else:
                await self._translate(self._reservation, self._match.respond, request)

    async def _run(self, respond: Endpoint, request: Request) -> None:
        response = await respond(request)
        await response(request.scope, self._receive_message, self._send_message)

    def _check_host(self) -> None:
        if sum(name == b"host" for name, _ in self._scope["headers"]) != 1:
            self._closes = True
            raise RequestError("a request must have exactly one Host header")
        self._server.trusted_hosts.check(self._headers[b"host"])

    def _reject_path(self) -> None:
        self._closes = declared_length(self._headers, self._server.settings.limits.body_bytes) != 0
        allowed = self._server.routes.methods(self._path)
        raise MethodNotAllowed(self._scope["method"], allowed) if allowed else NotFound(NO_SUCH_PATH)

    async def _receive_request(self) -> bool:
        """Check the key, reserve capacity if the route translates, read the body; False if the client disconnected."""
        limits, policy = self._server.settings.limits, self._policy
        limit = limits.file_bytes + _FORM_BYTES if policy.is_upload else limits.body_bytes
        self._closes = True  # until the body is read: the next bytes of this connection may belong to it
        length = declared_length(self._headers, limit)
        has_body = self._scope["method"] in _BODY_METHODS or policy.has_get_body
        self._closes = length is None or b"expect" in self._headers if has_body else length != 0
        keys = self._find_keys(b"") if policy.access == "body_key" and self._access.needs_key else []
        is_key_in_body = policy.access == "body_key" and self._access.needs_key and not keys
        if is_key_in_body:
            self._buffer = self._server.keyless_bodies
            self._body = await self._read_body(limit, limits.body_seconds) if length != 0 else b""
            if self._body is None:
                return False
            is_large = len(self._body) > _INLINE_BYTES
            keys = await asyncio.to_thread(self._find_keys, self._body) if is_large else self._find_keys(self._body)
        self._authorize(keys)
        self._check_origin()
        if policy.is_of_one_process and self._server.is_replica:
            raise SingleProcessOnly(_ON_REPLICA)
        if policy.translates:
            seconds = limits.seconds * (_UPLOAD_TIME if policy.is_upload else 1)
            self._reservation = self._server.admit(seconds, self._access.charge)
            self._reservation.client = self._access.cache_part
            self._reservation.owner = self._access.name
            self._scope["state"]["reservation"] = self._reservation
        if has_body and length != 0 and not is_key_in_body:
            self._body = await self._read_body(limit, limits.body_seconds)
        self._closes = not has_body and length != 0
        if self._body is None:
            return False
        if self._reservation is not None:
            self._reservation.expect()
        return True

    def _find_keys(self, body: bytes) -> list[str]:
        return find_keys(
            self._policy.dialect.key_fields, self._headers.get(b"content-type", b""), self._scope["query_string"], body
        )

    def _authorize(self, keys: Sequence[str]) -> None:
        """Check the access that the route declares, with the keys of the query or the body."""
        access, needed = self._access, self._policy.access
        if needed == "metrics" and access.has_keys and not is_loopback(access.address):
            access.require("metrics")
        elif needed in ("key", "body_key", "admin"):
            access.authorize(*keys)
        if needed == "admin":
            access.require("admin")

    def _check_origin(self) -> None:
        """Reject unsafe or costly requests of pages of other origins; a page that has a key may send them."""
        policy = self._policy
        if self._access.key is None and (policy.translates or self._scope["method"] in _BODY_METHODS):
            host = self._headers.get(b"x-forwarded-host") if self._server.settings.trust_proxy else None
            self._server.cors.check(self._headers, host, changes_state=policy.changes_state)

    async def _read_body(self, limit: int, seconds: float) -> bytes | None:
        try:
            body = await self._buffer.read(self._receive, limit, seconds)
        except (RequestError, asyncio.CancelledError):
            self._closes = True
            raise
        self._received, self._closes = len(body or b""), False
        if body is None:
            self._cancel()
        return body

    async def _translate(self, reservation: Reservation, respond: Endpoint, request: Request) -> None:
        watcher = asyncio.create_task(self._watch_disconnect())
        try:
            async with asyncio.timeout_at(reservation.deadline + _GRACE):
                await self._run(respond, request)
        except TimeoutError:
            if asyncio.get_running_loop().time() < reservation.deadline:
                raise  # another timeout
            raise DeadlineExceeded from None
        finally:
            watcher.cancel()

    async def _watch_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._is_complete:
            self._cancel()

    def _cancel(self) -> None:
        if self._reservation is not None:
            self._reservation.cancel()
        self._disconnected.set()

    async def _receive_message(self) -> Message:
        """ASGI `receive` of the app: the whole body, then the disconnect."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        if self._reservation is None:
            while (message := await self._receive())["type"] != "http.disconnect":
                pass
            return message
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send_message(self, message: Message) -> None:
        """ASGI `send` of the app: adds the headers of every response."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._is_event_stream = any(
                name == b"content-type" and value.startswith(EVENT_STREAM.encode())
                for name, value in message.get("headers", ())
            )
            message = {**message, "headers": self._with_headers(list(message.get("headers", ())))}
        else:
            self._sent += len(message.get("body", b""))
            self._is_complete = not message.get("more_body", False)
        await self._send(message)

    def _with_headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        given = {name for name, _ in headers}
        headers += [(name, value) for name, value in SECURITY.items() if name not in given]
        headers += [*self._server.cors.headers(self._headers.get(b"origin")), (b"x-request-id", self._id.encode())]
        if self._closes or self._server.is_draining:
            headers.append((b"connection", b"close"))
        return headers

    async def _send_error(self, error: BaseException) -> None:
        if self._is_complete or self._disconnected.is_set():
            return
        body, dialect = problem_for(error), self._policy.dialect
        if body["status"] >= 500 and not isinstance(error, DragomanError):
            body["request_id"] = self._id
        if self._status:
            if self._is_event_stream:
                await self._send_message({"type": "http.response.body", "body": error_event(dialect, body)})
            return  # the response has started: uvicorn closes the connection
        extra = [(name.encode(), value.encode()) for name, value in problem_headers(error).items()]
        headers = [(b"content-type", dialect.error_type.encode()), *extra]
        await self._send_response(body["status"], headers, problem_bytes(dialect.error_body(body)))

    async def _send_response(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"") -> None:
        length = [] if status == 204 else [(b"content-length", str(len(body)).encode())]
        await self._send_message({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
        if self._closes and b"expect" not in self._headers:
            await self._send_message({"type": "http.response.body", "body": body, "more_body": True})
            await self._discard_body()
            body = b""
        await self._send_message({"type": "http.response.body", "body": body})

    async def _discard_body(self) -> None:
        """Drop the unread body, for a short time: closing resets the connection of a client that still sends.

        A proxy would then respond with 502 in place of this response.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                while (await self._receive()).get("more_body", False):
                    pass

    def _record(self, seconds: float) -> None:
        status = CLIENT_GONE if self._disconnected.is_set() or not self._status else self._status
        method, route = self._scope["method"], self._route()
        self._server.metrics.request_ended(route, method, status, seconds, self._received, self._sent)
        error = self._error
        if isinstance(error, RequestError) and not isinstance(error, _COUNTED_BY_SERVICE):
            self._server.metrics.count_rejected(error.reason)
        tokens = self._reservation.tokens if self._reservation else 0
        self._server.log.request(
            AccessRecord(
                *(method, route, status, round(seconds * 1000, 1), tokens, self._received, self._sent),
                *(self._id, self._access.name),
            )
        )

    def _route(self) -> str:
        """Return the path template, never the path that was requested."""
        if self._match is not None:
            return self._match.template
        return self._path if self._path in self._server.routes.templates else UNKNOWN_ROUTE
