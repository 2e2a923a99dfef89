"""Links of the training pairs: found once, in the order of the pairs, for trainings that use them."""

import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.api.training.preparation import prepare_corpora
from dragoman.config import Config
from dragoman.config.schema import TransformerConfig
from dragoman.config.training import GuidedAlignmentConfig
from dragoman.data.loader import BatchLoader
from dragoman.data.preparation import link_stage
from dragoman.data.preparation.link_stage import StatisticalAligner
from dragoman.data.preparation.prepared_data import PreparedData
from dragoman.data.token_pairs import Pairs, Sentences
from dragoman.errors import DataError
from tests.unit.data.preparation.corpus import GERMAN, config, pairs, write_pairs


@pytest.fixture
def plain(tmp_path: Path) -> Config:
    return config([{"files": write_pairs(tmp_path, "a", pairs(300))}], {"kind": "word"})


def guided(plain: Config) -> Config:
    training = plain.training.model_copy(update={"guided_alignment": GuidedAlignmentConfig()})
    assert isinstance(plain.model, TransformerConfig)
    model = plain.model.model_copy(update={"alignment_map": "guided"})
    return plain.model_validate(plain.model_copy(update={"training": training, "model": model}).model_dump())


def test_words_are_linked_to_their_translations(plain: Config, tmp_path: Path):
    settings = guided(plain)
    prepared = prepare_corpora(settings, tmp_path)
    prepared.verify()
    rows = np.arange(prepared.manifest["splits"]["train"]["rows"])
    tokenizers = prepared.tokenizers()
    links = prepared.links(settings).gather(rows)
    found = prepared.shards().gather(rows)
    sides = (found.source, found.target, links.source, links.target)
    right = total = 0
    for source, target, one, other in zip(*(side.split() for side in sides), strict=True):
        for first, second in zip(one.tolist(), other.tolist(), strict=True):
            word = tokenizers["source"].id_to_token(int(source[first]))
            translation = tokenizers["target"].id_to_token(int(target[second]))
            total += 1
            right += word == translation == "." or any(
                word.strip("▁") in phrase.split() and translation.strip("▁") in other_phrase.split()
                for phrase, other_phrase in GERMAN.items()
            )
    assert total > 5 * len(rows)
    assert right / total > 0.95


def test_they_are_found_once_and_only_if_they_are_used(plain: Config, tmp_path: Path):
    first = prepare_corpora(plain, tmp_path)
    before = first.plan(plain).fingerprint
    with pytest.raises(DataError, match=r"has no word links.*run dragoman prepare"):
        BatchLoader.from_prepared(first, guided(plain))
    second = prepare_corpora(guided(plain), tmp_path)
    (entry,) = second.manifest["links"]
    written = (second.folder / entry["path"]).stat().st_mtime_ns
    third = prepare_corpora(guided(plain), tmp_path)
    assert (third.folder / entry["path"]).stat().st_mtime_ns == written
    assert third.plan(plain).fingerprint == before != third.plan(guided(plain)).fingerprint
    with BatchLoader.from_prepared(third, guided(plain)) as loader:
        batch = next(loader)
    assert batch.links is not None
    assert len(batch.links) > len(batch.rows)
    with BatchLoader.from_prepared(third, plain) as loader:
        assert next(loader).links is None
    prepare_corpora(plain, tmp_path)
    assert not (third.folder / entry["path"]).exists()


def test_a_changed_file_is_noticed(plain: Config, tmp_path: Path):
    prepared = prepare_corpora(guided(plain), tmp_path)
    (entry,) = prepared.manifest["links"]
    (prepared.folder / entry["path"]).unlink()
    with pytest.raises(DataError, match="run dragoman prepare again"):
        PreparedData.open(prepared.folder)


def test_a_resumed_loader_has_the_same_links(plain: Config, tmp_path: Path):
    settings = guided(plain)
    settings = settings.model_copy(update={"training": settings.training.model_copy(update={"batch_tokens": 400})})
    prepared = prepare_corpora(settings, tmp_path)
    with BatchLoader.from_prepared(prepared, settings) as loader:
        expected = [batch.links for batch in islice(loader, 12)]
    with BatchLoader.from_prepared(prepared, settings) as loader:
        for _ in range(5):
            next(loader)
        state = loader.state()
    with BatchLoader.from_prepared(prepared, settings) as loader:
        loader.resume(state)
        for links, batch in zip(expected[5:], loader, strict=False):
            assert links is not None
            assert batch.links is not None
            assert torch.equal(links, batch.links)


def test_an_aligner_stores_few_bytes_per_pair_of_positions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(link_stage, "_CELLS", 1 << 13)
    monkeypatch.setattr(link_stage, "_ROUNDS", 1)
    ids = np.random.default_rng(1).integers(4, 40, 400 * 50)
    side = Sentences(ids, np.full(400, 50))
    tracemalloc.start()
    StatisticalAligner(Pairs(side, side), (40, 40))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 400 * 50 * 50


def test_an_aligner_learns_from_fewer_long_pairs(plain: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    learned: list[int] = []

    class Recorded(StatisticalAligner):
        def __init__(self, pairs: Pairs, *args: object, **options: object) -> None:
            learned.append(len(pairs))
            assert (pairs.source.lengths * pairs.target.lengths).sum() <= 1.5 * link_stage._MOST_CELLS
            super().__init__(pairs, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(link_stage, "StatisticalAligner", Recorded)
    monkeypatch.setattr(link_stage, "_MOST_CELLS", 2000)
    prepared = prepare_corpora(guided(plain), tmp_path)
    (number,) = learned
    assert 10 < number < prepared.manifest["splits"]["train"]["rows"]
    assert len(prepared.links(guided(plain))) == prepared.manifest["splits"]["train"]["rows"]
