"""Who asks, and what they may: one `Access` a request, in ``request.state.access``.

A key stands in ``Authorization`` (the guard has looked there before a route runs) or, as LibreTranslate's clients have
it, in the body: then the route hands it to `Access.admit`. Nothing is translated before: `AdmittedTicket.add` refuses.
"""

from __future__ import annotations

from dragoman.server.errors import Forbidden
from dragoman.server.jobs import Ticket
from dragoman.server.keys import Key, Keys
from dragoman.server.rates import Rates

__all__ = ["Access", "AdmittedTicket", "Gate"]

_MISSING = "Please contact the server operator to get an API key"
_WRONG = "Invalid API key"


class Gate:
    """What all requests share: the keys, if there are any, and the rates."""

    def __init__(self, keys: Keys | None, pieces_a_minute: int, rates: Rates | None = None) -> None:
        self.keys = keys
        self.pieces_a_minute = pieces_a_minute
        self.rates = rates or Rates()


class Access:
    """One request's standing."""

    def __init__(self, gate: Gate, address: str) -> None:
        self.key: Key | None = None
        self._gate = gate
        self.address = address
        self._who = b""
        self._per_minute = 0
        self._is_admitted = False

    @property
    def has_keys(self) -> bool:
        """Whether the server was given keys."""
        return self._gate.keys is not None

    @property
    def needs_key(self) -> bool:
        """Whether a key has yet to be shown."""
        return self.has_keys and self.key is None

    @property
    def name(self) -> str:
        """The key's name, for the log; empty without one."""
        return self.key.name if self.key else ""

    def identify(self, secret: str | None) -> None:
        """Look whose key this is, and raise `Forbidden` where it is nobody's. Without keys every secret is as good."""
        if self.needs_key and secret:
            assert self._gate.keys is not None
            self.key = self._gate.keys.find(secret)
            if self.key is None:
                raise Forbidden(_WRONG)

    def admit(self, secret: str | None = None) -> None:
        """Let the request in, with the key of its body if it has one; raises `Forbidden` or `TooMany`."""
        self.identify(secret)
        if self.needs_key:
            raise Forbidden(_MISSING)
        if self._is_admitted:
            return
        rates, own = self._gate.rates, self.key.pieces_a_minute if self.key else None
        self._per_minute = self._gate.pieces_a_minute if own is None else own
        if self._per_minute:
            self._who = rates.of_key(self.key.name) if self.key else rates.of_address(self.address)
            rates.check(self._who, self._per_minute)
        self._is_admitted = True

    def charge(self, pieces: int) -> None:
        """Take pieces from the bucket of who asks, or raise `TooMany`; `Forbidden` where nobody was admitted."""
        self.admit()
        if self._per_minute:
            self._gate.rates.take(self._who, self._per_minute, pieces)

    def require(self, right: str) -> None:
        """Raise `Forbidden` unless the key has the right; without a file of keys nobody has any."""
        if self.key is None or right not in self.key.rights:
            raise Forbidden(
                f"the key must have the right {right}, got {'one without' if self.key else 'none'}; ask the server "
                "operator for one"
            )


class AdmittedTicket:
    """A place whose pieces are charged to who asks; all else is as the service's own ticket has it."""

    def __init__(self, ticket: Ticket, access: Access) -> None:
        self.inner = ticket
        self.pieces = 0
        self._access = access

    @property
    def deadline(self) -> float:
        """As the service set it."""
        return self.inner.deadline

    @deadline.setter
    def deadline(self, value: float) -> None:
        self.inner.deadline = value

    def add(self, pieces: int) -> None:
        """Take room for the pieces, then charge them: what the service refuses costs nothing."""
        self.inner.add(pieces)
        self._access.charge(pieces)
        self.pieces += pieces

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits any more."""
        return self.inner.is_cancelled

    def done(self, pieces: int) -> None:
        """So many are translated."""
        self.inner.done(pieces)

    def cancel(self) -> None:
        """Nobody waits any more."""
        self.inner.cancel()

    def leave(self) -> None:
        """Give the place back."""
        self.inner.leave()
