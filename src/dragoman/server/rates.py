"""How much each may have translated in a minute: a bucket of source pieces for each key, or for each address."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.server.errors import TooMany

__all__ = ["MOST_BUCKETS", "Rates"]

MOST_BUCKETS = 10_000
"""Buckets beyond so many are forgotten, those first that were not asked for longest."""


@dataclass
class _Bucket:
    level: float
    at: float


class Rates:
    """Token buckets. What they are kept by is hashed with salt of this process: no address stays in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST_BUCKETS) -> None:
        self._clock = clock
        self._most = most
        self._salt = secrets.token_bytes(16)
        self._buckets: OrderedDict[bytes, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def of_key(self, name: str) -> bytes:
        """What the bucket of a key is kept by."""
        return self._hashed(f"key {name}")

    def of_address(self, address: str) -> bytes:
        """What the bucket of an address is kept by; whoever has an IPv6 address has all of its /64."""
        try:
            number = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return self._hashed("address unknown")
        if isinstance(number, ipaddress.IPv6Address):
            if number.ipv4_mapped is not None:
                return self._hashed(f"address {number.ipv4_mapped}")
            return self._hashed(f"network {int(number) >> 64}")
        return self._hashed(f"address {number}")

    def check(self, who: bytes, per_minute: int) -> None:
        """Raise `TooMany` where nothing is left."""
        bucket = self._filled(who, per_minute)
        if bucket.level < 1:
            raise _too_many(per_minute, 1 - bucket.level)

    def take(self, who: bytes, per_minute: int, pieces: int) -> None:
        """Take so many, or raise `TooMany`. More than a bucket holds is taken from a full one, on credit."""
        bucket = self._filled(who, per_minute)
        wanted = min(pieces, per_minute)
        if bucket.level < wanted:
            raise _too_many(per_minute, wanted - bucket.level)
        bucket.level -= pieces

    def _filled(self, who: bytes, per_minute: int) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.get(who)
        if bucket is None:
            bucket = self._buckets[who] = _Bucket(per_minute, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(who)
        bucket.level = min(per_minute, bucket.level + (now - bucket.at) * per_minute / 60)
        bucket.at = now
        return bucket

    def _hashed(self, who: str) -> bytes:
        return hashlib.blake2b(who.encode("utf-8", "surrogatepass"), key=self._salt, digest_size=16).digest()


def _too_many(per_minute: int, missing: float) -> TooMany:
    wait = missing * 60 / per_minute
    return TooMany(
        f"Slowdown: you may have {per_minute} source pieces translated in a minute; try again in {wait:.0f} s",
        retry_after=wait,
    )
