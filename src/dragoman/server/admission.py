"""Who may come in. Places are taken before any work is done, and what cannot be done in time is refused at once."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from dragoman.server.errors import Draining, Overloaded, Refused, TooLarge
from dragoman.server.meter import Meter, NoMeter
from dragoman.server.settings import Limits

__all__ = ["Admission", "Pace", "Place"]

_FIRST_PACE = 1000.0  # source pieces a second of a core, until it is measured
_FIRST_SECONDS = 0.5  # how much that guess weighs
_MEMORY = 2.0  # seconds of full load after which what was measured weighs half
_FIRST_PIECES = 20.0  # of a request, until some were seen
_SURE = 0.8  # of the pace: it is measured late, and batches are not all alike
_NEWS = 0.05  # how much one request changes what the next is expected to bring
_MOST_COUNTED = 1024  # pieces of one request: others are let in between what it has beyond these, and do not wait


class Pace:
    """How many source pieces a second are translated under full load.

    What is translated while nothing waits says little: small batches are slow, and larger ones would not have been.
    """

    def __init__(self, workers: int = 1) -> None:
        self.batch = 0.0
        """How many pieces a batch has, of late."""
        self._pieces = _FIRST_PACE * workers * _FIRST_SECONDS
        self._seconds = _FIRST_SECONDS

    @property
    def pieces_a_second(self) -> float:
        """The mean of late."""
        return self._pieces / self._seconds

    def learn(self, pieces: int, seconds: float) -> None:
        """So many pieces were done in so many seconds, and others waited all the while."""
        kept = 0.5 ** (seconds / _MEMORY)
        self.batch = self.batch * kept + pieces * (1 - kept)
        self._pieces = self._pieces * kept + pieces
        self._seconds = self._seconds * kept + seconds


class Admission:
    """Counts the requests in the house, and the pieces that they brought. Used by the event loop's thread alone."""

    def __init__(
        self,
        limits: Limits,
        *,
        workers: int = 1,
        meter: Meter | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.pace = Pace(workers)
        self.pieces = 0.0
        """That are expected or wait, and those that are being translated."""
        self.requests = 0
        self.is_draining = False
        self._limits, self._meter = limits, meter or NoMeter()
        self._clock = clock or asyncio.get_running_loop().time
        self._usual = _FIRST_PIECES
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def wait(self) -> float:
        """How many seconds whoever comes now would wait, at worst: until all who are here are done.

        Those who come later may be done in the same batch; so that is counted besides, but for an empty house.
        """
        if not self.pieces:
            return 0.0
        return (self.pieces + self.pace.batch) / self.pace.pieces_a_second / _SURE

    def enter(self, seconds: float | None = None) -> Place:
        """Take a place, with room for what a request usually brings; `seconds` is how long it may take."""
        if self.is_draining:
            raise self._refusal(
                Draining("the server must be up to translate, got a request while it shuts down", retry_after=1.0)
            )
        if self.requests >= self._limits.connections:
            raise self._refusal(
                Overloaded(
                    f"the server must have fewer than {self.requests} requests, got one more; ask again",
                    retry_after=1.0,
                )
            )
        self._check_wait()
        self.requests += 1
        self._empty.clear()
        seconds = seconds or self._limits.seconds
        most = self._limits.request_pieces * max(1.0, seconds / self._limits.seconds)
        return Place(self, self._clock() + seconds, int(most), self._usual)

    def admit(self, pieces: int, most: int) -> None:
        """Refuse a request that would have so many pieces where `most` are allowed, or return."""
        if pieces > most:
            raise self._refusal(
                TooLarge(f"a request must have at most {most:,} pieces of text, got {pieces:,}; split it")
            )
        self._check_wait()

    def expect(self, pieces: int) -> None:
        """A request brought so many."""
        self._usual += (pieces - self._usual) * _NEWS

    def change(self, pieces: float) -> None:
        """So many pieces more, or less, are in the house."""
        self.pieces += pieces
        self._meter.house(self.requests, max(0, round(self.pieces)))

    def leave(self) -> None:
        """A request is over."""
        self.requests -= 1
        if not self.requests:
            self.pieces = 0.0  # sums of floats stray
            self._empty.set()
        self._meter.house(self.requests, max(0, round(self.pieces)))

    async def drain(self, seconds: float) -> bool:
        """Let nobody in any more, and wait for those who are, so long at most; whether all have left."""
        self.is_draining = True
        try:
            await asyncio.wait_for(self._empty.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _check_wait(self) -> None:
        wait, most = self.wait, self._limits.queue_seconds
        if wait > most:
            raise self._refusal(
                Overloaded(
                    f"a request must wait at most {most:g} s for its turn, got {wait:.1f} s; ask again later",
                    retry_after=max(1.0, math.ceil(wait - most)),
                )
            )

    def _refusal(self, error: Refused) -> Refused:
        self._meter.shed(error.reason)
        return error


class Place:
    """A request's place in the house: a `Ticket`. It may take `most` pieces; the longer it may stay, the more."""

    def __init__(self, admission: Admission, deadline: float, most: int, expected: float) -> None:
        self.deadline = deadline
        self.is_cancelled = False
        self._admission = admission
        self._most = most
        self._taken = 0
        self._held: float = expected
        self._is_guess = True
        self._counted = 0.0
        self._has_left = False
        self._count()

    def add(self, pieces: int) -> None:
        """Take room for so many source pieces; what was expected of the request makes way for it."""
        if self._is_guess:
            self._is_guess, self._held = False, 0
            self._count()
            self._admission.expect(pieces)
        self._admission.admit(self._taken + pieces, self._most)
        self._taken += pieces
        self._held += pieces
        self._count()

    def done(self, pieces: int) -> None:
        """So many of them are translated, or will not be."""
        self._held = max(0, self._held - pieces)
        self._count()

    def cancel(self) -> None:
        """Nobody waits any more."""
        self.is_cancelled = True

    def leave(self) -> None:
        """Give the place back, and with it all that was taken; a second time nothing happens."""
        if not self._has_left:
            self._has_left = True
            self._held = 0
            self._count()
            self._admission.leave()

    def _count(self) -> None:
        counted = min(self._held, _MOST_COUNTED)
        self._admission.change(counted - self._counted)
        self._counted = counted
