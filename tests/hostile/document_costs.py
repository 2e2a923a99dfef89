"""Measure the CPU time and the memory of reading the largest documents; run as a program in a process of its own.

::

    python -m tests.hostile.document_costs txt      # every shape of one format
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from dragoman.documents.formats import FORMATS, read_document
from dragoman.errors import DataError
from tests.hostile.repeated_shapes import CUE, DOCUMENTS, TEXTS
from tests.unit.documents.uppercase_translation import members, packed

SIZE = 8 << 20
BELOW = 0.75  # a document that is rejected is made smaller until it is read: the largest ones cost most
SAMPLE = 13  # in the checks: step between the measured shapes of text

Build = Callable[[int], bytes]
"""Makes a document of a number of bytes."""


def status(name: str) -> int:
    """Return a figure of this process in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def shapes(suffix: str, every: int = 1) -> Iterator[tuple[str, str, Build]]:
    """Yield a description, a file name and a builder for each shape of a format."""
    prefix = {"srt": CUE, "po": 'msgid "', "html": "<p>", "htm": "<p>", "tex": "\\item "}.get(suffix, "")
    if suffix in ("txt", "srt", "po", "md", "mdx", "html", "htm", "rst", "tex"):
        for unit in TEXTS[len(suffix) :: every]:
            yield f"{suffix}: {unit!r}", f"a.{suffix}", _of_text(suffix, prefix, unit)
    for name, (file, build) in DOCUMENTS.items():
        if file.endswith(f".{suffix}"):
            yield name, file, _of_size(build, is_archive=FORMATS[f".{suffix}"].is_archive)


def _of_text(suffix: str, prefix: str, unit: str) -> Build:
    inner = unit.replace("\x00", "a")
    if suffix == "po":
        inner = inner.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    after = 'a"\nmsgstr ""\n' if suffix == "po" else "a"
    return lambda size: (prefix + inner * ((size - 1000) // len(inner.encode())) + after).encode()


def _of_size(build: Callable[[int], bytes], *, is_archive: bool) -> Build:
    one, many = len(_content(build(1))), len(_content(build(101)))
    each = max(1.0, (many - one) / 100)

    def made(size: int) -> bytes:
        data = build(max(1, int((size - one) / each)))
        # Pictures make an archive large enough for the permitted ratio of compression.
        return packed(members(data) | {"media.bin": os.urandom(1 << 20)}) if is_archive else data

    return made


def _content(data: bytes) -> bytes:
    return b"".join(members(data).values()) if data.startswith(b"PK") else data


def measured(name: str, build: Build) -> tuple[float, str]:
    """Return the CPU time of the most expensive attempt, and its result."""
    size, worst = SIZE, (0.0, "")
    while size > 100_000:
        data = build(size)
        if len(data) > SIZE:
            size = int(size * BELOW)
            continue
        began = time.process_time()
        try:
            found = f"read {len(read_document(name, data).segments):,} segments"
        except DataError as error:
            found = str(error)
        spent = time.process_time() - began
        worst = max(worst, (spent, f"{size:,} bytes: {found}"))
        if found.startswith("read") or "at most" not in found:
            break
        size = int(size * BELOW)
    return worst


def main(suffix: str, every: int = 1) -> dict[str, tuple[float, int, str]]:
    """Return CPU seconds, bytes of memory above the start and the result, by shape."""
    for each in FORMATS:  # import every reader
        with contextlib.suppress(DataError):
            read_document(f"a{each}", b"x")
    baseline = status("VmRSS")
    results = {}
    for title, name, build in shapes(suffix, every):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM
        seconds, result = measured(name, build)
        results[title] = (seconds, status("VmHWM") - baseline, result)
    return results


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)))
