"""Broken files of every sample format: each of some hundred is read, or rejected with one clear line."""

import random
import re
import time

import pytest

from dragoman.documents.formats import read_document
from dragoman.errors import DataError
from tests.hostile.untrusted_documents import BILLION_LAUGHS
from tests.unit.documents.samples import SAMPLES
from tests.unit.documents.uppercase_translation import members, packed, uppercased

FILES = 300
SECONDS = 20.0
"""For all files of a format: a guard against a shape that takes quadratic time."""
NOISE = [b"\0", b"\xff", b"<", b">", b"&", b'"', b"\\", b"{", b"}", b"[", b"]", b"\n\n", b"`", b"::", b"$", b" --> "]


def broken(rng: random.Random, data: bytes) -> bytes:
    """Cut, repeat, remove or replace a part of a file."""
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    match rng.randrange(5):
        case 0:
            return data[:end]
        case 1:
            return data[:start] + data[start:end] * rng.choice([2, 20]) + data[end:]
        case 2:
            return data[:start] + data[min(end, start + 40) :]
        case 3:
            return data[:start] + rng.choice(NOISE) * rng.choice([1, 3, 500]) + data[start:]
        case _:
            return data[:start] + bytes(rng.randrange(256) for _ in range(4)) + data[start + 4 :]


def attacked(rng: random.Random, data: bytes) -> bytes:
    """Break a file or, of an archive, half of the time the content of a member."""
    if not data.startswith(b"PK") or rng.random() < 0.5:
        return broken(rng, data)
    parts = members(data)
    name = rng.choice(sorted(parts))
    return packed(parts | {name: broken(rng, parts[name])})


def outcome(name: str, data: bytes) -> str:
    """Read and write a file; return the error, which must be one line, or nothing."""
    try:
        document = read_document(name, data)
        assert document.write(document.segments, language="de") == data
        document.write([uppercased(segment) for segment in document.segments], language="de")
    except DataError as error:
        assert re.fullmatch(r".*\S; \w.*", str(error)), str(error)  # noqa: PT017 -- both outcomes are valid
        return str(error)
    return ""


@pytest.mark.parametrize("suffix", SAMPLES)
def test_a_broken_file_is_read_or_rejected_with_one_line(suffix: str):
    rng = random.Random(suffix)
    began = time.process_time()
    errors = [outcome(f"a.{suffix}", attacked(rng, SAMPLES[suffix][0])) for _ in range(FILES)]
    assert time.process_time() - began < SECONDS
    assert any(errors), "the control: some files are rejected"


@pytest.mark.parametrize("suffix", [suffix for suffix, (data, _) in SAMPLES.items() if data.startswith(b"PK")])
def test_bombs_are_rejected(suffix: str):
    parts = members(SAMPLES[suffix][0])
    zeros = packed(parts | {"media.bin": bytes(16 << 20)})
    assert "decompression bomb" in outcome(f"a.{suffix}", zeros)
    for name in parts:
        if parts[name].startswith(b"<"):
            laughs = packed(parts | {name: BILLION_LAUGHS + parts[name].replace(b"</", b"&j;</", 1)})
            assert "declares entities" in outcome(f"a.{suffix}", laughs)
