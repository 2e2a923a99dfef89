"""Content of the access log."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import asdict

import pytest

from dragoman.server.access_log import AccessLog, AccessRecord, set_up_logging
from dragoman.server.request_types import ReloadResult

LINE = AccessRecord("POST", "/translate", 200, 12.34, 7, 100, 50, "abc", "")


@pytest.fixture
def _loggers_as_before() -> Iterator[None]:
    names = ("dragoman.server", "uvicorn.error", "uvicorn.access", "asyncio")
    before = [(each, each.level, each.propagate, list(each.handlers)) for each in map(logging.getLogger, names)]
    yield
    for logger, level, propagate, handlers in before:
        logger.level, logger.propagate, logger.handlers[:] = level, propagate, handlers


def test_a_request_as_text_and_as_json_and_not_at_all():
    stream = io.StringIO()
    AccessLog("text", stream).request(LINE)
    said = " POST /translate 200 12.3 ms tokens=7 in=100 out=50 id=abc key=-\n"
    assert stream.getvalue().endswith(said)
    stream = io.StringIO()
    AccessLog("json", stream).request(LINE)
    assert json.loads(stream.getvalue()).items() >= (asdict(LINE) | {"event": "request"}).items()
    stream = io.StringIO()
    AccessLog("off", stream).request(LINE)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("form", ["text", "json", "off"])
def test_a_failure_has_its_kind_and_its_place_but_not_its_words(form):
    stream = io.StringIO()
    try:
        int("secret")
    except ValueError as error:
        AccessLog(form, stream).failure(error, "abc")
    said = stream.getvalue()
    assert "ValueError" in said
    assert "abc" in said
    assert "test_access_log.py" in said
    assert "secret" not in said


def test_nobody_who_reads_is_no_reason_to_end():
    stream = io.StringIO()
    stream.close()
    AccessLog("text", stream).event("draining", "soon")


def test_an_event_is_a_sentence_and_in_json_values():
    result = ReloadResult(("b",), ("a", "c"), {"d": "no file"}, ("e",), ("f",))
    lines = {}
    for form in ("text", "json"):
        stream = io.StringIO()
        AccessLog(form, stream).event("reload", str(result), **asdict(result))
        lines[form] = stream.getvalue()
    told = "reload: e added; b replaced; f removed; a, c unchanged; d failed: no file\n"
    assert lines["text"].partition(" ")[2] == told
    said = json.loads(lines["json"])
    assert (said["kept"], said["failed"]) == (["a", "c"], {"d": "no file"})


@pytest.mark.usefixtures("_loggers_as_before")
def test_notes_of_the_service_are_lines_too(capsys: pytest.CaptureFixture[str]):
    set_up_logging("json")
    logging.getLogger("dragoman.server.models.registry").error("%s keeps its bundle", "en-de")
    logging.getLogger("uvicorn.error").error("GET /secret")
    (line,) = capsys.readouterr().err.splitlines()
    said = json.loads(line)
    assert (said["event"], said["text"]) == ("error", "en-de keeps its bundle")


@pytest.mark.usefixtures("_loggers_as_before")
def test_an_error_of_the_service_has_one_prefix(capsys: pytest.CaptureFixture[str]):
    set_up_logging("text")
    logging.getLogger("dragoman.server.models.registry").error("en-de keeps its bundle")
    assert capsys.readouterr().err.partition(" ")[2] == "error: en-de keeps its bundle\n"
