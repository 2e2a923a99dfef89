"""Serve the page of a running training on the loopback interface, and write it as the report of the run.

For a browser, the page is rendered in a thread of the server, at most once per second. Training itself renders it after
each validation, to write the report.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dragoman.evaluation.results import SetScore
from dragoman.files import atomic_write
from dragoman.inspection.pages.training_report import render_training_report
from dragoman.run_files import REPORT
from dragoman.training.callbacks.events import TrainingEnded, TrainingStarted, ValidationEvent
from dragoman.training.callbacks.status import StatusDisplay

if TYPE_CHECKING:
    from dragoman.api.training.training_run import TrainResult

_FRESH = 1.0  # seconds for which a rendered page is served again
_WATCHED = 6.0  # seconds since its last request in which a browser counts as open
_LINGER = 4.0  # seconds at the end in which open browsers can request the last state


class LivePage(StatusDisplay):
    """A callback that serves and writes the page of a run; a context manager that ends the server."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._folder = folder
        self._results: Sequence[SetScore] = ()
        self._lock = threading.Lock()
        self._page = b""
        self._rendered = -_FRESH
        self._is_ended = False
        self._last_request = -_WATCHED
        self._seen_end = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, name="dragoman-page", daemon=True)

    @property
    def address(self) -> str:
        """Address of the page, on this machine."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Show the end in open browsers, then end the server."""
        self._is_ended = True
        self._rendered = -_FRESH
        if self.clock() - self._last_request < _WATCHED:
            self._seen_end.wait(_LINGER)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def on_start(self, started: TrainingStarted) -> None:
        """Begin to measure, and write the page."""
        super().on_start(started)
        self._write()

    def on_validation_end(self, event: ValidationEvent) -> None:
        """Write the page with the new samples."""
        super().on_validation_end(event)
        self._write()

    def on_end(self, ended: TrainingEnded) -> None:
        """Write the page of the ended training; a complete one is scored before it is finished."""
        super().on_end(ended)
        self._is_ended = not ended.is_complete
        self._write()

    def finish(self, trained: TrainResult) -> None:
        """Write the report with the scores of held-out sets."""
        self._is_ended = True
        self._results = trained.scores
        self._write()

    def content(self) -> bytes:
        """Return the page; called by the server's threads."""
        with self._lock:
            now = self.clock()
            self._last_request = now
            if now - self._rendered >= _FRESH:
                self._page, self._rendered = self._render(), now
            if self._is_ended:
                self._seen_end.set()
            return self._page

    def _render(self) -> bytes:
        page = render_training_report(
            self._folder, self.status, is_running=not self._is_ended, now=self.clock(), results=self._results
        )
        return page.encode()

    def _write(self) -> None:
        with self._lock:
            self._page, self._rendered = self._render(), self.clock()
            if self._folder.is_dir():
                with atomic_write(self._folder / REPORT) as draft:
                    draft.write_bytes(self._page)


class _Server(ThreadingHTTPServer):
    """Serves one page on the loopback interface, at a free port."""

    daemon_threads = True

    def __init__(self, page: LivePage) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = page
        port = self.server_address[1]
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnects."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 10.0

    def do_GET(self) -> None:
        """Send the page; a name that is not of this machine is refused, as DNS may be made to lead here."""
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            self._respond(HTTPStatus.MISDIRECTED_REQUEST)
            return
        if self.path != "/":
            self._respond(HTTPStatus.NOT_FOUND)
            return
        self._respond(HTTPStatus.OK, self.server.page.content())

    def _respond(self, status: HTTPStatus, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- a name of the base class
        """Write no log: stderr belongs to the progress of training."""
