"""The protocol of every driver: load once, then translate per request, one JSON object per line. Standard library only.

In: `{"beam": 5, "batch": 64, "sentences": 1000}`. Out, after a warm-up the first time: the seconds and CPU seconds of
the translation alone, and what was found: token numbers or texts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAD, UNK, BOS, EOS = range(4)
Tokens = list[int]
Found = Sequence[Tokens] | Sequence[str]


@dataclass(frozen=True)
class Ask:
    """Sentences, as token numbers without specials and as text, and how to translate them."""

    sources: list[Tokens]
    texts: list[str]
    beam: int
    batch: int


@dataclass(frozen=True)
class Timed:
    """What was found by a driver that keeps the time itself."""

    found: Found
    seconds: float
    cpu: float


Translate = Callable[[Ask], Found | Timed]


@dataclass(frozen=True)
class Task:
    """A folder with all that drivers share."""

    folder: Path

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    @property
    def facts(self) -> dict[str, Any]:
        """Sizes of the models, and what to force the length to where weights are not ours."""
        found: dict[str, Any] = self.read("facts.json")
        return found


def in_batches(ask: Ask, translate: Callable[[list[Tokens]], Sequence[Tokens]]) -> list[Tokens]:
    """Batches of like length, the longest first; the answers in the order of the sentences."""
    order = sorted(range(len(ask.sources)), key=lambda row: -len(ask.sources[row]))
    found: list[Tokens] = [[] for _ in order]
    for start in range(0, len(order), ask.batch):
        rows = order[start : start + ask.batch]
        for row, tokens in zip(rows, translate([ask.sources[row] for row in rows]), strict=True):
            found[row] = tokens
    return found


def cut(tokens: Tokens) -> Tokens:
    """A translation up to its end, without specials."""
    if EOS in tokens:
        tokens = tokens[: tokens.index(EOS)]
    return [token for token in tokens if token not in (PAD, BOS)]


def limit(sources: Sequence[Tokens]) -> int:
    """The most tokens that a translation of any of these may have, its end among them."""
    return 2 * max(map(len, sources)) + 20


def cpu_seconds() -> float:
    """Of this process and of those it has started and seen end."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def serve(load: Callable[[Task, argparse.Namespace], Translate]) -> None:
    """Load, say so, and answer until there are no more questions."""
    options = parser().parse_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what toolkits print is no answer
    task = Task(options.task)
    translate = load(task, options)
    sources, texts = task.read("sources.json"), task.read("texts.json")
    say(answers, {"ready": True})
    warm: set[tuple[int, int]] = set()
    for line in sys.stdin:
        asked = json.loads(line)
        beam, batch, count = asked["beam"], asked["batch"], asked["sentences"]
        if (beam, batch) not in warm and options.warmup:
            translate(Ask(sources[: options.warmup], texts[: options.warmup], beam, batch))
            warm.add((beam, batch))
        done = timed(translate, Ask(sources[:count], texts[:count], beam, batch))
        say(answers, {"seconds": done.seconds, "cpu": done.cpu, "found": list(done.found)})


def timed(translate: Translate, ask: Ask) -> Timed:
    cpu, began = cpu_seconds(), time.perf_counter()
    found = translate(ask)
    seconds = time.perf_counter() - began
    return found if isinstance(found, Timed) else Timed(found, seconds, cpu_seconds() - cpu)


def say(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def parser() -> argparse.ArgumentParser:
    """The options all drivers share."""
    options = argparse.ArgumentParser()
    options.add_argument("--task", type=Path, required=True)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--warmup", type=int, default=20)
    options.add_argument("--model", choices=["transformer", "rnn"], default="transformer")
    options.add_argument("--engine", default="auto")
    options.add_argument("--precision", default="float32")
    return options
