"""Parse training speed from logs: target tokens including ends of sentence, without padding.

Each parser takes a line and the seconds since the last line with a speed, and returns a window or None.

- OpenNMT-py (`bsz: source/target/sentences` per batch, `source/target tok/s`) counts labels that are not padding.
- JoeyNMT (`Tokens per Sec`) counts labels that are not padding, in the time since its last line.
- Marian (`Cost … * labels`, `Time`) counts labels by their mask.
- The drivers here print a JSON object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Some updates of a run."""

    updates: int
    tokens: float
    seconds: float


Reader = Callable[[str, float], Window | None]

OPENNMT = re.compile(r"Step\s+\d+/.*bsz:\s*\d+/\s*(\d+)/\s*\d+;\s*\d+/\s*(\d+) tok/s")
JOEY = re.compile(r"Step:\s*\d+,.*Tokens per Sec:\s*(\d+)")
MARIAN = re.compile(r"Up\. ([\d,]+) .*\* ([\d,]+) @ .*Time ([\d.]+)s")
REPORT_EVERY = 2
"""Updates between two lines of OpenNMT-py and JoeyNMT."""


def driver_window(line: str, _: float) -> Window | None:
    """A line of one of the drivers."""
    if not line.startswith('{"updates"'):
        return None
    found = json.loads(line)
    return Window(found["updates"], found["tokens"], found["seconds"])


def opennmt_window(line: str, _: float) -> Window | None:
    """A line of onmt_train."""
    found = OPENNMT.search(line)
    if not found or not int(found[2]):
        return None
    tokens = REPORT_EVERY * int(found[1])
    return Window(REPORT_EVERY, tokens, tokens / int(found[2]))


def joey_window(line: str, elapsed: float) -> Window | None:
    """A line of joeynmt; it gives no count, so that is its rate times our clock."""
    found = JOEY.search(line)
    return Window(REPORT_EVERY, int(found[1]) * elapsed, elapsed) if found else None


def marian_window(line: str, _: float) -> Window | None:
    """A line of Marian with --disp-freq 1u."""
    found = MARIAN.search(line)
    return Window(1, int(found[2].replace(",", "")), float(found[3])) if found else None


@dataclass(frozen=True)
class Speed:
    """All windows of a measurement together."""

    tokens_per_second: float
    tokens_per_update: float
    seconds: float

    @classmethod
    def of(cls, windows: Sequence[Window]) -> Speed:
        tokens, seconds = sum(w.tokens for w in windows), sum(w.seconds for w in windows)
        return cls(tokens / seconds, tokens / sum(w.updates for w in windows), seconds)
