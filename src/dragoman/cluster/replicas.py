"""Serve an ASGI application as replicas behind the proxy of Ray Serve."""

from __future__ import annotations

import contextlib
import http.client
import logging
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from ray.exceptions import RayError

from dragoman.errors import ConfigError

with warnings.catch_warnings():  # of pydantic, about Ray's own models
    warnings.simplefilter("ignore", DeprecationWarning)
    from ray import serve
    from ray.serve.exceptions import RayServeException
    from ray.serve.handle import DeploymentHandle

_NAME = "dragoman"
_START_TIMEOUT = 300.0  # seconds
_CALL_TIMEOUT = 10.0  # seconds, for a call to all replicas
_POLL = 0.1  # seconds
_KEEP_ALIVE = 15  # seconds, as of the server without Ray
_REQUESTS_PER_PROCESSOR = 8  # at which a replica is added: requests of one replica are batched together
_MAX_REQUESTS = 1024  # per replica; the application itself rejects what it cannot translate in time
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 -- addresses to connect to
_LOGS = {"enable_access_log": False, "log_level": "ERROR"}  # Ray's access log has paths; the application's has not


class ReplicaApplication(Protocol):
    """ASGI application that starts with its lifespan; it is pickled before."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request, or the lifespan."""

    async def reload(self) -> None:
        """Reload what changed on disk."""

    async def start_draining(self) -> None:
        """Report not ready."""

    async def drain(self) -> bool:
        """Reject new requests and wait for running ones."""


@dataclass(frozen=True)
class ReplicaOptions:
    """Address of the proxy, number of replicas, processors of each, and seconds of the shutdown."""

    host: str
    port: int
    min_replicas: int
    max_replicas: int
    processors: int
    drain_seconds: float
    drain_notice: float
    is_on_every_node: bool = False


class _Replica:
    """Methods that the command calls on all replicas; Ray's subclass has the application as `app`."""

    app: ReplicaApplication

    async def reload(self) -> None:
        await self.app.reload()

    async def start_draining(self) -> None:
        await self.app.start_draining()

    async def drain(self) -> bool:
        return await self.app.drain()


def serve_replicas(app: ReplicaApplication, options: ReplicaOptions, on_start: Callable[[], None]) -> None:
    """Serve an application until a signal; Ray must be initialised.

    SIGHUP reloads all replicas. After SIGTERM or SIGINT they report not ready for `drain_notice` seconds, then reject
    new requests and finish running ones. A second signal ends them at once.
    """
    logging.getLogger("ray.serve").setLevel(logging.ERROR)  # of this process; its messages are not for users
    if serve.status().proxies:
        raise ConfigError(
            "the cluster runs Ray Serve already, whose address is fixed when it starts: use "
            "another cluster, or end it with serve shutdown"
        )
    try:
        serve.start(
            proxy_location="EveryNode" if options.is_on_every_node else "HeadOnly",
            http_options={"host": options.host, "port": options.port, "keep_alive_timeout_s": _KEEP_ALIVE},
            logging_config=_LOGS,
        )
    except RayError as error:
        serve.shutdown()  # type: ignore[no-untyped-call]
        raise ConfigError(
            f"the HTTP proxy of Ray Serve must start in time, got {type(error).__name__}; the machine may be busy: try "
            "again, or read the logs of Ray"
        ) from None
    try:
        with _signals() as signals:
            handle = _deploy(app, options, signals)
            on_start()
            while not signals.wait():
                _call(handle, "reload", _START_TIMEOUT)
            _drain(handle, options)
    finally:
        serve.shutdown()  # type: ignore[no-untyped-call]


def _deploy(app: ReplicaApplication, options: ReplicaOptions, signals: _Signals) -> DeploymentHandle[Any]:
    deployment: Any = serve.deployment(
        serve.ingress(app)(_Replica),
        name=_NAME,
        ray_actor_options={"num_cpus": options.processors},
        max_ongoing_requests=_MAX_REQUESTS,
        autoscaling_config={
            "min_replicas": options.min_replicas,
            "max_replicas": options.max_replicas,
            "target_ongoing_requests": _REQUESTS_PER_PROCESSOR * options.processors,
        },
        graceful_shutdown_wait_loop_s=_POLL,
        graceful_shutdown_timeout_s=options.drain_seconds,
        logging_config=_LOGS,
    )
    target = serve.RunTarget(deployment.bind(), name=_NAME, route_prefix="/")
    (handle,) = serve.run_many([target], wait_for_applications_running=False)
    end = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < end:
        found = serve.status().applications.get(_NAME)
        if found is not None and found.status == "RUNNING" and (options.is_on_every_node or _is_ready(options)):
            return handle
        if found is not None and found.status == "DEPLOY_FAILED":
            raise ConfigError(
                "some replicas could not open the models; the logs of Ray on their nodes have the reason: "
                "all nodes need the same packages, and the bundles at the same path"
            )
        if signals.is_stopped:
            sys.exit(0)
        time.sleep(_POLL)
    raise ConfigError(
        f"{options.min_replicas} replicas must start within {_START_TIMEOUT:.0f} seconds, got fewer; the cluster may "
        "have too few free processors: use fewer --min-replicas or --threads"
    )


def _is_ready(options: ReplicaOptions) -> bool:
    """Return whether the proxy has the route of a replica, which it gets some time after the replica has started."""
    connection = http.client.HTTPConnection(_ANY.get(options.host, options.host), options.port, timeout=_CALL_TIMEOUT)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


def _drain(handle: DeploymentHandle[Any], options: ReplicaOptions) -> None:
    _call(handle, "start_draining", _CALL_TIMEOUT)
    time.sleep(options.drain_notice)
    _call(handle, "drain", options.drain_seconds + _CALL_TIMEOUT)


def _call(handle: DeploymentHandle[Any], method: str, seconds: float) -> None:
    """Call a method of all replicas; one that ends meanwhile needs no call."""
    with contextlib.suppress(RayError, RayServeException, TimeoutError):
        handle.broadcast(method).results(timeout_s=seconds)


class _Signals:
    """Signals of this process since the last call of `wait`."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._event = threading.Event()

    def stop(self, number: int, _: FrameType | None) -> None:
        if self.is_stopped:
            sys.exit(128 + number)
        self.is_stopped = True
        self._event.set()

    def reload(self, _: int, __: FrameType | None) -> None:
        self._event.set()

    def wait(self) -> bool:
        """Wait for a signal; return whether it was a stop signal."""
        while not self._event.wait(1.0):  # a wait without end would delay handlers on some systems
            pass
        self._event.clear()
        return self.is_stopped


@contextlib.contextmanager
def _signals() -> Iterator[_Signals]:
    found = _Signals()
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
        signal.SIGTERM: found.stop,
        signal.SIGINT: found.stop,
        signal.SIGHUP: found.reload,
    }
    old = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield found
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
