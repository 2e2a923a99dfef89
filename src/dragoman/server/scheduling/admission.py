"""Admission control: reserve capacity before doing work and reject requests that cannot meet their deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dragoman.server.errors import Draining, Overloaded, RequestError, TooLarge
from dragoman.server.metrics import ServerMetrics
from dragoman.server.settings import Limits

_INITIAL_REQUEST_TOKENS = 20.0  # expected per request, until requests were seen
_SAFETY = 0.8  # fraction of the throughput: the measurement lags, and batches differ
_SMOOTHING = 0.05  # weight of one request in the expected number of tokens
_MAX_COUNTED = 1024  # tokens per request: other requests are scheduled between the rest of a large one
_INITIAL_RATE = 1000.0  # source tokens per second and core, until measured
_INITIAL_SECONDS = 0.5  # weight of the initial rate
_HALF_LIFE = 2.0  # seconds of full load after which a measurement has half its weight


class ThroughputEstimate:
    """Moving average of source tokens per second under full load.

    Batches of an idle server are not counted: small batches are slow, and larger ones would not have been.
    """

    def __init__(self, workers: int = 1) -> None:
        self.batch_tokens = 0.0
        """Moving average of the tokens per batch."""
        self._tokens = _INITIAL_RATE * workers * _INITIAL_SECONDS
        self._seconds = _INITIAL_SECONDS

    @property
    def tokens_per_second(self) -> float:
        return self._tokens / self._seconds

    def update(self, tokens: int, seconds: float) -> None:
        """Add a measurement: tokens translated in this time while sentences were queued."""
        kept = 0.5 ** (seconds / _HALF_LIFE)
        self.batch_tokens = self.batch_tokens * kept + tokens * (1 - kept)
        self._tokens = self._tokens * kept + tokens
        self._seconds = self._seconds * kept + seconds


class AdmissionController:
    """Counts of admitted requests and of their tokens. Used on the thread of the event loop only."""

    def __init__(
        self,
        limits: Limits,
        *,
        workers: int = 1,
        metrics: ServerMetrics | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.throughput = ThroughputEstimate(workers)
        self.tokens = 0.0
        """Source tokens that are expected, queued or in a batch."""
        self.requests = 0
        self.is_draining = False
        self._limits, self._metrics = limits, metrics or ServerMetrics()
        self._clock = clock or asyncio.get_running_loop().time
        self._expected = _INITIAL_REQUEST_TOKENS
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def expected_wait(self) -> float:
        """Seconds until all admitted requests are done, with one batch more that later requests may be in."""
        if not self.tokens:
            return 0.0
        return (self.tokens + self.throughput.batch_tokens) / self.throughput.tokens_per_second / _SAFETY

    def admit(self, seconds: float | None = None, charge: Callable[[int], None] = lambda tokens: None) -> Reservation:
        """Admit a request for some `seconds`, or raise `Overloaded` or `Draining`; `charge` receives its tokens."""
        if self.is_draining:
            raise self._rejected(Draining())
        if self.requests >= self._limits.connections:
            raise self._rejected(
                Overloaded(f"the server has {self.requests} requests, as many as it accepts", retry_after=1)
            )
        self._check_wait()
        self.requests += 1
        self._empty.clear()
        seconds = seconds or self._limits.seconds
        max_tokens = self._limits.request_tokens * max(1.0, seconds / self._limits.seconds)
        return Reservation(self, self._clock() + seconds, int(max_tokens), self._expected, charge)

    def check(self, tokens: int = 0, max_tokens: int = 0) -> None:
        """Raise `TooLarge` if a request has more tokens than allowed, or `Overloaded` if it would wait too long."""
        if tokens > max_tokens:
            raise self._rejected(
                TooLarge(f"a request must have at most {max_tokens:,} tokens of text, got {tokens:,}; split it")
            )
        self._check_wait()

    def update_expected(self, tokens: int) -> None:
        """Update the expected number of tokens per request; for requests that were served."""
        self._expected += (min(tokens, _MAX_COUNTED) - self._expected) * _SMOOTHING

    def add_tokens(self, tokens: float) -> None:
        """Add tokens to the total; a negative number removes them."""
        self.tokens += tokens
        self._metrics.set_admitted(self.requests, max(0, round(self.tokens)))

    def remove_request(self) -> None:
        self.requests -= 1
        if not self.requests:
            self.tokens = 0.0  # removes rounding errors
            self._empty.set()
        self._metrics.set_admitted(self.requests, max(0, round(self.tokens)))

    async def drain(self, seconds: float) -> bool:
        """Reject new requests and wait for admitted ones; False on timeout."""
        self.is_draining = True
        try:
            await asyncio.wait_for(self._empty.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _check_wait(self) -> None:
        wait, limit = self.expected_wait, self._limits.queue_seconds
        if wait > limit:
            raise self._rejected(
                Overloaded(
                    f"the server is busy: a request would wait {wait:.1f} s, more than {limit:g} s",
                    retry_after=wait - limit,
                )
            )

    def _rejected(self, error: RequestError) -> RequestError:
        self._metrics.count_rejected(error.reason)
        return error


class Reservation:
    """Capacity of one admitted request. `deadline` is in the time of the event loop."""

    def __init__(
        self,
        admission: AdmissionController,
        deadline: float,
        max_tokens: int,
        expected: float,
        charge: Callable[[int], None],
    ) -> None:
        self.deadline = deadline
        self.is_cancelled = False
        """Read by worker threads between two steps of the search."""
        self.client = b""
        """Identifies who sent the request, for the cache of translations; empty if that must not be used."""
        self.tokens = 0
        """All tokens that were reserved."""
        self.charge = charge
        """Charges tokens to the rate limit of the client, without reserving capacity."""
        self.owner = ""
        """Name of the API key."""
        self._admission = admission
        self._max_tokens = max_tokens
        self._expected = expected
        self._held = 0.0
        self._is_estimate = False
        self._counted = 0.0
        self._is_released = False
        self._count()

    def expect(self) -> None:
        """Reserve the expected tokens until the first `reserve`; raises `Overloaded`.

        To be called when the body is there: clients that send none must not take capacity from others.
        """
        self._admission.check()
        self._is_estimate, self._held = True, self._expected
        self._count()

    def reserve(self, tokens: int) -> None:
        """Reserve source tokens and charge them; the first call replaces the expected ones.

        Raises `Overloaded`, and then charges nothing, `TooLarge`, or the error of `charge`.
        """
        if self._is_estimate:
            self._is_estimate, self._held = False, 0
            self._count()
        try:
            self._admission.check(self.tokens + tokens, self._max_tokens)
        except TooLarge:
            self.charge(min(tokens, self._max_tokens))  # they were counted, which takes time
            raise
        self.charge(tokens)
        self.tokens += tokens
        self._held += tokens
        self._count()

    def complete(self, tokens: int) -> None:
        """Free tokens that are translated or cancelled."""
        self._held = max(0, self._held - tokens)
        self._count()

    def cancel(self) -> None:
        self.is_cancelled = True

    def release(self, *, is_served: bool = False) -> None:
        """Free all capacity; a second call does nothing. Only a served request changes the expected tokens."""
        if not self._is_released:
            self._is_released = True
            if is_served and self.tokens and not self.is_cancelled:
                self._admission.update_expected(self.tokens)
            self._held = 0
            self._count()
            self._admission.remove_request()

    def _count(self) -> None:
        counted = min(self._held, _MAX_COUNTED)
        self._admission.add_tokens(counted - self._counted)
        self._counted = counted
