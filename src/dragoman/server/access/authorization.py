"""Identify the API key of a request; check its permissions and its rate limit in tokens per minute.

The middleware passes the key of ``Authorization``, or of the body (LibreTranslate, DeepL's older clients), before a
place is reserved and before the body is parsed. Nothing is translated before: `charge` requires authorization.
"""

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.server.access.api_keys import ApiKey, ApiKeyStore
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.errors import Forbidden, RateLimited

MAX_BUCKETS = 10_000
"""Maximum number of buckets; the least recently used are dropped."""

_BASE_TOKENS = 1  # of every request
_MISSING = (
    "This server requires an API key, as Authorization: Bearer KEY or DeepL-Auth-Key KEY, or as api_key; its operator "
    "gives them out"
)
_NO_KEYS = (
    "this server has no API keys, so no client has the right {right}; start it with --keys, or send SIGHUP to its "
    "process, which reloads models"
)
_WRONG = "Invalid API key"


@dataclass
class _Bucket:
    level: float
    at: float


class RateLimiter:
    """Buckets by salted hash: no address stays in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, max_buckets: int = MAX_BUCKETS) -> None:
        self._clock = clock
        self._max_buckets = max_buckets
        self._salt = secrets.token_bytes(16)
        self._buckets: OrderedDict[bytes, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def key_bucket(self, name: str) -> bytes:
        return self._hashed(f"key {name}")

    def address_bucket(self, address: str) -> bytes:
        """Return the bucket id of an address; IPv6 addresses of one /64 share a bucket."""
        try:
            number = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return self._hashed("address unknown")
        if isinstance(number, ipaddress.IPv6Address):
            if number.ipv4_mapped is not None:
                return self._hashed(f"address {number.ipv4_mapped}")
            return self._hashed(f"network {int(number) >> 64}")
        return self._hashed(f"address {number}")

    def check(self, bucket: bytes, per_minute: int) -> None:
        """Raise `RateLimited` if the bucket is empty."""
        found = self._filled(bucket, per_minute)
        if found.level < 1:
            raise _rate_limited(per_minute, 1 - found.level)

    def take(self, bucket: bytes, per_minute: int, tokens: int) -> None:
        """Take tokens, or raise `RateLimited`. More than a bucket holds is taken from a full one, on credit."""
        found = self._filled(bucket, per_minute)
        wanted = min(tokens, per_minute)
        if found.level < wanted:
            raise _rate_limited(per_minute, wanted - found.level)
        found.level -= tokens

    def refund(self, bucket: bytes, per_minute: int, tokens: int) -> None:
        found = self._filled(bucket, per_minute)
        found.level = min(per_minute, found.level + tokens)

    def _filled(self, bucket: bytes, per_minute: int) -> _Bucket:
        now = self._clock()
        found = self._buckets.get(bucket)
        if found is None:
            found = self._buckets[bucket] = _Bucket(per_minute, now)
            if len(self._buckets) > self._max_buckets:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(bucket)
        found.level = min(per_minute, found.level + (now - found.at) * per_minute / 60)
        found.at = now
        return found

    def _hashed(self, name: str) -> bytes:
        return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=16).digest()


def _rate_limited(per_minute: int, missing: float) -> RateLimited:
    return RateLimited(
        f"Slowdown: the limit is {per_minute} source tokens per minute", retry_after=missing * 60 / per_minute
    )


class AccessControl:
    """API keys, if required, and rate limiter of a server."""

    def __init__(
        self,
        keys: ApiKeyStore | None,
        tokens_per_minute: int,
        limiter: RateLimiter | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.keys = keys
        self.tokens_per_minute = tokens_per_minute
        self.limiter = limiter or RateLimiter()
        self.usage = usage or Usage(ServerDatabase(None))


class RequestAccess:
    """Identity and rights of one request."""

    def __init__(self, control: AccessControl, address: str) -> None:
        self.key: ApiKey | None = None
        self._control = control
        self.address = address
        self._bucket = b""
        self._per_minute = self._prepaid = 0
        self._is_authorized = False

    @property
    def usage(self) -> Usage:
        return self._control.usage

    @property
    def has_keys(self) -> bool:
        return self._control.keys is not None

    @property
    def needs_key(self) -> bool:
        """Whether a key is required and not yet identified."""
        return self.has_keys and self.key is None

    @property
    def name(self) -> str:
        """Name of the key, for the log; empty without one."""
        return self.key.name if self.key else ""

    @property
    def client(self) -> bytes:
        """Salted hash of the key or the address."""
        limiter = self._control.limiter
        return limiter.key_bucket(self.key.name) if self.key else limiter.address_bucket(self.address)

    @property
    def cache_part(self) -> bytes:
        """The client, whose translations are cached apart from those of others; empty if the key excludes them."""
        return b"" if self.key and "uncached" in self.key.rights else self.client

    def characters(self) -> int:
        """Return the number of characters translated in this month with the same key; reads the database."""
        return self.usage.total(self.name)

    def count(self, characters: int = 0, **others: int) -> None:
        """Add characters that were translated, or other numbers of `Usage`."""
        self.usage.count(self.name, characters=characters, **others)

    def identify(self, *secrets: str | None) -> None:
        """Find the first valid key, or raise `Forbidden` if all are invalid. A server without keys accepts any."""
        given = [secret for secret in secrets if secret]
        if self.needs_key and given:
            assert self._control.keys is not None
            self.key = next((key for key in map(self._control.keys.find, given) if key), None)
            if self.key is None:
                raise Forbidden(_WRONG, code="invalid_key")
            if self.key.is_expired:
                expiry, self.key = self.key.expiry, None
                raise Forbidden(
                    f"this API key expired at {expiry}; request another from the server operator", code="invalid_key"
                )

    def authorize(self, *secrets: str | None) -> None:
        """Authorize the request, with a key of its body if it has one; raises `Forbidden` or `RateLimited`."""
        self.identify(*secrets)
        if self.needs_key:
            raise Forbidden(_MISSING, code="missing_key")
        if self._is_authorized:
            return
        limiter, own = self._control.limiter, self.key.tokens_per_minute if self.key else None
        self._per_minute = self._control.tokens_per_minute if own is None else own
        if self._per_minute:
            self._bucket = self.client
            limiter.check(self._bucket, self._per_minute)
            limiter.take(self._bucket, self._per_minute, _BASE_TOKENS)
            self._prepaid = _BASE_TOKENS
        self._is_authorized = True

    def charge(self, tokens: int) -> None:
        """Charge tokens to the rate limit; raises `RateLimited`, or `Forbidden` without authorization.

        They include the token that every authorized request costs, so that rejected requests are not free.
        """
        self.authorize()
        if not self._per_minute or tokens <= 0:
            return
        limiter, prepaid = self._control.limiter, self._prepaid
        limiter.refund(self._bucket, self._per_minute, prepaid)
        try:
            limiter.take(self._bucket, self._per_minute, tokens)
        except RateLimited:
            limiter.take(self._bucket, self._per_minute, prepaid)
            raise
        self._prepaid = 0

    def require(self, right: str) -> None:
        """Raise `Forbidden` unless the key has the right; a server without keys grants no rights."""
        if not self.has_keys:
            raise Forbidden(_NO_KEYS.format(right=right))
        if self.key is None or right not in self.key.rights:
            who = "this key does not have" if self.key else "no client without a key has"
            raise Forbidden(f"{who} the right {right}; request a key from the server operator")
