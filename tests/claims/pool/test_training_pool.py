"""The pool: models are trained once, by processes of their own, and leave a record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from claims.ledger.claim import GoldFiles
from claims.ledger.record import MAIN_SEARCH, ModelRecord, RecordStore
from claims.measurement.measure_model import read_lines
from claims.pool.pool_corpus import joined_lines, open_corpus_files, separated_words
from claims.pool.pool_model import PoolModel, pool_models
from claims.pool.training_pool import TrainingPool
from claims.pool.training_worker import prepared_name
from dragoman.config import parse_config
from dragoman.errors import DataError
from dragoman.evaluation.word_alignment import GoldLinks
from tests.claims.toy_ledger import write_toy_ledger


def test_a_changed_corpus_file_is_rejected(tmp_path: Path):
    ledger, data = write_toy_ledger(tmp_path)
    with (data / "train.en").open("a", encoding="utf-8") as file:
        file.write("one more\n")
    with pytest.raises(DataError, match="must have the SHA-256"):
        open_corpus_files(ledger.corpora["multi30k-en-de"], data, tmp_path / "work")


def test_lines_are_joined_in_rotation():
    assert joined_lines(list("abcdef"), [1, 2], [5, 4, 3, 2, 1, 0]) == ["f", "e d", "c", "b a"]


def test_text_is_written_like_hand_aligned_sentences():
    assert separated_words("Das ist der EU-Rat’s Plan, oder?") == "das ist der eu-rat ' s plan , oder ?"


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_corpus_with_hand_aligned_sentences_has_their_links_and_short_training_pairs(
    tmp_path: Path, is_swapped: bool
):
    ledger, data = write_toy_ledger(tmp_path)
    for name, text in {"gold.en": "The dog\n", "gold.de": "der große Hund\n"}.items():
        (data / name).write_text(text, encoding="utf-8")
    (data / "gold.links").write_text("1-1 3p2\n" if is_swapped else "1-1 2p3\n", encoding="utf-8")
    gold = GoldFiles(source="gold.en", target="gold.de", links="gold.links", is_swapped=is_swapped, max_words=5)
    corpus = ledger.corpora["multi30k-en-de"].model_copy(update={"gold": gold})
    found = open_corpus_files(corpus, data, tmp_path / "work")
    assert found.gold is not None
    assert found.gold.sources == ["the dog"]
    assert found.gold.links == [GoldLinks(frozenset({(0, 0)}), frozenset({(1, 2)}))]
    lines = [read_lines(path) for path in found.files["train"]]
    assert 0 < len(lines[0]) == len(lines[1]) < 200
    assert max(len(line.split()) for line in lines[0]) == 5


def test_a_stop_file_ends_the_queue_before_anything_is_trained(tmp_path: Path):
    ledger, data = write_toy_ledger(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "pool.stop").touch()
    pool = TrainingPool(ledger, data, tmp_path / "work", RecordStore(tmp_path / "claims" / "records"))
    assert not pool.train(pool_models(ledger, ledger.claims))


def test_models_share_prepared_data_only_with_the_same_tokenizer(tmp_path: Path):
    ledger, _ = write_toy_ledger(tmp_path)
    wide, narrow = (run for run in pool_models(ledger, ledger.claims) if isinstance(run, PoolModel))
    assert prepared_name(wide) == prepared_name(narrow)
    config = parse_config(narrow.config.model_dump(exclude_none=True), ["tokenizer.normal_form=nfkc"])
    assert prepared_name(replace(narrow, config=config)) != prepared_name(wide)


def without_times(record: ModelRecord) -> dict[str, object]:
    """Everything that must be equal when a model is trained again."""
    facts = dict(record.facts)
    facts["training"] = {key: value for key, value in facts["training"].items() if "seconds" not in key}
    facts["searches"] = {name: each["counts"] for name, each in facts["searches"].items()}
    del facts["dates"]
    return facts


@pytest.mark.slow
def test_a_model_is_trained_once_and_again_to_the_same_bits(tmp_path: Path):
    ledger, data = write_toy_ledger(tmp_path)
    model = pool_models(ledger, ledger.claims)[0]
    found: list[ModelRecord] = []
    messages: list[str] = []
    for name in ("first", "second"):
        store = RecordStore(tmp_path / name / "records")
        pool = TrainingPool(ledger, data, tmp_path / name, store, report=messages.append)
        assert pool.train([model])
        assert pool.train([model])
        found.append(store.read(model))
        assert (tmp_path / name / "pool.pids").read_text() == ""
    assert [message.split()[0] for message in messages] == ["started", "finished"] * 2
    assert without_times(found[0]) == without_times(found[1])
    facts = found[0].facts
    assert set(facts["searches"]) == {MAIN_SEARCH, "keep-1"}
    nats, tokens = facts["test"]["losses"]
    assert len(nats) == len(tokens) == len(facts["test"]["source_words"])
    assert 0.5 < sum(nats) / sum(tokens) < 5  # after 12 updates near log 40, the size of the vocabulary
    assert facts["training"]["updates"] == 12
    assert facts["training"]["cpu_seconds"] > 0
    assert [update for update, _ in facts["training"]["curves"]["validation"]] == [6, 12]
    assert len(facts["attention"]["trained"]["heads"][0]) == 2
    assert found[0].bleu_counts().shape == (8, 10)
