"""Goals of the decoding speed, and their results."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.decoding.contenders import (
    HUGGINGFACE,
    IN_BATCHES,
    JOEY,
    MARIAN,
    OPENNMT,
    SETTINGS,
    Contender,
    bare,
    ours,
    typed,
)
from benchmarks.decoding.running import Round, Setting

START_GOAL = 1.5
"""Seconds of `dragoman translate` for one sentence on CTranslate2."""

SAME_GOAL = 0.99
"""The share of sentences whose best translation is that of our torch engine, in float32."""


@dataclass
class Side:
    """A contender and its rounds by setting, or its error message."""

    contender: Contender
    rounds: dict[Setting, list[Round]] = field(default_factory=dict)
    error: str = ""

    def rate(self, setting: Setting) -> float | None:
        """The median of its sentences per second."""
        return _median([each.per_second for each in self.rounds.get(setting, [])])

    def cpu_rate(self, setting: Setting) -> float | None:
        """The median of its sentences a CPU second."""
        return _median([each.per_cpu_second for each in self.rounds.get(setting, [])])


@dataclass(frozen=True)
class Goal:
    """A ratio of speeds, with the least value to reach, if any."""

    what: str
    setting: Setting
    floor: float | None
    ratio: float
    cpu_ratio: float
    spread: tuple[float, float]

    @property
    def verdict(self) -> str:
        if self.floor is None:
            return "–"
        return "met" if self.ratio >= self.floor else "**missed**"


@dataclass(frozen=True)
class Sameness:
    """The share of sentences that one of our engines translates as our torch engine does."""

    what: str
    setting: Setting
    share: float

    @property
    def verdict(self) -> str:
        return "met" if self.share >= SAME_GOAL else "**missed**"


def ratios(ours_: Sequence[Round], theirs: Sequence[Round]) -> tuple[list[float], list[float]]:
    """Ratios of speed, in wall time and CPU time, per round: both ran on the same machine in each round."""
    pairs = list(zip(ours_, theirs, strict=False))
    return [a.per_second / b.per_second for a, b in pairs], [a.per_cpu_second / b.per_cpu_second for a, b in pairs]


def goals(sides: Sequence[Side]) -> list[Goal]:
    """Every goal whose two contenders were measured."""
    found = {(side.contender.model, side.contender.name): side.rounds for side in sides}
    return [goal for wanted in _wanted() if (goal := _goal(found, *wanted)) is not None]


def samenesses(shares: Mapping[tuple[str, str, Setting], float | None]) -> list[Sameness]:
    """The goal for each of our engines in float32 whose share, by model, name and setting, is known."""
    ours_ = [("transformer", ours("ctranslate2", "float32")), ("transformer", typed("float32"))]
    ours_ += [("rnn", ours("onnx", "float32"))]
    return [
        Sameness(f"{name} = torch float32, {model}", setting, share)
        for model, name in ours_
        for setting in SETTINGS
        if (share := shares.get((model, name, setting))) is not None
    ]


Key = tuple[str, str]
Wanted = tuple[Key, Key, Setting, float | None]


def _wanted() -> Iterator[Wanted]:
    """Who is to be compared with whom, and how many times as fast one should be."""
    for precision in ("float32", "int8"):
        engine = ("transformer", bare(precision))
        for setting in SETTINGS:
            yield ("transformer", ours("ctranslate2", precision)), engine, setting, 0.9
        for setting in IN_BATCHES:
            yield ("transformer", typed(precision)), engine, setting, 0.9
    for peer in (JOEY, OPENNMT, HUGGINGFACE):
        for setting in SETTINGS:
            yield ("transformer", ours("torch", "float32")), ("transformer", peer), setting, 1.0
    for precision in ("float32", "int8"):
        onnx = ("rnn", ours("onnx", precision))
        for setting in SETTINGS:
            yield onnx, ("rnn", OPENNMT), setting, 4.0 if setting.batch == 1 else 2.0
        for setting in SETTINGS:
            yield onnx, ("rnn", MARIAN), setting, 1.0
        for setting in SETTINGS:
            yield onnx, ("transformer", ours("ctranslate2", precision)), setting, None


def _goal(
    found: Mapping[Key, Mapping[Setting, list[Round]]], one: Key, other: Key, setting: Setting, floor: float | None
) -> Goal | None:
    each, cpu = ratios(found.get(one, {}).get(setting, []), found.get(other, {}).get(setting, []))
    if not each:
        return None
    what = f"{one[1]} / {other[1]}, {one[0] if one[0] == other[0] else f'{one[0]} / {other[0]}'}"
    return Goal(what, setting, floor, statistics.median(each), statistics.median(cpu), (min(each), max(each)))


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
