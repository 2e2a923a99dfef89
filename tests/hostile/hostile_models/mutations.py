"""Random changes of a valid file: flipped bits, extreme numbers, cuts, repeats and exchanged parts."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

EXTREMES = (
    b"\xff" * 4,
    bytes(4),
    b"\xff\xff\xff\x7f",
    struct.pack("<Q", 1 << 62),
    b"\xff" * 8,
    b"\x00\x00\x80\x7f",
    b"\x00\x00\xc0\x7f",
    b"[" * 8,
    b"\n\r\x1b[2J",
)
_HEAD = 2000  # half of the changes are made here, where headers are

Change = Callable[[bytearray, int, random.Random], None]


def flip(data: bytearray, place: int, generator: random.Random) -> None:
    data[place] ^= 1 << generator.randrange(8)


def extreme(data: bytearray, place: int, generator: random.Random) -> None:
    value = generator.choice(EXTREMES)
    data[place : place + len(value)] = value


def cut(data: bytearray, place: int, generator: random.Random) -> None:
    del data[place : place + generator.choice([1, 100, len(data)])]


def repeat(data: bytearray, place: int, generator: random.Random) -> None:
    data[place:place] = data[place : place + generator.choice([1, 64, 5000])]


def zeros(data: bytearray, place: int, generator: random.Random) -> None:
    length = min(generator.choice([16, 512, 4096]), len(data) - place)
    data[place : place + length] = bytes(length)


def exchange(data: bytearray, place: int, generator: random.Random) -> None:
    other, length = generator.randrange(len(data)), generator.choice([8, 64, 1024])
    data[place : place + length] = data[other : other + length]


KINDS: dict[str, Change] = {
    "flipped bit": flip,
    "extreme number": extreme,
    "cut": cut,
    "repeat": repeat,
    "zeroed part": zeros,
    "exchanged part": exchange,
}


def mutated(data: bytes, kind: str, seed: str) -> bytes:
    """The file with one change, that depends on the seed alone."""
    generator = random.Random(seed)
    changed = bytearray(data)
    place = generator.randrange(min(len(data), _HEAD) if generator.random() < 0.5 else len(data))
    KINDS[kind](changed, place, generator)
    return bytes(changed)
