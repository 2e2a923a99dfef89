"""An evaluation made by hand: every part of it is there."""

from __future__ import annotations

from dragoman.evaluation.metrics import Interval, Score
from dragoman.evaluation.report import (
    Evaluation,
    LengthScores,
    Member,
    PairedResult,
    Probe,
    Speed,
    Spread,
    SystemScores,
)

_SIGNATURE = "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
METRICS = ("bleu", "chrf++", "ter")


def made_score(name: str, value: float, half: float | None = 1.25) -> Score:
    interval = None if half is None else Interval(value - 0.01, half)
    return Score(name, value, _SIGNATURE, interval)


def made_member(name: str, first: float, *, p_value: float | None = None, rich: bool = True) -> Member:
    """A member whose scores are `first`, one more, two more."""
    scores = tuple(made_score(metric, first + number) for number, metric in enumerate(METRICS))
    bins = ((1, 9), (10, 19), (60, None))
    rows = tuple(
        LengthScores(low, high, 400, (made_score("bleu", first - number), made_score("chrf++", first)))
        for number, (low, high) in enumerate(bins)
    )
    probes = (
        Probe("typos", 500, 498, (made_score("bleu", first - 9.5, None),), {"bleu": 9.5}),
        Probe("upper case", 500, 0, (), {}),
        Probe("single words", 500, 480, (), {}, {"flagged": 0.25, "runaway": 0.5, "repeated": 0.0}),
    )
    against = () if p_value is None else tuple(PairedResult(m, "bootstrap", -1.5, p_value, _SIGNATURE) for m in METRICS)
    return Member(
        name=name,
        digest="0" * 64,
        scores=scores,
        hypotheses=("a", "b"),
        seed=1 if rich else None,
        parameters=2_351_424 if rich else None,
        by_length=rows,
        flags={"unlikely": 12, "dropped": 3} if rich else None,
        probes=probes if rich else (),
        speed=Speed(1000, 11_800, 12.5, 24.0, 410 << 20, "ctranslate2 float32, 2 threads") if rich else None,
        against_baseline=against,
    )


def made_system(name: str, *members: Member, welch: float | None = None) -> SystemScores:
    means = [sum(member.scores[place].value for member in members) / len(members) for place in range(3)]
    spreads = tuple(
        Spread(metric, mean, 0.31 if len(members) > 1 else None, 0.77 if len(members) > 1 else None, len(members))
        for metric, mean in zip(METRICS, means, strict=True)
    )
    return SystemScores(name, members, spreads, {} if welch is None else dict.fromkeys(METRICS, welch))


def made_evaluation(*systems: SystemScores, test: str = "test_2016") -> Evaluation:
    return Evaluation(
        test=test,
        sentences=1000,
        source_digest="a" * 64,
        reference_digest="b" * 64,
        systems=systems,
        baseline=systems[0].name if len(systems) > 1 else None,
        search={"beam": 5, "length_penalty": "average", "alpha": 1.0, "sample": False},
        versions={"dragoman": "0.1.0", "sacrebleu": "2.6.0"},
        machine="a machine, 2 cores",
        command="dragoman evaluate",
        languages=("en", "de"),
        resamples=1000,
        seconds={"all": 20.0, "translating": 19.0, "scoring": 0.5},
    )
