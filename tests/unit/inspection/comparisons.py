"""Comparison reports for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dragoman.evaluation import results
from dragoman.evaluation.results import (
    Evaluation,
    Interval,
    LengthBin,
    MemberResult,
    Score,
    SignificanceTest,
    SystemResult,
    Throughput,
)
from dragoman.inspection.comparison.report_types import (
    AttentionComparison,
    ComparisonReport,
    Curve,
    ModelDetails,
    SentenceComparison,
    SystemAttention,
    SystemTranslation,
    TrainingSummary,
)

TEXTS = (
    ("A man rides a red bicycle.", "Ein Mann fährt ein rotes Fahrrad.", "Ein Mann fährt auf einem roten Rad."),
    ("The committee agreed.", "委员会表示同意。", "委员会已经同意了。"),
    ("Peace be with you, my friend.", "السلام عليك يا صديقي.", "سلام لك يا صديق."),
    ("Peace be with you.", "שלום עליכם.", "שלום לך, חבר."),
)
LOWS = (1, 10, 20, 30)


def curve(quantity: str, start: float, end: float, points: int) -> Curve:
    """A curve that falls, or rises, ever more slowly."""
    places = tuple(float(50 * place) for place in range(1, points + 1))
    values = tuple(end + (start - end) * math.exp(-4 * place / points) for place in range(points))
    return Curve(quantity, places, tuple(4000 * x for x in places), tuple(1.7 * x for x in places), values)


def model(name: str, number: int = 0, *, points: int = 40, value: str = "0.3") -> ModelDetails:
    """A run."""
    settings = {"data.source": '"en"', "model.dropout": value, "training.seed": str(number + 1)}
    return ModelDetails(
        name,
        "run",
        digest=f"{number:064x}",
        seed=number + 1,
        parameters=2_351_424,
        size_bytes=9_000_000,
        settings=settings,
        config="\n".join(f"{key} = {text}" for key, text in settings.items()),
        curves=(
            curve("training loss", 8.0, 1.9 - 0.05 * number, points),
            curve("validation loss", 6.0, 1.8 - 0.05 * number, max(2, points // 8)),
            curve("bleu", 2.0, 37.0 + number, max(2, points // 8)),
        ),
        training=TrainingSummary(
            updates=6091,
            tokens=14_000_000,
            seconds=5071.9,
            tokens_per_second=2760.0,
            pairs={"train": 28993},
            ended="finished",
            best={"loss": 1.67},
            best_update=6000,
            machine="a desk",
            versions={"dragoman": "0.1.0"},
            data_fingerprint="7958721748340839665",
            config_digest="c" * 64,
        ),
    )


def scores(number: int) -> tuple[Score, ...]:
    """Scores that increase with the number of the system; the first is the baseline."""
    return (
        Score("bleu", 37.0 + 1.1 * number, "nrefs:1|case:mixed|tok:13a", Interval(37.0 + 1.1 * number, 1.3)),
        Score("ter", 48.0 - 0.9 * number, "nrefs:1|case:lc", Interval(48.0 - 0.9 * number, 1.5)),
    )


def tests(number: int) -> tuple[SignificanceTest, ...]:
    if number == 0:
        return ()
    return (
        SignificanceTest("bleu", "bootstrap", 1.1 * number, 0.2 / number**2),
        SignificanceTest("ter", "bootstrap", -0.9 * number, 0.0004),
    )


def result(name: str, number: int = 0) -> MemberResult:
    """The evaluation of a member."""
    return MemberResult(
        name,
        "",
        f"{number:064x}",
        scores(number),
        (),
        seed=number + 1,
        tests=tests(number),
        flags={"repeats": 2, "empty": 0},
        throughput=Throughput(1000, 12_450, 8.3, 15.2, 400 << 20, "ctranslate2"),
    )


def system(name: str, number: int, names: Sequence[str]) -> SystemResult:
    """The evaluation of a system with members of these names."""
    bins = tuple(
        LengthBin(
            low,
            low + 9 if low < 30 else None,
            100,
            (Score("bleu", 40 - low / 5 + number, "", Interval(40 - low / 5 + number, 2.0 + low / 10)),),
        )
        for low in LOWS
    )
    members = tuple(result(each, number + place) for place, each in enumerate(names))
    return SystemResult(name, members, scores(number), {}, tests(number), bins)


def member_names(name: str, members: int) -> list[str]:
    return [name] if members == 1 else [f"{name} {each + 1}" for each in range(members)]


def comparison(*names: str, members: int = 1, points: int = 40, sentences: int = 4, text: str = "") -> ComparisonReport:
    """Systems of these names; `text` is in every place where untrusted text can be."""
    models = {
        name: tuple(
            model(each, number + place, points=points, value=text or f"0.{number + 1}")
            for place, each in enumerate(member_names(name, members))
        )
        for number, name in enumerate(names)
    }
    samples = [(text, text, f"{text}!") for _ in range(sentences)] if text else [TEXTS[n % 4] for n in range(sentences)]
    versions = {"dragoman": "0.1.0", "sacrebleu": "2.6.0"}
    machine, command = text or "Some processor, 2 cores", f"dragoman compare {text or ' '.join(names)}"
    evaluation = Evaluation(
        test_set=results.TestSet(text or "flickr 2016", 1000, "a" * 64, "b" * 64),
        systems=tuple(system(name, number, member_names(name, members)) for number, name in enumerate(names)),
        baseline=names[0],
        search={"beam": 5},
        versions=versions,
        machine=machine,
        command=command,
    )
    return ComparisonReport(
        models,
        evaluation,
        versions,
        machine,
        command,
        tuple(
            SentenceComparison(
                number + 1,
                source,
                reference,
                tuple(
                    SystemTranslation(name, reference if place else other, 20.0 * place)
                    for place, name in enumerate(names)
                ),
            )
            for number, (source, reference, other) in enumerate(samples)
        ),
        tuple(attention(number, names, *sample) for number, sample in enumerate(samples[:2])),
        (text,) if text else (),
    )


def with_systems(report: ComparisonReport, *systems: SystemResult) -> ComparisonReport:
    """Replace the evaluated systems."""
    assert report.evaluation is not None
    return replace(report, evaluation=replace(report.evaluation, systems=systems))


def attention(number: int, names: tuple[str, ...], source: str, reference: str, other: str) -> AttentionComparison:
    """Maps, and for the last system a note."""
    words, target = tuple(source.split() or [source]), tuple(other.split() or [other])
    weights = np.eye(len(target), len(words)) * 0.8 + 0.05
    maps = [SystemAttention(name, other, words, target, weights) for name in names[:-1]]
    note = SystemAttention(names[-1], other, note="no attention")
    return AttentionComparison(number + 1, source, reference, (*maps, note))
