"""What an evaluation found, as a comparison shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dragoman.evaluation.metrics import Score
from dragoman.evaluation.report import Member, PairedResult, Speed, SystemScores
from dragoman.evaluation.weakest import weakest_result
from dragoman.inspection.comparison import Estimate, LengthPoint, Measured, SpeedFacts, Versus

__all__ = ["by_length", "of_member", "of_system"]

_TESTS = {"bootstrap": "paired bootstrap", "randomization": "paired approximate randomization"}


def of_member(member: Member | None) -> dict[str, Any]:
    """The fields of a `Compared` that a test gives; none without one."""
    if member is None:
        return {}
    paired = {result.metric: result for result in member.against_baseline}
    scores = tuple(
        Measured(
            score.name,
            _estimate(score),
            score.signature,
            _versus([paired[score.name]]) if score.name in paired else None,
        )
        for score in member.scores
    )
    return {"scores": scores, "flags": member.flags, "speed": _speed(member.speed)}


def of_system(system: SystemScores, baseline: SystemScores | None) -> tuple[Measured, ...]:
    """The scores of a system: its only member's, or their mean with the interval over seeds."""
    if len(system.members) == 1:
        scores: tuple[Measured, ...] = of_member(system.members[0])["scores"]
        seeds = 1 if baseline is None else len(baseline.members)
        return tuple(_against_seeds(score, seeds) for score in scores) if seeds > 1 else scores
    signatures = {score.name: score.signature for score in system.members[0].scores}
    return tuple(
        Measured(
            spread.metric,
            Estimate(spread.mean, spread.half_width),
            signatures.get(spread.metric, ""),
            _system_versus(system, baseline, spread.metric),
        )
        for spread in system.spreads
    )


def _against_seeds(score: Measured, seeds: int) -> Measured:
    """The test of a single member was made with each seed of the baseline, and is the weakest of them."""
    if score.versus is None:
        return score
    test = f"{score.versus.test}, the weakest against {seeds} members of the baseline"
    return replace(score, versus=replace(score.versus, test=test))


def _system_versus(system: SystemScores, baseline: SystemScores | None, metric: str) -> Versus | None:
    """Welch's test over seeds where both sides have several; else what the paired tests of all members allow.

    A metric by which no seed differs from another of its side leaves Welch's test, and so the page, without an answer.
    """
    if baseline is not None and len(baseline.members) > 1:
        means = {name: spread.mean for name, spread in _spreads(baseline).items()}
        if metric not in system.seeds_differ or metric not in means:
            return None
        difference = _spreads(system)[metric].mean - means[metric]
        return Versus(difference, system.seeds_differ[metric], "Welch's t-test over seeds")
    results = [result for member in system.members for result in member.against_baseline if result.metric == metric]
    return _versus(results) if results else None


def _spreads(system: SystemScores | None) -> Mapping[str, Any]:
    return {} if system is None else {spread.metric: spread for spread in system.spreads}


def _versus(results: Sequence[PairedResult]) -> Versus:
    """One result, or the weakest of several; members that lie on both sides of the baseline show nothing."""
    weakest = weakest_result(results)
    several = f", the weakest of {len(results)} members" if len(results) > 1 else ""
    test = f"{_TESTS.get(weakest.test, weakest.test)}{several}"
    return Versus(weakest.difference, weakest.p_value, test, weakest.signature)


def by_length(members: Sequence[Member]) -> tuple[LengthPoint, ...]:
    """Scores by length; of several members the means, and the means of their intervals."""
    points = []
    for bins in zip(*(member.by_length for member in members), strict=True):
        names = [score.name for score in bins[0].scores]
        scores = {
            name: _mean([_estimate(score) for each in bins for score in each.scores if score.name == name])
            for name in names
        }
        points.append(LengthPoint(bins[0].low, bins[0].high, bins[0].sentences, scores))
    return tuple(points)


def _mean(estimates: Sequence[Estimate]) -> Estimate:
    halves = [each.half_width for each in estimates if each.half_width is not None]
    value = sum(each.value for each in estimates) / len(estimates)
    return Estimate(value, sum(halves) / len(halves) if len(halves) == len(estimates) else None)


def _estimate(score: Score) -> Estimate:
    return Estimate(score.value, None if score.interval is None else score.interval.half_width)


def _speed(speed: Speed | None) -> SpeedFacts | None:
    if speed is None:
        return None
    seconds = max(speed.seconds, 1e-9)
    return SpeedFacts(
        engine=speed.engine,
        sentences_per_second=speed.sentences / seconds,
        words_per_second=speed.source_words / seconds,
        seconds=speed.seconds,
        cpu_seconds=speed.cpu_seconds,
        peak_bytes=speed.peak_bytes,
    )
