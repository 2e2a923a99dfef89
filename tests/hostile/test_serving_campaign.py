"""What the service promises when things go wrong: the small version of the campaign, planted faults among it."""

import asyncio
import itertools
import math
from pathlib import Path

import pytest

from benchmarks.serving.client import Connection, Lost, request_bytes
from benchmarks.serving.load import Bodies, Outcome, Tally, open_loop, percentile
from benchmarks.serving_campaign.__main__ import ROWS, run_row
from benchmarks.serving_campaign.hostile_requests import hostile_requests
from benchmarks.serving_campaign.html import things_of
from benchmarks.serving_campaign.html_payloads import payloads
from benchmarks.serving_campaign.report import page
from benchmarks.serving_campaign.room import Room
from benchmarks.serving_campaign.rows import Row
from tests.hostile.strange_bundles import CASES

ELSEWHERE = {"company"}  # tests/equivalence has it


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Room:
    return Room(tmp_path_factory.mktemp("campaign"), is_small=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ROWS if name not in ELSEWHERE])
def test_promise_is_kept_and_planted_fault_found(name: str, room: Room):
    row = run_row(name, room)
    assert [target for target in row.targets if not target.is_met] == [], row.failures[:5]
    assert row.targets
    assert row.trials > 0
    assert row.is_control_found, row.control
    assert row.promise in page({name: row.to_json()})


def test_there_are_enough_strangers():
    assert len(CASES) >= 60


def test_hostile_requests_are_the_same_for_a_seed_and_of_many_kinds():
    some = list(hostile_requests(500, 3))
    assert some == list(hostile_requests(500, 3))
    assert some != list(hostile_requests(500, 4))
    assert len({each.name for each in some}) > 150


def test_payloads_are_the_same_for_a_seed():
    assert list(payloads(20, 1)) == list(payloads(20, 1))
    assert len(set(payloads(200, 1))) > 150


def test_things_of_html_are_what_a_browser_sees():
    found = things_of("<b title=x>a<i>b</i></b>&lt;u&gt;")
    assert found == {("DOCUMENT_FRAGMENT",): 1, ("b",): 1, ("b", "title", "x"): 1, ("i",): 1}
    assert things_of("<u>") - things_of("&lt;u&gt;") == {("u",): 1}


def test_a_row_is_broken_by_a_target_that_is_missed_and_by_a_control_that_finds_nothing():
    good, control = Row("x"), Row("x")
    good.target("a", "1", "1", is_met=True)
    control.target("a", "1", "1", is_met=True)
    assert good.is_kept
    good.controlled("nothing", control)
    assert not good.is_kept
    control.target("b", "1", "2", is_met=False)
    good.controlled("something", control)
    assert good.is_kept
    good.fail("no")
    good.no_failures("failures")
    assert not good.is_kept


def test_percentiles():
    assert [percentile([1, 2, 3, 4], share) for share in (0, 0.5, 0.99, 1)] == [1, 3, 4, 4]
    assert math.isnan(percentile([], 0.5))


def test_answers_that_come_too_late_are_no_goodput():
    tally = Tally(2.0, [Outcome(0, 0, 1, 200), Outcome(0, 0, 3, 200), Outcome(1, 1, 1.5, 503)])
    assert tally.per_second == 0.5
    assert tally.statuses == {"200": 2, "503": 1}


class Listener:
    """A server that answers what it is told to, after a while."""

    def __init__(self, answer: bytes, seconds: float = 0.0) -> None:
        self._answer, self._seconds = answer, seconds

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(self._seconds)
                writer.write(self._answer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass  # the client has left, or the test is over
        finally:
            writer.close()


async def asked(answer: bytes) -> tuple[int, bytes]:
    server = await asyncio.start_server(Listener(answer), "127.0.0.1", 0)
    async with server:
        connection = await Connection.open(server.sockets[0].getsockname()[1])
        try:
            reply = await connection.ask("GET", "/")
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
    assert asyncio.run(asked(answer)) == expected


def test_client_says_that_an_answer_was_lost():
    with pytest.raises(Lost):
        asyncio.run(asked(b"nonsense\r\n\r\n"))


def test_open_loop_counts_from_when_a_request_was_due():
    async def loaded() -> Tally:
        answer = Listener(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0.05)
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            bodies = Bodies("/", [b""])
            return await open_loop(server.sockets[0].getsockname()[1], bodies, per_second=50, seconds=0.5)

    tally = asyncio.run(loaded())
    assert 10 <= len(tally.outcomes) <= 50
    assert tally.count(200) == len(tally.outcomes)
    assert all(each.seconds >= 0.05 for each in tally.outcomes)
    assert all(each.sent >= each.due for each in tally.outcomes)


def test_requests_have_their_length():
    data = request_bytes("POST", "/x", b"abc")
    assert data.endswith(b"\r\n\r\nabc")
    assert b"Content-Length: 3\r\n" in data


def test_folders_of_a_room_are_new(tmp_path: Path):
    room = Room(tmp_path / "room", is_small=True)
    folders = [room.new_folder("a") for _ in itertools.repeat(None, 3)]
    assert len(set(folders)) == 3
