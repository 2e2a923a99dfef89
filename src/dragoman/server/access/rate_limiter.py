"""Token-bucket rate limiter per API key or client address, in source tokens per minute."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.server.errors import RateLimited

__all__ = ["MAX_BUCKETS", "RateLimiter"]

MAX_BUCKETS = 10_000
"""Maximum number of buckets; the least recently used are dropped."""


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
        """Return the bucket id of a key."""
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
        """Put tokens back."""
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
    wait = missing * 60 / per_minute
    return RateLimited(
        f"Slowdown: the limit is {per_minute} source tokens per minute; try again in {wait:.0f} s", retry_after=wait
    )
