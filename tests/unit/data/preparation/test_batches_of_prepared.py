"""Batches of prepared data for a configuration."""

from collections import Counter
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import Config, parse_config
from dragoman.data.batch import Batch
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.errors import ConfigError, DataError
from tests.unit.data.preparation.corpus import GERMAN, config, pairs, write_pairs


@pytest.fixture
def settings(tmp_path: Path) -> Config:
    rows = pairs(500)
    corpora: list[dict[str, Any]] = [
        {"files": write_pairs(tmp_path, "a", rows[:400])},
        {"files": write_pairs(tmp_path, "b", rows[400:]), "weight": 3.0},
    ]
    made = config(corpora)
    return made.model_copy(update={"training": made.training.model_copy(update={"batch_tokens": 300})})


@pytest.fixture
def prepared(settings: Config, tmp_path: Path) -> PreparedData:
    return prepare_corpora(settings, tmp_path)


def texts(prepared: PreparedData, batch: Batch) -> list[tuple[str, str]]:
    tokenizers = prepared.tokenizers()
    source = [tokenizers["source"].decode(ids.tolist()) for ids in batch.source]
    target = [tokenizers["target"].decode(ids.tolist()) for ids in batch.labels]
    return list(zip(source, target, strict=True))


def test_an_epoch_holds_the_corpora_by_their_weights(prepared: PreparedData, settings: Config):
    first, second = prepared.plan(settings).corpora
    with BatchLoader.from_prepared(prepared, settings) as loader:
        seen: Counter[tuple[str, str]] = Counter()
        for batch in loader:
            seen.update(texts(prepared, batch))
            assert max(batch.source.numel(), batch.labels.numel()) <= 300
            if loader.position.epoch:
                break
    assert set(seen) <= set(pairs(500))
    assert seen.total() == first.rows + second.rows
    drawn = sum(count for pair, count in seen.items() if pair in set(pairs(500)[400:]))
    assert drawn == pytest.approx(seen.total() * 3 * second.rows / (first.rows + 3 * second.rows), abs=1)


def test_it_goes_on_where_it_stopped(prepared: PreparedData, settings: Config):
    with BatchLoader.from_prepared(prepared, settings) as loader:
        expected = [texts(prepared, batch) for batch in islice(loader, 30)]
    with BatchLoader.from_prepared(prepared, settings) as loader:
        for _ in islice(loader, 13):
            pass
        state = loader.state()
    with BatchLoader.from_prepared(prepared, settings) as again:
        again.resume(state)
        assert [texts(prepared, batch) for batch in islice(again, 17)] == expected[13:]


def test_subwords_are_drawn_anew_and_say_the_same(prepared: PreparedData, settings: Config, tmp_path: Path):
    sampled = parse_config(settings.model_dump(), ["data.sampling.subword_temperature=2.0"])
    with (
        BatchLoader.from_prepared(prepared, settings) as best,
        BatchLoader.from_prepared(prepared, sampled) as drawn,
        BatchLoader.from_prepared(prepared, sampled) as again,
    ):
        rows = list(zip(islice(best, 10), islice(drawn, 10), islice(again, 10), strict=True))
    assert [texts(prepared, plain) for plain, _, _ in rows] == [texts(prepared, other) for _, other, _ in rows]
    assert any(plain.source.tolist() != other.source.tolist() for plain, other, _ in rows)
    assert all(other.source.tolist() == third.source.tolist() for _, other, third in rows)


def test_words_cannot_be_drawn_anew(tmp_path: Path):
    made = config([{"files": write_pairs(tmp_path, "a", pairs(200))}], {"kind": "word"})
    prepared = prepare_corpora(made, tmp_path)
    with pytest.raises(ConfigError, match="subword_temperature must be 0"):
        BatchLoader.from_prepared(prepared, parse_config(made.model_dump(), ["data.sampling.subword_temperature=2.0"]))


def test_the_validation_set_has_a_plan_too(prepared: PreparedData, settings: Config):
    plan = prepared.plan(settings, "validation")
    assert plan.pairs == 20


CHANGES = (
    "data.augment={{upper=0.1, title=0.05, lower=0.1, typos=0.1, punctuation=0.05, joined={joined}, words=0.05, "
    "tags=0.05, terms=0.05, copies=0.02}}"
)


@pytest.fixture
def changing(settings: Config) -> Config:
    return parse_config(settings.model_dump(exclude_none=True), [CHANGES.format(joined=0.2)])


