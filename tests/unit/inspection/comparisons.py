"""Comparisons of systems that never were."""

from __future__ import annotations

import math

import numpy as np

from dragoman.inspection.comparison import (
    AlignedMap,
    AlignedSentence,
    Compared,
    ComparedSystem,
    Comparison,
    Curve,
    DifferingSentence,
    Estimate,
    LengthPoint,
    Measured,
    SpeedFacts,
    TextFacts,
    TrainingFacts,
    Translated,
    Versus,
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


def member(name: str, number: int = 0, *, points: int = 40, value: str = "0.3") -> Compared:
    """A run."""
    settings = {"data.source": '"en"', "model.dropout": value, "training.seed": str(number + 1)}
    return Compared(
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
        training=TrainingFacts(
            *(6091, 14_000_000, 5071.9, 2760.0, {"train": 28993}, "finished", "loss 1.67", "a desk"),
            {"dragoman": "0.1.0"},
            data_fingerprint="7958721748340839665",
            config_digest="c" * 64,
        ),
        speed=SpeedFacts("ctranslate2", 120.5, 1500.0, 8.3, 15.2, 400 << 20),
        flags={"repeats": 2, "empty": 0},
        scores=scores(number),
    )


def scores(number: int) -> tuple[Measured, ...]:
    """Scores of which each system has more than the one before; the first is the baseline."""
    versus = None if number == 0 else Versus(1.1 * number, 0.2 / number**2, "paired bootstrap")
    worse = None if number == 0 else Versus(-0.9 * number, 0.0004, "paired bootstrap")
    return (
        Measured("bleu", Estimate(37.0 + 1.1 * number, 1.3), "nrefs:1|case:mixed|tok:13a", versus),
        Measured("ter", Estimate(48.0 - 0.9 * number, 1.5), "nrefs:1|case:lc", worse),
    )


def system(name: str, number: int, *, members: int = 1, points: int = 40, value: str = "0.3") -> ComparedSystem:
    """A system of so many seeds."""
    names = [name] if members == 1 else [f"{name} {each + 1}" for each in range(members)]
    lengths = tuple(
        LengthPoint(low, low + 9 if low < 30 else None, 100, {"bleu": Estimate(40 - low / 5 + number, 2.0 + low / 10)})
        for low in LOWS
    )
    runs = tuple(member(each, number + place, points=points, value=value) for place, each in enumerate(names))
    return ComparedSystem(name, runs, scores(number), lengths)


def comparison(*names: str, members: int = 1, points: int = 40, sentences: int = 4, text: str = "") -> Comparison:
    """Systems of these names; `text` stands in every place where a stranger's might."""
    systems = tuple(
        system(name, number, members=members, points=points, value=text or f"0.{number + 1}")
        for number, name in enumerate(names)
    )
    samples = [(text, text, f"{text}!") for _ in range(sentences)] if text else [TEXTS[n % 4] for n in range(sentences)]
    return Comparison(
        systems,
        names[0],
        TextFacts(text or "flickr 2016", 1000, "a" * 64, "b" * 64, {"beam": 5}),
        {"dragoman": "0.1.0", "sacrebleu": "2.6.0"},
        text or "Some processor, 2 cores",
        f"dragoman compare {text or ' '.join(names)}",
        tuple(
            DifferingSentence(
                number + 1,
                source,
                reference,
                tuple(
                    Translated(name, reference if place else other, 20.0 * place) for place, name in enumerate(names)
                ),
            )
            for number, (source, reference, other) in enumerate(samples)
        ),
        "chrf++",
        tuple(aligned(number, names, *sample) for number, sample in enumerate(samples[:2])),
        (text,) if text else (),
    )


def aligned(number: int, names: tuple[str, ...], source: str, reference: str, other: str) -> AlignedSentence:
    """Maps, and in place of the last a note."""
    words, target = tuple(source.split() or [source]), tuple(other.split() or [other])
    weights = np.eye(len(target), len(words)) * 0.8 + 0.05
    maps = [AlignedMap(name, other, words, target, weights) for name in names[:-1]]
    return AlignedSentence(number + 1, source, reference, (*maps, AlignedMap(names[-1], other, note="no attention")))
