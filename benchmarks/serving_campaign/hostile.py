"""HostileRequest requests: no crash, no 5xx except an intended 503, at most one CPU second each."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from benchmarks.serving.process import Server
from benchmarks.serving_campaign.environment import Environment
from benchmarks.serving_campaign.experiment import ExperimentResult
from benchmarks.serving_campaign.hostile_requests import MARK, HostileRequest, hostile_requests, slow_requests
from testkit.http_client import Connection, ConnectionLost, Pool

TIMEOUT = 60.0
CPU = 1.0
BODY_SECONDS = 2.0
TOKENS = 512  # per request: translation time is bounded by this limit, which an operator sets
HEALTHY = {"q": "a b c", "source": "en", "target": "de"}


def hostile(environment: Environment) -> ExperimentResult:
    """Run the experiment, and a control with a route that fails on some texts."""
    result = _run(environment, environment.scaled(80, 10_000), environment.scaled(6, 60), "")
    result.set_control(
        "a route that breaks on some texts", _run(environment, environment.scaled(60, 1000), 0, "failing_on_non_ascii")
    )
    return result


def _run(environment: Environment, count: int, slow: int, fault: str) -> ExperimentResult:
    result = ExperimentResult("hostile requests")
    settings = {"limits.body_seconds": BODY_SECONDS, "limits.request_tokens": TOKENS, "beam": 2}
    with environment.shared(environment.bundle(), fault=fault, **settings) as server:
        asyncio.run(_send_all(server, result, count, slow, environment.seed))
        result.trials = count + slow
        result.no_failures("crashes, 5xx other than a 503 with Retry-After, no answer")
        longest = max(result.facts["cpu"], key=lambda pair: pair[0])
        result.facts["cpu"] = sorted(result.facts["cpu"], reverse=True)[:10]
        most = CPU * environment.time_factor
        what = f"most CPU seconds of a request of at most {TOKENS:,} tokens"
        result.target(what, f"≤ {most:g}", f"{longest[0]:.2f} ({longest[1]})", longest[0] <= most)
        result.target("alive, and answers as before", "yes", result.facts["after"], result.facts["after"] == "yes")
        result.target("texts of requests in the log", "none", *_found(MARK not in server.output))
        result.target("tracebacks in the log", "none", *_found("Traceback" not in server.output))
    return result


def _found(is_good: bool) -> tuple[str, bool]:
    return ("none" if is_good else "some", is_good)


async def _send_all(server: Server, result: ExperimentResult, count: int, slow: int, seed: int) -> None:
    before = await _healthy(server)
    if slow:  # the control measures no CPU time
        await warm_up(server)
    waiting = asyncio.create_task(_slow_clients(server, result, slow))
    result.facts["cpu"], result.facts["statuses"] = [(0.0, "")], {}
    for request in hostile_requests(count, seed):
        began = server.cpu_seconds
        status = await _send(server, request, result)
        if slow and waiting.done():  # slow clients use CPU time too
            result.facts["cpu"].append((server.cpu_seconds - began, request.name))
        result.facts["statuses"][status] = result.facts["statuses"].get(status, 0) + 1
        if not server.is_running:
            result.fail(f"the server ended with {server.process.returncode} at: {request.name}")
            return
    await waiting
    after = await _healthy(server)
    result.facts["after"] = "yes" if after == before else f"{before!r} became {after!r}"


async def warm_up(server: Server) -> None:
    """Load the second engine before measuring; its first use is not an attack."""
    pool = Pool(server.port)
    body = {"text": "a", "source": "en", "target": "de"}
    await pool.request("POST", "/v1/translate", {**body, "glossary": {"a": "b"}})
    await pool.request("POST", "/v1/inspect", body)
    pool.close()


async def _healthy(server: Server) -> object:
    pool = Pool(server.port)
    try:
        reply = await pool.request("POST", "/translate", HEALTHY)
        return reply.status, reply.body
    except (ConnectionLost, OSError) as error:
        return str(error)
    finally:
        pool.close()


async def _send(server: Server, request: HostileRequest, result: ExperimentResult) -> str:
    """Return the status of the response, or `hung up`."""
    try:
        connection = await Connection.open(server.port)
    except OSError as error:
        result.fail(f"no connection at: {request.name}: {error}")
        return "no connection"
    try:
        with suppress(
            ConnectionLost
        ):  # the server may close before it has read everything; a response may still be available
            await connection.send(request.data)
        has_body = not request.data.startswith(b"HEAD ")
        reply = await asyncio.wait_for(connection.read(has_body=has_body), TIMEOUT)
    except TimeoutError:
        if request.is_http:
            result.fail(f"no answer within {TIMEOUT:.0f} s: {request.name}")
        return "no answer"
    except ConnectionLost:
        if request.is_http and len(request.data) < 1 << 19:  # a reset may arrive before the response to a large request
            result.fail(f"hung up without an answer: {request.name}")
        return "hung up"
    finally:
        connection.abort()
    if reply.status >= 500 and not (reply.status == 503 and "retry-after" in reply.headers) and reply.status != 501:
        result.fail(f"{reply.status}: {request.name}: {reply.body[:200]!r}")
    return str(reply.status)


async def _slow_clients(server: Server, result: ExperimentResult, count: int) -> None:
    """Run clients that never complete their requests; they must not delay others."""
    kinds = list(slow_requests().items())
    await asyncio.gather(*(_slow_client(server, result, *kinds[number % len(kinds)]) for number in range(count)))


async def _slow_client(server: Server, result: ExperimentResult, name: str, parts: list[bytes]) -> None:
    began = time.perf_counter()
    limit = BODY_SECONDS + TIMEOUT
    try:
        connection = await Connection.open(server.port)
    except OSError as error:
        result.fail(f"no connection for a slow client: {name}: {error}")
        return
    try:
        ended = asyncio.create_task(connection.reader.read())
        for part in parts:
            done, _ = await asyncio.wait([ended], timeout=0.25)
            if done:
                break
            connection.writer.write(part)
        await asyncio.wait_for(ended, limit)
    except OSError:
        pass
    except TimeoutError:
        result.fail(f"a slow client was still connected after {time.perf_counter() - began:.0f} s: {name}")
    finally:
        connection.abort()
