"""One line a request. Neither texts, nor query strings, nor keys, nor addresses are ever in it."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from traceback import extract_tb
from typing import Literal, TextIO

__all__ = ["Line", "RequestLog", "set_up_logging"]

LogForm = Literal["text", "json", "off"]


@dataclass(frozen=True, slots=True)
class Line:
    """What is said of a request. `route` is a template, or that the path is unknown."""

    method: str
    route: str
    status: int
    ms: float
    pieces: int
    bytes_in: int
    bytes_out: int
    request_id: str
    key: str


class RequestLog:
    """Writes lines, as text or as JSON, or none; straight to stderr, which takes a tenth of the time of `logging`."""

    def __init__(self, form: LogForm, stream: TextIO | None = None) -> None:
        self._form = form
        self._stream = stream or sys.stderr

    def request(self, line: Line) -> None:
        """A request is answered."""
        if self._form == "json":
            self._write(json.dumps({"time": _now(), "event": "request"} | asdict(line)))
        elif self._form == "text":
            self._write(
                f"{_now()} {line.method} {line.route} {line.status} {line.ms:.1f} ms pieces={line.pieces} "
                f"in={line.bytes_in} out={line.bytes_out} id={line.request_id} key={line.key or '-'}"
            )

    def event(self, name: str, **facts: object) -> None:
        """Something of the server itself: that it drains, reloads, ends."""
        if self._form == "json":
            self._write(json.dumps({"time": _now(), "event": name} | facts, default=str))
        else:
            self._write(" ".join([_now(), name, *(f"{key}={value}" for key, value in facts.items())]))

    def failure(self, error: BaseException, request_id: str) -> None:
        """A fault of ours: where it happened, and of what kind. What it says is left out: it may quote a text."""
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)]
        kind = type(error).__name__
        if self._form == "json":
            facts = {"time": _now(), "event": "failure", "request_id": request_id, "kind": kind, "frames": frames}
            self._write(json.dumps(facts))
        else:
            self._write("\n  ".join([f"{_now()} failure {kind} id={request_id}", *frames]))

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # whoever read it has gone; that is no reason to end
            self._stream.write(f"{line}\n")
            self._stream.flush()


def set_up_logging(form: LogForm) -> RequestLog:
    """Lines and the notes of the service go to stderr; uvicorn would speak of requests, and so must not speak."""
    log = RequestLog(form)
    ours = logging.getLogger("dragoman.server")
    ours.handlers[:] = [_Notes(log)]
    ours.propagate = False
    ours.setLevel(logging.INFO)
    for name in ("uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return log


class _Notes(logging.Handler):
    """What others note, as a line of ours; an exception's own words, which may quote a text, are left out."""

    def __init__(self, log: RequestLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.event("note", level=record.levelname.lower(), what=record.getMessage())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
