"""An evaluation with every part."""

from __future__ import annotations

from dragoman.evaluation import results
from dragoman.evaluation.aggregate_members import combine_members
from dragoman.evaluation.results import (
    Evaluation,
    Interval,
    LengthBin,
    MemberResult,
    Perturbation,
    Score,
    SignificanceTest,
    SystemResult,
    Throughput,
)

_SIGNATURE = "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
METRICS = ("bleu", "chrf++", "ter")


def made_score(metric: str, value: float, half: float | None = 1.25) -> Score:
    interval = None if half is None else Interval(value - 0.01, half)
    return Score(metric, value, _SIGNATURE, interval)


def made_member(
    name: str, first: float, *, p_value: float | None = None, difference: float = -1.5, rich: bool = True
) -> MemberResult:
    """A member whose scores are `first`, one more, two more."""
    bins = ((1, 9), (10, 19), (60, None))
    perturbations = (
        Perturbation("typos", 500, 498, (made_score("bleu", first - 9.5, None),), {"bleu": 9.5}),
        Perturbation("upper case", 500, 0, (), {}),
        Perturbation("single words", 500, 480, (), {}, {"flagged": 0.25, "runaway": 0.5, "repeated": 0.0}),
    )
    return MemberResult(
        name=name,
        path=f"runs/{name}",
        digest="0" * 64,
        scores=tuple(made_score(metric, first + number) for number, metric in enumerate(METRICS)),
        hypotheses=("a", "b"),
        seed=1 if rich else None,
        parameters=2_351_424 if rich else None,
        tests=()
        if p_value is None
        else tuple(SignificanceTest(metric, "bootstrap", difference, p_value, _SIGNATURE) for metric in METRICS),
        by_length=tuple(
            LengthBin(low, high, 400, (made_score("bleu", first - number), made_score("chrf++", first)))
            for number, (low, high) in enumerate(bins)
        ),
        flags={"unlikely": 12, "dropped": 3} if rich else None,
        perturbations=perturbations if rich else (),
        throughput=Throughput(1000, 11_800, 12.5, 24.0, 410 << 20, "ctranslate2 float32, 2 threads") if rich else None,
    )


def made_system(name: str, *members: MemberResult, baseline: SystemResult | None = None) -> SystemResult:
    return combine_members(name, members, None if baseline is None else baseline.members)


def made_evaluation(*systems: SystemResult, test: str = "test_2016", sentences: int = 1000) -> Evaluation:
    return Evaluation(
        test_set=results.TestSet(test, sentences, "a" * 64, "b" * 64, ("en", "de")),
        systems=systems,
        baseline=systems[0].name if len(systems) > 1 else None,
        search={"beam": 5, "length_penalty": "average", "alpha": 1.0, "sample": False},
        versions={"dragoman": "0.1.0", "sacrebleu": "2.6.0"},
        machine="a machine, 2 cores",
        command="dragoman evaluate",
        resamples=1000,
        seconds={"all": 20.0, "translating": 19.0, "scoring": 0.5},
    )
