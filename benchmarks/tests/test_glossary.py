"""The benchmark of glossaries, in small: models that were never trained write every term too."""

import random
from pathlib import Path

import pytest

from benchmarks.glossary import cases, holds, measure
from dragoman.engines.torch_engine import TorchEngine
from testkit.random_bundle import random_bundle

SOURCE = ["river", "house", "garden", "window", "bicycle", "mountain", "teacher", "street", "water", "bread"]
TARGET = ["Fluss", "Haus", "Garten", "Fenster", "Fahrrad", "Berg", "Lehrerin", "Straße", "Wasser", "Brot"]


def pairs(seed: int, count: int) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        places = draw.sample(range(len(SOURCE)), draw.randint(1, 5))
        found.append((" ".join(SOURCE[place] for place in places), " ".join(TARGET[place] for place in places)))
    return found


def test_cases_are_pairs_that_belong_together():
    found = cases(pairs(1, 400), pairs(2, 60), 40)
    assert len(found) == 40
    right = dict(zip(SOURCE, TARGET, strict=True))
    for case in found:
        assert case.terms
        assert all(right[source] == target for source, target in case.terms.items())
        assert case.dictionary == case.terms  # here a word has one translation
        assert all(source in case.source and target in case.reference for source, target in case.terms.items())


@pytest.mark.parametrize("preset", ["bahdanau2015-desk", "vaswani2017-desk"])
def test_every_required_term_appears(preset: str, tmp_path: Path):
    bundle = random_bundle(tmp_path / "bundle", preset)
    figures = measure(TorchEngine.open(bundle), bundle.tokenizers(), cases(pairs(1, 400), pairs(2, 60), 8))
    assert figures["plain"]["complete"] < 0.5
    for way in ("reference terms", "dictionary terms", "words kept"):
        assert figures[way]["lacking"] == []
        assert figures[way]["complete"] == 1


def test_a_term_is_a_whole_word():
    assert holds("Ein Haus.", "Haus")
    assert not holds("Eine Haustür", "Haus")
    assert not holds("Ein Hochhaus, haus", "Haus")
