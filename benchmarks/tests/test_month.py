"""A small month: exact matches, similar units and a night each save effort; a finished night is not repeated."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks.month import Month, in_order, measure, model_after, ratio, replay, replay_nights, typed
from dragoman.api.adaptation import AdaptationFolder
from dragoman.api.training.checked_training import check_training
from dragoman.api.training.training_run import train_model
from dragoman.config import load_config
from testkit.training_faults.project import make_project

WORDS = {"ba": "ka", "ce": "lo", "di": "mi", "fo": "nu", "gu": "pa", "ha": "re", "ji": "su", "ke": "ta", "lu": "vi"}
SIZES = ("model.embedding=32", "model.encoder.hidden=32", "model.decoder.hidden=32")
SHORT = ("training.learning_rate=0.01", "training.max_updates=150")
NIGHT = ("training.learning_rate=0.01", "training.max_updates=200", "training.validate_every=100")


def sentences(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of the invented language with their translations; a fifth differ in one word, a tenth are repeated."""
    generator, sources = random.Random(seed), list[list[str]]()
    while len(sources) < count:
        kind = generator.random() if sources else 1.0
        words = (
            list(generator.choice(sources)) if kind < 0.3 else generator.choices([*WORDS], k=generator.randint(4, 8))
        )
        if kind < 0.2:
            words[generator.randrange(len(words))] = generator.choice([*WORDS])
        sources.append(words)
    return [(" ".join(words), " ".join(WORDS[each] for each in reversed(words))) for words in sources]


@pytest.fixture
def month(tmp_path: Path) -> Month:
    project = make_project(tmp_path)
    trained = train_model(check_training(load_config(project.config, [*SIZES, *SHORT]), tmp_path, tmp_path / "run"))
    assert trained.bundle is not None
    for side, name in enumerate(("general.en", "general.de")):
        lines = [pair[side] for pair in sentences(300, 1)]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    general = str(tmp_path / "general.en"), str(tmp_path / "general.de")
    return Month(trained.bundle.folder, ("en", "de"), general, batch=100, nights=(4,), settings=NIGHT)


@pytest.mark.slow
def test_each_part_saves_effort(month: Month, tmp_path: Path) -> None:
    folder, pairs = tmp_path / "order", sentences(600, 2)
    folder.mkdir()
    (folder / "memories.json").write_text(json.dumps(replay(month, pairs, folder)), encoding="utf-8")
    segments = replay_nights(month, pairs, folder)
    counts = measure(segments)
    edits = {way: each[400:, 0].sum() for way, each in counts.items()}
    assert edits["model"] > edits["exact"] > edits["fuzzy"] > edits["nights"], edits
    adaptations = AdaptationFolder(folder / "adapted")
    assert [each.is_used for each in adaptations.records] == [True]
    assert model_after(adaptations, 0) == month.base
    assert ratio(counts["nights"][400:], counts["model"][400:], 0)["high"] < 0.6
    assert replay_nights(month, pairs, folder) == segments
    assert len(AdaptationFolder(folder / "adapted").records) == 1, "a night was repeated"


def test_characters_typed_and_ratios() -> None:
    assert typed("A casa azul", "A casa verde") == typed("A casa", "A casa") + 5
    assert typed("abc", "b") == 0, "deleting is not typing"
    ours, theirs = np.full((50, 4), 1), np.full((50, 4), 2)
    assert ratio(ours, theirs, 0) == {"ratio": 0.5, "low": 0.5, "high": 0.5}


def test_orders_have_the_same_texts_in_blocks() -> None:
    pairs = [(str(number), "") for number in range(100)]
    assert in_order(pairs, 0) == pairs
    shuffled = in_order(pairs, 1)
    assert sorted(shuffled) == sorted(pairs) != shuffled
    assert shuffled != in_order(pairs, 2)
