"""The serving campaign in its small version: every target is met, and every planted fault is found."""

import asyncio
import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.serving_campaign.__main__ import EXPERIMENTS, run_experiment
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from benchmarks.serving_campaign.hostile_requests import hostile_requests
from benchmarks.serving_campaign.html import elements_and_attributes
from benchmarks.serving_campaign.html_payloads import payloads
from benchmarks.serving_campaign.report import page
from testkit.http_client import Connection, ConnectionLost, request_bytes
from testkit.http_load import Bodies, Outcome, Tally, open_loop, percentile
from testkit.untrusted_bundles import CASES


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    environment = Environment(tmp_path_factory.mktemp("campaign"), is_small=True)
    yield environment
    environment.close()


# See tests/server/test_openapi.py and tests/equivalence/test_service_batch_independence.py.
TESTED_ELSEWHERE = {"schema", "batch-independence"}
# CONTRIBUTING.md names the faster tests of the same properties.
LONG = {"aborts", "drain", "soak", "untrusted-bundles"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in LONG else ())
        for name in EXPERIMENTS
        if name not in TESTED_ELSEWHERE
    ],
)
def test_targets_are_met_and_the_planted_fault_is_found(name: str, environment: Environment):
    result = run_experiment(name, environment)
    assert [target for target in result.targets if not target.is_met] == [], result.failures[:5]
    assert result.targets
    assert result.trials > 0
    assert result.is_control_found, result.control
    assert result.promise in page({name: result.to_json()})


def test_there_are_enough_untrusted_bundles():
    assert len(CASES) >= 60


def test_hostile_requests_are_the_same_for_a_seed_and_of_many_kinds():
    some = list(hostile_requests(60, 3))
    assert some == list(hostile_requests(60, 3))
    assert some != list(hostile_requests(60, 4))
    assert len({each.name for each in some}) > 40


def test_payloads_are_the_same_for_a_seed():
    assert list(payloads(20, 1)) == list(payloads(20, 1))
    assert len(set(payloads(200, 1))) > 150


def test_elements_and_attributes_are_parsed_like_in_a_browser():
    found = elements_and_attributes("<b title=x>a<i>b</i></b>&lt;u&gt;")
    assert found == {("DOCUMENT_FRAGMENT",): 1, ("b",): 1, ("b", "title", "x"): 1, ("i",): 1}
    assert elements_and_attributes("<u>") - elements_and_attributes("&lt;u&gt;") == {("u",): 1}


def test_a_missed_target_or_a_control_without_one_fails_the_experiment():
    good, control = ExperimentResult("x"), ExperimentResult("x")
    good.target("a", "1", "1", is_met=True)
    control.target("a", "1", "1", is_met=True)
    assert good.is_passed
    good.set_control("nothing", control)
    assert not good.is_passed
    control.target("b", "1", "2", is_met=False)
    good.set_control("something", control)
    assert good.is_passed
    good.fail("no")
    good.no_failures("failures")
    assert not good.is_passed


def test_percentiles():
    assert [percentile([1, 2, 3, 4], share) for share in (0, 0.5, 0.99, 1)] == [1, 3, 4, 4]
    assert math.isnan(percentile([], 0.5))


def test_late_answers_are_not_goodput():
    tally = Tally(2.0, [Outcome(0, 0, 1, 200), Outcome(0, 0, 3, 200), Outcome(1, 1, 1.5, 503)])
    assert tally.per_second == 0.5
    assert tally.statuses == {"200": 2, "503": 1}


class Listener:
    """A server that sends a fixed answer after a delay."""

    def __init__(self, answer: bytes, seconds: float = 0.0) -> None:
        self._answer, self._seconds = answer, seconds

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(self._seconds)
                writer.write(self._answer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass  # the client has disconnected, or the test has ended
        finally:
            writer.close()


async def requested(answer: bytes) -> tuple[int, bytes]:
    server = await asyncio.start_server(Listener(answer), "127.0.0.1", 0)
    async with server:
        connection = await Connection.open(server.sockets[0].getsockname()[1])
        try:
            reply = await connection.request("GET", "/")
            return reply.status, reply.body
        finally:
            connection.abort()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", (200, b"hi")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n2\r\ni!\r\n0\r\n\r\n", (200, b"hi!")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
    ],
)
def test_client_reads_answers(answer: bytes, expected: tuple[int, bytes]):
    assert asyncio.run(requested(answer)) == expected


def test_client_reports_a_lost_connection():
    with pytest.raises(ConnectionLost):
        asyncio.run(requested(b"nonsense\r\n\r\n"))


def test_open_loop_counts_from_when_a_request_was_due():
    async def loaded() -> Tally:
        answer = Listener(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0.05)
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            bodies = Bodies("/", [b""])
            return await open_loop(server.sockets[0].getsockname()[1], bodies, per_second=50, seconds=0.5)

    tally = asyncio.run(loaded())
    assert len(tally.outcomes) > 10
    assert tally.count(200) == len(tally.outcomes)
    assert all(each.seconds >= 0.05 for each in tally.outcomes)
    assert all(each.sent >= each.due for each in tally.outcomes)


def test_requests_have_their_length():
    data = request_bytes("POST", "/x", b"abc")
    assert data.endswith(b"\r\n\r\nabc")
    assert b"Content-Length: 3\r\n" in data


def test_new_folders_are_distinct(tmp_path: Path):
    environment = Environment(tmp_path / "environment", is_small=True)
    folders = [environment.new_folder("a") for _ in itertools.repeat(None, 3)]
    assert len(set(folders)) == 3