@pytest.fixture
def changed_data(changing: Config, tmp_path: Path) -> PreparedData:
    return prepare_corpora(changing, tmp_path)


def test_changed_pairs_are_other_ones_in_each_epoch_and_fit_the_batches(changed_data: PreparedData, changing: Config):
    with BatchLoader.from_prepared(changed_data, changing) as loader:
        batches = list(takewhile(lambda _: loader.position.epoch < 2, loader))
    assert all(max(batch.source.numel(), batch.labels.numel()) <= 300 for batch in batches)
    plain = dict(pairs(500))
    drawn = [pair for batch in batches for pair in texts(changed_data, batch)]
    changed = [pair for pair in drawn if plain.get(pair[0]) != pair[1]]
    assert 0.3 * len(drawn) < len(changed) < 0.85 * len(drawn)
    halves = set(changed[: len(changed) // 2]), set(changed[len(changed) // 2 :])
    assert len(halves[0] & halves[1]) < len(halves[1]) / 2
    longest = max(len(source.split()) for source in plain)
    assert any(len(source.split()) > longest for source, _ in changed), "joined"
    assert any(source == target for source, target in changed), "copied"
    assert {GERMAN[source] for source, target in changed if GERMAN.get(source) == target}, "words"
    assert any("<b>" in source and "<b>" in target for source, target in changed), "tags"
    assert any("⦅" in source and "⦅" not in target for source, target in changed), "terms"


def test_changed_pairs_depend_on_neither_workers_nor_an_interruption(changed_data: PreparedData, changing: Config):
    with BatchLoader.from_prepared(changed_data, changing) as loader:
        expected = [texts(changed_data, batch) for batch in islice(loader, 24)]
    with BatchLoader.from_prepared(changed_data, changing, rank=1, world=2, workers=1) as second:
        assert [texts(changed_data, batch) for batch in islice(second, 6)] == expected[1:12:2]
    with BatchLoader.from_prepared(changed_data, changing) as loader:
        for _ in islice(loader, 11):
            pass
        state = loader.state()
    with BatchLoader.from_prepared(changed_data, changing) as again:
        again.resume(state)
        assert [texts(changed_data, batch) for batch in islice(again, 13)] == expected[11:]
    other = parse_config(changing.model_dump(exclude_none=True), [CHANGES.format(joined=0.1)])
    with BatchLoader.from_prepared(changed_data, other) as loader, pytest.raises(DataError, match="plan"):
        loader.resume(state)


def test_what_planning_kept_is_what_drawing_makes(changed_data: PreparedData, changing: Config):
    plan = changed_data.plan(changing)
    assert plan.augmentation is not None
    slots = np.arange(plan.pairs)
    rows = plan.rows(1, slots)
    plan.lengths(1, slots, rows)
    assert vars(plan.augmentation)["_planned"], "training would change each pair twice"
    pairs = plan.augmentation.gather(rows)
    kept = plan.augmentation.draw(pairs, 1, slots, rows)
    assert not vars(plan.augmentation)["_planned"], "memory"
    again = plan.augmentation.draw(pairs, 1, slots, rows)
    for one, other in ((kept.source, again.source), (kept.target, again.target)):
        assert one.ids.tolist() == other.ids.tolist()
        assert one.lengths.tolist() == other.lengths.tolist()


def test_links_are_learned_before_workers_start(changed_data: PreparedData, changing: Config):
    assert vars(changed_data.plan(changing).augmentation)["_links"], "each worker would take seconds for them"


def test_tokenizers_have_words_in_capitals_and_marks_of_hints(changing: Config, settings: Config, tmp_path: Path):
    size = ["tokenizer.size=1000"]
    plain, cased = (
        prepare_corpora(parse_config(each.model_dump(exclude_none=True), [*size, f"data.folder={name}"]), tmp_path)
        for name, each in (("plain", settings), ("cased", changing))
    )
    capitals = [source.upper() for source, _ in pairs(100)]
    tokenizers = [each.tokenizers()["source"] for each in (plain, cased)]
    needed = [sum(len(each.encode(text)) for text in capitals) for each in tokenizers]
    assert needed[1] < 0.7 * needed[0]
    assert tokenizers[1].tokens("boat ⦅ Boot ⦆") == ["▁boat", "▁", "⦅", "▁Boot", "▁", "⦆"]
    with pytest.raises(DataError, match=r"other settings than .*: data\.augment"):
        plain.plan(parse_config(changing.model_dump(exclude_none=True), size))
